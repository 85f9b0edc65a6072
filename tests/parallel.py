# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What tests that run on several ranks share: a watchdog, agreement on failures, communicators, assertions."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import threading
import time
from collections.abc import Callable, Iterator

from mpi4py import MPI

ABORT_CODE = 86


class Watchdog:
    """Aborts the whole job when a step takes too long, and says on every rank which step and where.

    The abort happens from a thread, since the main thread may be stuck inside MPI. faulthandler's own timer, which
    needs no interpreter lock, ends the process if even that thread cannot run.
    """

    BACKSTOP = 20.0

    def __init__(self, comm: MPI.Comm, seconds: float, stderr_fd: int = 2) -> None:
        self._rank = comm.rank
        self._seconds = seconds
        self._stderr = os.fdopen(os.dup(stderr_fd), "w", buffering=1)
        self._lock = threading.Condition()
        self._step = ""
        self._deadline: float | None = None
        self.note = ""  # more to say when time is up, such as a failure that the other ranks have not heard of yet
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def start(self, step: str, seconds: float | None = None) -> None:
        """Begins a step; the previous one, if any, is over."""
        seconds = self._seconds if seconds is None else seconds
        faulthandler.dump_traceback_later(seconds + self.BACKSTOP, exit=True, file=self._stderr)
        with self._lock:
            self._step, self.note, self._deadline = step, "", time.monotonic() + seconds
            self._lock.notify()

    def stop(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        with self._lock:
            self._deadline = None
            self._lock.notify()

    def _watch(self) -> None:
        with self._lock:
            while True:
                if self._deadline is None:
                    self._lock.wait()
                elif (left := self._deadline - time.monotonic()) > 0:
                    self._lock.wait(left)
                else:
                    self.abort(f"timeout\n{self.note}")

    def abort(self, why: str) -> None:
        """Says where this rank is and ends all ranks."""
        self._stderr.write(f"\nrank {self._rank}, in {self._step}: the job is aborted: {why}\n")
        faulthandler.dump_traceback(file=self._stderr, all_threads=True)
        self._stderr.flush()
        time.sleep(1.0)  # let the other ranks say where they are
        MPI.COMM_WORLD.Abort(ABORT_CODE)
        os._exit(ABORT_CODE)


def outcomes(comm: MPI.Comm, problem: str | None) -> str | None:
    """One text with the problems of all ranks, the same on all; None if there are none. Collective."""
    texts = comm.allgather(problem)
    groups: dict[str, list[int]] = {}
    for rank, text in enumerate(texts):
        if text is not None:
            groups.setdefault(text, []).append(rank)
    if not groups:
        return None
    return "\n".join(f"rank {', '.join(map(str, ranks))}: {text}" for text, ranks in groups.items())


def same_everywhere(comm: MPI.Comm, value: object) -> None:
    """Asserts that all ranks pass an equal value. Collective."""
    values = comm.allgather(value)
    assert all(other == values[0] for other in values), f"ranks differ: {values}"


def assert_raises_everywhere(
    comm: MPI.Comm, expected: type[BaseException], match: str, function: Callable[[], object]
) -> BaseException:
    """Asserts that `function` raises on all ranks: exactly the same type, a subclass of `expected`, and one text.

    Args:
        comm: Ranks that must agree.
        expected: The exception or a base of it.
        match: Regular expression to find in the text.
        function: What should fail.

    Returns:
        This rank's exception.

    Collective over `comm`.
    """
    caught: BaseException | None = None
    try:
        function()
    except Exception as error:
        caught = error
    seen = comm.allgather(None if caught is None else (type(caught).__qualname__, str(caught)))
    quiet = [rank for rank, entry in enumerate(seen) if entry is None]
    assert not quiet, f"no exception on ranks {quiet}; all: {seen}"
    assert len(set(seen)) == 1, f"exceptions differ between ranks: {seen}"
    assert isinstance(caught, expected), f"expected {expected.__qualname__}, saw {caught!r}"
    assert re.search(match, str(caught)), f"expected a text that matches {match!r}, saw {str(caught)!r}"
    return caught


#: Kinds of communicator that tests run on: as it is, all ranks but the first, and backwards.
COMMUNICATORS = ("world", "subset", "reversed")


def communicator_size(kind: str, nranks: int) -> int:
    return nranks - 1 if kind == "subset" else nranks


def make_communicator(world: MPI.Comm, kind: str) -> MPI.Comm:
    """A new communicator of one kind; COMM_NULL on ranks outside it. Collective over `world`, the caller frees it."""
    if kind == "world":
        return world.Dup()
    if kind == "subset":
        return world.Split(MPI.UNDEFINED if world.rank == 0 else 0, world.rank)
    assert kind == "reversed", kind
    return world.Split(0, -world.rank)


@contextlib.contextmanager
def communicator(world: MPI.Comm, kind: str) -> Iterator[MPI.Comm]:
    """A communicator of one kind for the duration of a block."""
    comm = make_communicator(world, kind)
    try:
        yield comm
    finally:
        if comm != MPI.COMM_NULL:
            comm.Free()


@contextlib.contextmanager
def environment(**values: str | None) -> Iterator[None]:
    """Environment variables for the duration of a block; None removes one."""
    before = {name: os.environ.get(name) for name in values}
    _set_environment(values)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
