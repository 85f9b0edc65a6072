# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""pytest on all ranks of a job at once: mpirun -n 4 python -m pytest tests/mpi

All ranks run the same tests in the same order. After every phase of a test they exchange the outcome, so a test that
fails anywhere fails everywhere, and rank 0, the only one to print, shows what the others saw. A test that takes too
long aborts the job, after every rank has said where it is.
"""

from __future__ import annotations

import gc
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

# UCX, which the MPICH wheel uses, otherwise keeps some bytes for every mapping that ever goes: tests of leaks see them.
os.environ.setdefault("UCX_MEM_EVENTS", "n")  # read when MPI starts

import pytest
from _pytest.terminal import TerminalReporter
from mpi4py import MPI

from tests.matrix.table import REACHES
from tests.parallel import Watchdog, environment

WORLD = MPI.COMM_WORLD

#: Seconds that other ranks have to finish a test which has failed on one.
GRACE = 20.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--mpi-timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="abort the whole job when one test takes longer (default: 120)",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    separate_temporary_folders()
    if WORLD.rank != 0:
        quiet(config)
    # Capturing is suspended here, so descriptor 2 is the real one.
    watchdog = Watchdog(WORLD, config.getoption("--mpi-timeout"), stderr_fd=2)
    watchdog.start("collecting tests")
    config.pluginmanager.register(Agreement(WORLD.Dup(), watchdog), "mpi-agreement")


def separate_temporary_folders() -> None:
    """Lets pytest clear up its folders of earlier runs while other ranks do the same: each has a place of its own."""
    root = Path(tempfile.gettempdir()) / f"pytest-on-rank-{WORLD.rank}"
    root.mkdir(exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(root)


def quiet(config: pytest.Config) -> None:
    """Replaces the reporter by one that writes nowhere. Others in pytest ask it for a writer, so one must be there."""
    manager = config.pluginmanager
    manager.unregister(name="terminalreporter")
    manager.register(TerminalReporter(config, open(os.devnull, "w")), "terminalreporter")  # noqa: PTH123, SIM115


class Agreement:
    """Makes all ranks see the same outcome of every test and of the session."""

    def __init__(self, comm: MPI.Comm, watchdog: Watchdog) -> None:
        self._comm = comm
        self._watchdog = watchdog

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            item.add_marker(pytest.mark.timeout(0))  # the watchdog ends the job; one rank alone must not

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        names = hashlib.sha256("\n".join(item.nodeid for item in session.items).encode()).hexdigest()
        if len(set(self._comm.allgather(names))) > 1:
            pytest.exit("ranks collected different tests", returncode=pytest.ExitCode.INTERNAL_ERROR)
        gc.freeze()  # modules stay: collecting after each test need not look at them

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._watchdog.start(nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report = yield
        if report.failed:  # others may wait for this rank: should that last, the watchdog says why
            self._watchdog.start(item.nodeid, GRACE)
            self._watchdog.note = f"This rank had failed:\n{report.longreprtext}"
        texts = self._comm.allgather((report.outcome, report.longreprtext if report.failed else ""))
        self._watchdog.start(item.nodeid)
        merge(report, texts, self._comm.rank)
        return report

    def pytest_internalerror(self, excrepr: object) -> None:
        # This rank is out of step for good.
        self._watchdog.abort(f"internal error of pytest\n{excrepr}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._watchdog.start("end of the session")
        session.exitstatus = max(self._comm.allgather(int(session.exitstatus)))
        self._watchdog.stop()


def merge(report: pytest.TestReport, texts: list[tuple[str, str]], rank: int) -> None:
    """Makes a report failed if it is on any rank or if ranks differ, and adds what the other ranks saw."""
    outcomes = [outcome for outcome, _ in texts]
    if len(set(outcomes)) == 1 and not report.failed:
        return
    if "failed" not in outcomes:
        report.longrepr = f"outcomes differ between ranks: {outcomes}"
    elif not report.failed:
        first = outcomes.index("failed")
        report.longrepr = f"failed on rank {first}:\n{texts[first][1]}"
    report.outcome = "failed"
    if hasattr(report, "wasxfail"):
        del report.wasxfail
    failed = [str(r) for r, outcome in enumerate(outcomes) if outcome == "failed"]
    report.sections.append(("ranks", f"failed on ranks {', '.join(failed)} of {len(texts)}"))
    seen = {text for _, text in texts[rank : rank + 1]}
    for other, (outcome, text) in enumerate(texts):
        if outcome == "failed" and text not in seen:
            seen.add(text)
            report.sections.append((f"rank {other}", text))


@pytest.fixture(autouse=True)
def _collect_garbage() -> Iterator[None]:
    """Objects that a test leaves behind are found in that test, not in whichever runs when the collector wakes up."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def world() -> MPI.Comm:
    return WORLD


@pytest.fixture
def comm(world: MPI.Comm) -> Iterator[MPI.Comm]:
    """A communicator of this test's own, with all ranks."""
    comm = world.Dup()
    yield comm
    if comm != MPI.COMM_NULL:
        comm.Free()


@pytest.fixture(params=["node", "mpi", "twos"])
def reach(request: pytest.FixtureRequest) -> Iterator[str]:
    """How ranks reach each other: shared memory, MPI, or both at once."""
    ranks_per_node, _ = REACHES[request.param]
    with environment(CUDECOMP_BUILTIN_RANKS_PER_NODE=ranks_per_node):
        yield request.param


@pytest.fixture
def handle(comm: MPI.Comm) -> Iterator[object]:
    import cudecomp

    with cudecomp.Handle(comm) as handle:
        yield handle
