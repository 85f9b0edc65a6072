# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What a rank knows of itself and of its machine, as far as an installation can fail over it."""

import os
import platform
import re
import resource
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cudecomp import _info
from cudecomp._cli import gpus, info
from cudecomp._cli.launchers import Launcher, launcher_of
from cudecomp._version import __version__
from cudecomp_bindings._internal import cudecomp as loader

if TYPE_CHECKING:
    from mpi4py import MPI

#: MPI libraries by their file names: Open MPI, MPICH and what derives from it; also with a hash, as in some wheels.
MPI_LIBRARY = re.compile(r"lib(mpi|mpich|mpi_abi|mpi_(cray|gnu|intel|nvidia|amd)[_\d]*)(-[0-9a-f]+)?\.so[.\d]*$")


@dataclass(frozen=True)
class Facts:
    """One rank. Everything has a value that is beyond suspicion, so that a test can name what it is about.

    Attributes:
        rank: Rank in all ranks of the job.
        size: Number of ranks, as MPI tells.
        host: Name of the node.
        machine: Something that ranks of one running system have in common, also in different containers.
        pid_namespace: Which processes the rank can see; containers differ.
        user: Number of the user.
        cpus: Processors that the rank may run on.
        all_cpus: How many the machine has.
        cpu_limit: Processors' worth of time that a container grants, None for no limit.
        launcher: What the launcher has told the process.
        slurm_tasks: Ranks of the Slurm job, whether or not Slurm has started this process.
        version: Version of this package.
        python: Version of Python.
        mpi: Vendor and version of the MPI library that mpi4py runs with, None if there is none.
        mpi_error: Why there is none.
        mpi_libraries: Files of MPI libraries mapped into the process.
        engine_mpi: What the built-in engine was built with, None if there is no engine.
        library: Which library is loaded, ``"builtin"`` or ``"nvidia"``, None if none could be.
        library_path: Its file.
        library_error: Why none could be.
        nvidia_library: NVIDIA's library, if one is found where it is looked for.
        driver: Whether there is a CUDA driver.
        gpus: How many GPUs the machine has.
        cupy: Version of CuPy, None if it is not installed.
        environment: The ``CUDECOMP_...`` variables.
        shm: Bytes of /dev/shm, None if there is none.
        memlock: Bytes that the rank may lock in memory, None for no limit.
        infiniband: Whether the machine has an InfiniBand adapter.
        neighbours: Ranks that this one reaches through shared memory, None as long as nobody knows.
    """

    rank: int = 0
    size: int = 1
    host: str = "node"
    machine: str = "machine"
    pid_namespace: str = "pid:[1]"
    user: int = 1000
    cpus: tuple[int, ...] = tuple(range(64))
    all_cpus: int = 64
    cpu_limit: float | None = None
    launcher: Launcher | None = None
    slurm_tasks: int | None = None
    version: str = __version__
    python: str = platform.python_version()
    mpi: str | None = "Open MPI 5.0.11"
    mpi_error: str | None = None
    mpi_libraries: tuple[str, ...] = ("/usr/lib/libmpi.so.40",)
    engine_mpi: str | None = "Open MPI 5.0.11"
    library: str | None = "builtin"
    library_path: str = "/usr/lib/libcudecomp_builtin.so"
    library_error: str | None = None
    nvidia_library: str | None = None
    driver: bool = False
    gpus: int = 0
    cupy: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    shm: int | None = 2**34
    memlock: int | None = None
    infiniband: bool = False
    neighbours: int | None = None


def gather(comm: "MPI.Intracomm | None") -> Facts:
    """The facts of this rank; opens the library. Without a communicator, those of a process that has no MPI."""
    found = _info.collect()
    mpi, library = found["mpi"], found["library"]
    built = info.built_with()
    return Facts(
        rank=comm.rank if comm else 0,
        size=comm.size if comm else 1,
        host=platform.node(),
        machine=_read("/proc/sys/kernel/random/boot_id") or platform.node(),
        pid_namespace=_link("/proc/self/ns/pid"),
        user=os.getuid(),
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        all_cpus=os.cpu_count() or 1,
        cpu_limit=cpu_limit(_read("/sys/fs/cgroup/cpu.max")),
        launcher=launcher_of(os.environ),
        slurm_tasks=_slurm_tasks(os.environ),
        mpi=None if mpi["error"] else f"{mpi['vendor']} {mpi['version']}",
        mpi_error=mpi["error"],
        mpi_libraries=mapped_mpi_libraries(_read("/proc/self/maps")),
        engine_mpi=built["mpi"] if built else None,
        library=library["kind"] if library else None,
        library_path=library["path"] if library else "",
        library_error=found["error"],
        nvidia_library=_nvidia_library(),
        driver=info.has_driver(),
        gpus=len(gpus.find().devices),
        cupy=info.installed(info.OPTIONAL["CuPy"]),
        environment=found["environment"],
        shm=_file_system_size("/dev/shm"),
        memlock=_memlock(),
        infiniband=any(Path("/sys/class/infiniband").glob("*")),
    )


def reached_through_memory(description: str) -> int | None:
    """How many ranks share memory with this one, from what `GridDesc.describe` says of a grid that is one row.

    None for a library that does not tell.
    """
    ways = re.search(r"^transposes Y-Z, peers: (.*)$", description, re.MULTILINE)
    if ways is None or loader.load_library().kind != "builtin":
        return None
    near = re.search(r"(\d+) through memory of this node", ways[1])
    return int(near[1]) if near else 0


def mapped_mpi_libraries(maps: str) -> tuple[str, ...]:
    """The files of MPI libraries in the text of /proc/self/maps."""
    paths = {line.split(None, 5)[-1].strip() for line in maps.splitlines() if "/" in line}
    return tuple(sorted(path for path in paths if MPI_LIBRARY.search(Path(path).name)))


def cpu_limit(text: str) -> float | None:
    """Processors' worth of time in the text of a cgroup's cpu.max; None for no limit."""
    quota, _, period = text.partition(" ")
    return int(quota) / int(period) if quota.isdecimal() and period.strip().isdecimal() else None


def _slurm_tasks(environment: Mapping[str, str]) -> int | None:
    value = environment.get("SLURM_NTASKS", "")
    return int(value) if value.isdecimal() else None


def _nvidia_library() -> str | None:
    if home := os.environ.get("CUDECOMP_HOME", "").strip():
        for folder in ("lib", "lib64"):
            path = Path(home, folder, "libcudecomp.so")
            if path.exists():
                return str(path)
    return info.on_loader_path()


def _file_system_size(path: str) -> int | None:
    try:
        size = os.statvfs(path)
    except OSError:
        return None
    return size.f_blocks * size.f_frsize


def _memlock() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if limit == resource.RLIM_INFINITY else limit


def _read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - not a path: "pid:[4026531836]"
    except OSError:
        return ""
