# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The judge of the CPU targets, over made-up times."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from benchmarks import cpu_suite


def timing(name: str, seconds: float, layout: str = "", arrays: str = "") -> dict:
    return {"name": name, "layout": layout, "arrays": arrays, "median": seconds}


def report(copy: float, ours: float = 1.0, fft: float = 2.0, size: int = 100) -> dict:
    """Of one transpose cycle of `size`^3 float64 on two ranks."""
    timings = [
        timing("copy, streaming stores", copy),
        timing("mpi4py-fft", fft, "kept", "numpy"),
        timing("cudecomp MPI_P2P", ours, "kept", "numpy"),
        timing("cudecomp MPI_P2P", copy / 0.9, "kept", "empty"),
    ]
    record = {"kind": "transpose", "grid": [size] * 3, "dtype": "float64", "ranks": 2, "pdims": [1, 2]}
    return {"records": [{**record, "timings": timings}], "failures": []}


def line(text: str, target: str) -> list[str]:
    found = next(row for row in text.splitlines() if row.startswith(f"| {target} "))
    return [cell.strip() for cell in found.strip("|").split("|")]


@pytest.mark.parametrize(
    ("times", "verdict"),
    [([1.0, 1.2], "pass"), ([1.2, 1.6], "FAIL"), ([0.6, 1.7], "FAIL"), ([1.0, 1.6], "pass")],
    ids=["met", "mean too large", "one too large", "one within tolerance"],
)
def test_a_target_wants_its_mean_and_no_single_figure_far_off(times: list[float], verdict: str) -> None:
    records = [record for ours in times for record in report(0.5, ours)["records"]]
    text, good = cpu_suite.verdicts(records)
    assert line(text, "any arrays, kept / mpi4py-fft")[1] == verdict
    assert good == (verdict == "pass")


def test_parts_of_the_copy_limit_are_better_when_larger() -> None:
    text, good = cpu_suite.verdicts(report(0.5)["records"])
    assert line(text, "from empty, kept, of copy limit")[1:] == [
        "pass",
        "100x100x100 float64 1x2",
        ">= 0.8",
        "0.90",
        "0.90",
        "1",
    ]
    assert line(text, "from empty, permuting, of copy limit")[1] == "not measured"
    assert good


def test_speed_of_memory_is_that_of_the_slowest_copy() -> None:
    fast, slow = report(0.001), report(0.002)
    assert cpu_suite.memory_speed(fast) == pytest.approx(8 * 100**3 * 8 / 0.001 / 1e9)
    both = {"records": fast["records"] + slow["records"]}
    assert cpu_suite.memory_speed(both) == cpu_suite.memory_speed(slow)
    assert cpu_suite.memory_speed({"records": []}) is None


def starts(monkeypatch: pytest.MonkeyPatch, reports: list[dict]) -> Iterator[dict]:
    """Lets the suite get these, and returns what it has not asked for yet."""
    left = iter(reports)
    monkeypatch.setattr(cpu_suite, "start", lambda *_: next(left))
    return left


def copy_seconds(found: dict) -> float:
    return found["records"][0]["timings"][0]["median"]


@pytest.mark.parametrize(
    ("ranks", "copies", "kept", "unused"),
    [
        (2, [0.002, 0.003, 0.001, 0.0005], 0.001, 1),
        (2, [0.003, 0.002, 0.004, 0.001], 0.002, 1),
        (1, [0.003, 0.001], 0.003, 1),
    ],
    ids=["until it is fast", "never fast in three", "one rank"],
)
def test_what_slow_memory_spoils_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, ranks: int, copies: list[float], kept: float, unused: int
) -> None:
    left = starts(monkeypatch, [report(copy) for copy in copies])
    options = argparse.Namespace(memory_at_least=60, tries=3)  # 64 GB/s take 1 ms
    assert copy_seconds(cpu_suite.start_with_memory(options, ranks, 100, "float64", "none")) == kept
    assert len(list(left)) == unused


def test_what_went_wrong_is_not_forgotten_for_slow_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {**report(0.003), "failures": ["WRONG RESULT"]}
    starts(monkeypatch, [wrong, report(0.001)])
    options = argparse.Namespace(memory_at_least=60, tries=3)
    assert cpu_suite.start_with_memory(options, 2, 100, "float64", "none") is wrong
