# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How commands end: exit codes, what is told and by whom, and ranks that fail alone."""

import os
import subprocess
import sys
import time

import pytest
from mpi4py import MPI

import cudecomp
from cudecomp._cli import launch, launchers
from cudecomp._cli.extras import require
from cudecomp._cli.launch import CommandError, Watchdog, run_alone, run_on_all_ranks, settle


class Aborted(BaseException):
    """What the fake communicator does in place of ending the job."""


class FakeComm:
    """Rank 1 of 3; the other ranks never come, or come with what they have met."""

    rank, size = 1, 3

    def __init__(self, others=None, rank=1):
        self.others, self.aborted, self.rank = others, None, rank

    def Ibarrier(self):  # noqa: N802
        return self

    def Test(self):  # noqa: N802
        return self.others is not None

    def Abort(self, code):  # noqa: N802
        self.aborted = code
        raise Aborted

    def allgather(self, mine):
        return [mine if rank == self.rank else other for rank, other in enumerate(self.others)]


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch):
    monkeypatch.setattr(launchers, "launcher_of", lambda environment: None)


def test_a_rank_that_fails_alone_ends_all(monkeypatch, capsys):
    monkeypatch.setattr(launch, "GRACE", 0.05)
    comm = FakeComm()
    with pytest.raises(Aborted):
        settle(comm, 2, "error: no")
    assert comm.aborted == 2
    assert capsys.readouterr().err == "cudecomp: rank 1: error: no\ncudecomp: rank 1 ends all ranks\n"


@pytest.mark.parametrize(
    ("outcomes", "code", "told"),
    [
        ([(0, "")] * 3, 0, ""),
        ([(1, "error: no")] * 3, 1, "cudecomp: error: no\n"),
        ([(0, ""), (2, "error: no"), (1, "")], 2, "cudecomp: rank 1: error: no\n"),
        ([(1, "a"), (1, "b"), (1, "b")], 1, "cudecomp: rank 0: a\ncudecomp: ranks 1-2: b\n"),
    ],
)
def test_errors_are_told_once(outcomes, code, told, capsys):
    assert settle(FakeComm(outcomes, rank=0), *outcomes[0]) == code
    assert capsys.readouterr() == ("", told)
    assert settle(FakeComm(outcomes, rank=1), *outcomes[1]) == code
    assert capsys.readouterr() == ("", "")


FAILURES = [
    (CommandError("no"), 1, "cudecomp: error: no\n"),
    (CommandError("no", launch.USAGE), 2, "cudecomp: error: no\n"),
    (cudecomp.InvalidUsageError("gdims is wrong"), 2, "cudecomp: error: gdims is wrong\n"),
    (cudecomp.NotSupportedError("no NCCL"), 1, "cudecomp: error: no NCCL\n"),
    (OSError(28, "No space left"), 1, "cudecomp: error: [Errno 28] No space left\n"),
]


@pytest.mark.parametrize(("error", "code", "told"), FAILURES)
def test_failures(error, code, told, capsys):
    def fail(*_):
        raise error

    for run in (run_alone, run_on_all_ranks):
        assert run(fail) == code
        assert capsys.readouterr() == ("", told)


def test_unexpected_errors_come_with_a_traceback(capsys):
    def fail(*_):
        raise ZeroDivisionError("a bug")

    for run in (run_alone, run_on_all_ranks):
        assert run(fail) == 1
        text = capsys.readouterr().err
        assert text.startswith("cudecomp: unexpected error, please report it:\nTraceback")
        assert text.endswith("ZeroDivisionError: a bug\n")


def test_a_command_that_works(capsys):
    def work(comm, printer):
        printer.line(f"{comm.size} rank")
        return 0

    assert run_on_all_ranks(work) == 0
    assert capsys.readouterr() == ("1 rank\n", "")


def test_missing_packages_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    with pytest.raises(CommandError, match=r"^tables needs rich, .*; pip install 'cudecomp\[cli\]'$"):
        require("rich", "cli", "tables")


def test_watchdog_ends_all_ranks(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(launch.os, "_exit", ended.append)
    monkeypatch.setattr(launch.time, "sleep", lambda seconds: None)
    comm = FakeComm()
    comm.Abort = ended.append
    watchdog = Watchdog(comm, 0.01)
    watchdog.step("transposes (1 x 2)")
    watchdog._timer.join()
    assert ended == [1, 1]
    told = "not done after 0.01 s; it waits for another rank, or for a message that is lost"
    assert capfd.readouterr().err == f"cudecomp: rank 1, transposes (1 x 2): {told}\n"


def test_a_rank_that_leaves_a_step_alone_ends_all_ranks_soon(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(launch, "GRACE", 0.01)
    monkeypatch.setattr(launch.os, "_exit", ended.append)
    monkeypatch.setattr(launch.time, "sleep", lambda seconds: None)
    comm = FakeComm()
    comm.Abort = ended.append
    watchdog = Watchdog(comm, 100)
    watchdog.step("transposes (1 x 2)")
    watchdog.failed("ValueError: no")
    watchdog._timer.join()
    assert ended == [1, 1]
    assert capfd.readouterr().err == "cudecomp: rank 1, transposes (1 x 2): it has met: ValueError: no\n"


def test_watchdog_leaves_steps_that_end_alone():
    comm = FakeComm()
    watchdog = Watchdog(comm, 0.05)
    watchdog.step("one")
    watchdog.stop()
    time.sleep(0.1)
    assert comm.aborted is None


def test_launchers_of_another_mpi(monkeypatch, capsys):
    launcher = launchers.Launcher("Open MPI's mpirun", 4, 0, "OMPI_COMM_WORLD_SIZE")
    monkeypatch.setattr(launch, "launcher_of", lambda environment: launcher)
    launch.warn_of_launcher("Open MPI")
    assert capsys.readouterr().err == ""
    launch.warn_of_launcher("MPICH")
    assert capsys.readouterr().err == (
        "cudecomp: started by Open MPI's mpirun (OMPI_COMM_WORLD_SIZE is set), but mpi4py uses MPICH; should MPI end "
        "here, or ranks not see each other, use the mpiexec of MPICH\n"
    )
    pmi = launchers.Launcher("MPICH's mpiexec or another PMI launcher", 4, 0, "PMI_SIZE")
    assert pmi.is_foreign_to("Open MPI")
    assert not pmi.is_foreign_to("Intel MPI")
    assert not launchers.Launcher("a PMIx launcher", None, 0, "PMIX_RANK").is_foreign_to("MPICH")


def test_no_mpi_library():
    command = [sys.executable, "-m", "cudecomp", "check"]
    environment = {**os.environ, "MPI4PY_LIBMPI": "/nowhere/libmpi.so.40", "CUDECOMP_LIBRARY": "builtin"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert "error: mpi4py cannot load an MPI library: " in result.stdout
    assert "NOT WELL: " in result.stdout


def test_mpi_is_that_of_the_tests():
    assert launch.start_mpi() == MPI.COMM_WORLD


def test_a_rank_that_is_done_waits_for_the_others(monkeypatch, capsys):
    """However long they take."""
    monkeypatch.setattr(launch, "GRACE", 0.0)
    comm = FakeComm([(0, "")] * 3)
    answers = iter([False] * 5 + [True])
    monkeypatch.setattr(comm, "Test", lambda: next(answers))
    assert settle(comm, 0, "") == 0
    assert comm.aborted is None


@pytest.mark.parametrize("command", [["info"], ["check", "--json"]])
def test_a_pipe_that_nobody_reads(command):
    """As with `| head`, when it has seen enough."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "cudecomp", *command], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == launch.WRONG


def test_no_output_at_all():
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m cudecomp info >&-', sys.executable], stderr=subprocess.PIPE, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
