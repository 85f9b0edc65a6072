# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The tools that keep parallel tests from hanging and from disagreeing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from mpi4py import MPI

from tests.mpi.conftest import merge
from tests.parallel import ABORT_CODE, assert_raises_everywhere, environment, outcomes
from tests.run_mpi import read_counts

ROOT = Path(__file__).resolve().parents[2]

HANGS = """
import time
from mpi4py import MPI
from tests.parallel import Watchdog
watchdog = Watchdog(MPI.COMM_WORLD, 0.5)
watchdog.start("the first step")
watchdog.start("the step that hangs")
watchdog.note = "something failed before"
time.sleep(60)
"""


def test_watchdog_ends_a_job_that_hangs() -> None:
    process = subprocess.run([sys.executable, "-c", HANGS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode != 0
    assert "rank 0, in the step that hangs: the job is aborted: timeout\nsomething failed before" in process.stderr
    assert 'File "<string>", line 9' in process.stderr  # where it hangs
    assert "the first step" not in process.stderr


def test_watchdog_leaves_a_job_alone_that_ends_its_steps() -> None:
    program = HANGS.replace("time.sleep(60)", "watchdog.stop(); time.sleep(1.5)")
    process = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    assert ABORT_CODE != 0


def test_outcomes() -> None:
    assert outcomes(MPI.COMM_SELF, None) is None
    assert outcomes(MPI.COMM_SELF, "wrong") == "rank 0: wrong"


def fail(error: Exception) -> None:
    raise error


def test_assert_raises_everywhere() -> None:
    error = assert_raises_everywhere(MPI.COMM_SELF, LookupError, "k.y", lambda: fail(KeyError("key")))
    assert type(error) is KeyError
    for expected, match, function in (
        (KeyError, "other", lambda: fail(KeyError("key"))),
        (ValueError, "key", lambda: fail(KeyError("key"))),
        (KeyError, "key", lambda: None),
    ):
        with pytest.raises(AssertionError):
            assert_raises_everywhere(MPI.COMM_SELF, expected, match, function)


class TwoRanks:
    """Stands for a communicator in which the other rank says something else."""

    def __init__(self, other: object) -> None:
        self.other = other

    def allgather(self, mine: object) -> list[object]:
        return [mine, self.other]


@pytest.mark.parametrize("other", [None, ("KeyError", "'another text'"), ("ValueError", "'key'")])
def test_assert_raises_everywhere_wants_the_same_on_all_ranks(other: object) -> None:
    with pytest.raises(AssertionError, match=r"no exception on ranks \[1\]|differ between ranks"):
        assert_raises_everywhere(TwoRanks(other), KeyError, "key", lambda: fail(KeyError("key")))


def report(outcome: str, text: str = "") -> SimpleNamespace:
    return SimpleNamespace(outcome=outcome, longrepr=text, failed=outcome == "failed", sections=[])


def test_a_test_that_fails_anywhere_fails_everywhere() -> None:
    texts = [("passed", ""), ("failed", "what rank 1 saw"), ("passed", "")]
    passed = report("passed")
    merge(passed, texts, 0)
    assert passed.outcome == "failed"
    assert passed.longrepr == "failed on rank 1:\nwhat rank 1 saw"

    failed = report("failed", "what rank 1 saw")
    merge(failed, texts, 1)
    assert (failed.outcome, failed.longrepr) == ("failed", "what rank 1 saw")
    assert failed.sections == [("ranks", "failed on ranks 1 of 3")]


def test_a_test_that_is_skipped_on_some_ranks_fails() -> None:
    skipped = report("skipped")
    merge(skipped, [("skipped", ""), ("passed", "")], 0)
    assert skipped.outcome == "failed"
    assert "outcomes differ between ranks: ['skipped', 'passed']" in skipped.longrepr


def test_outcomes_that_agree_are_left_alone() -> None:
    for outcome in ("passed", "skipped"):
        same = report(outcome)
        merge(same, [(outcome, "")] * 2, 0)
        assert (same.outcome, same.longrepr, same.sections) == (outcome, "", [])


def test_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_ONE", "before")
    monkeypatch.delenv("TEST_TWO", raising=False)
    with environment(TEST_ONE=None, TEST_TWO="2"):
        assert ("TEST_ONE" in os.environ, os.environ["TEST_TWO"]) == (False, "2")
    assert (os.environ["TEST_ONE"], "TEST_TWO" in os.environ) == ("before", False)


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("==== 12 passed in 3.21s ====", {"passed": 12}),
        (
            "1 failed, 12 passed, 3 skipped, 1 error in 63.21s (0:01:03)",
            {"failed": 1, "passed": 12, "skipped": 3, "error": 1},
        ),
        ("12 passed", {}),
        ("anything else", {}),
    ],
)
def test_counts_of_pytest(line: str, counts: dict[str, int]) -> None:
    assert {name: n for name, n in read_counts(line).items() if n} == counts
