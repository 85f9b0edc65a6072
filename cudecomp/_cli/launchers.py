# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What launchers of MPI jobs tell their processes through the environment, before MPI is started."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Launcher:
    """What the variables of a launcher say of a process; None for what they do not say."""

    name: str
    size: int | None
    rank: int | None
    variable: str

    def is_foreign_to(self, vendor: str) -> bool:
        """Whether it usually cannot start ranks of this vendor's MPI, by the name that mpi4py gives it."""
        if self.variable.startswith("OMPI_"):
            return vendor != "Open MPI"
        return self.variable.startswith("PMI_") and vendor == "Open MPI"


# Launchers, the variable with the number of ranks, and the one with the rank. Those that start others come later: below
# Open MPI's mpirun in a Slurm job, Slurm's variables describe the daemons.
_LAUNCHERS = (
    ("Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("MPICH's mpiexec or another PMI launcher", "PMI_SIZE", "PMI_RANK"),
    ("MVAPICH's mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("Slurm's srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ("a PMIx launcher", None, "PMIX_RANK"),
)


def launcher_of(environment: Mapping[str, str]) -> Launcher | None:
    """The launcher that has started a process with these environment variables; None where nothing tells of one."""
    for name, size_variable, rank_variable in _LAUNCHERS:
        size = _number(environment, size_variable) if size_variable else None
        rank = _number(environment, rank_variable)
        if size is not None or (size_variable is None and rank is not None):
            return Launcher(name, size, rank, size_variable or rank_variable)
    return None


def _number(environment: Mapping[str, str], variable: str) -> int | None:
    value = environment.get(variable, "")
    return int(value) if value.isdecimal() else None


def is_first_process() -> bool:
    """Whether the launcher, if there is one, takes this process for its first; needs no MPI."""
    launcher = launcher_of(os.environ)
    return launcher is None or launcher.rank in (None, 0)


def speaks(rank: int, size: int) -> bool:
    """Whether this rank prints: the first, and of processes that do not know of each other the launcher's first."""
    return rank == 0 and (size > 1 or is_first_process())


def is_shown(descriptor: int) -> bool:
    """Whether what this process writes to a file descriptor appears on someone's terminal.

    Launchers pass on what ranks write: Open MPI gives them a terminal of their own even where mpirun itself writes to a
    file, others give them pipes. What counts is where the launcher writes, the first process above this one that writes
    to another place.
    """
    if launcher_of(os.environ) is None:
        return os.isatty(descriptor)
    try:
        own, process = _place_of("self", descriptor), os.getppid()
        while process > 1 and (place := _place_of(str(process), descriptor)) == own:
            process = _parent_of(process)
        return process > 1 and place.startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return False


def _place_of(process: str, descriptor: int) -> str:
    return os.readlink(f"/proc/{process}/fd/{descriptor}")  # noqa: PTH115 - may be no path: "pipe:[1234]"


def _parent_of(process: int) -> int:
    # The name of the program, in parentheses, may hold anything.
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
