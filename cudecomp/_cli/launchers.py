# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What launchers of MPI jobs tell their processes through the environment, before MPI is started."""

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Launcher:
    """What the variables of a launcher say of a process; None for what they do not say."""

    name: str
    size: int | None
    rank: int | None
    variable: str


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
