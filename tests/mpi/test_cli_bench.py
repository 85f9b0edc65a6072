# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""`cudecomp bench` on all ranks: what it times, that it checks first, and what it prints and draws."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from cudecomp._cli import bench, make_parser, timing
from cudecomp._cli.cells import Pencil
from cudecomp._cli.launch import CommandError
from cudecomp._cli.tables import Printer
from tests.parallel import assert_raises_everywhere, same_everywhere

SMALL = ["bench", "--grid", "18", "12", "10", "--repeat", "3", "--warmup", "1"]
TRANSPOSES = ["x_to_y", "y_to_z", "z_to_y", "y_to_x"]
HALOS = [f"halos of {axis}-pencils" for axis in "xyz"]


def run(comm: MPI.Comm, *arguments: object) -> str:
    stream = io.StringIO()
    options = make_parser().parse_args([*SMALL, *map(str, arguments)])
    assert bench.bench(comm, Printer(stream), options) == 0
    return stream.getvalue()


def test_table_and_picture(comm: MPI.Comm, tmp_path: Path) -> None:
    picture = comm.bcast(tmp_path) / "bars.png"
    text = run(comm, "--plot", picture)
    same_everywhere(comm, text)
    comm.Barrier()
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = text.splitlines()
    assert lines[0].startswith("18 x 12 x 10 points of float64 on ")
    assert lines[2].split("  ")[0] == "operation"
    assert lines[-1] == f"wrote {picture}"
    for name in (*TRANSPOSES, *HALOS):
        assert text.count(f"\n{name} ") == 2, name
    assert text.count("\ncopy ") == 4


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_json(comm: MPI.Comm, dtype: str) -> None:
    arguments = [
        "--pdims",
        comm.size,
        1,
        "--dtype",
        dtype,
        "--axis-contiguous",
        "--rank-order",
        "col",
        "--halo-extents",
    ]
    found = json.loads(run(comm, "--json", *arguments, 1, 0, 2, "--halo-periods", "x", "z"))
    same_everywhere(comm, found)
    assert (found["ranks"], found["config"]["pdims"]) == (comm.size, [comm.size, 1])
    assert (found["halo_extents"], found["halo_periods"]) == ([1, 0, 2], [True, False, True])
    results = {(entry["operation"], entry["arrays"]): entry for entry in found["results"]}
    expected = {(name, arrays) for name in (*TRANSPOSES, *HALOS) for arrays in ("NumPy", "GridDesc.empty")}
    assert set(results) == expected | {("copy", "NumPy"), ("copy", "the engine's kernels")}
    itemsize = np.dtype(dtype).itemsize
    for (name, _), entry in results.items():
        assert len(entry["timing"]) == 3
        assert entry["minimum"] <= entry["median"]
        if name in TRANSPOSES:
            assert entry["moved"] == 2 * 18 * 12 * 10 * itemsize
    # X-pencils: along X from themselves, along Z from the next rank in the same column, edges of both; Y has no halo.
    cells = (18 + 2) * 12 * (10 + 4) - 18 * 12 * 10
    assert results["halos of x-pencils", "NumPy"]["moved"] == 2 * cells * itemsize


def test_no_halos(comm: MPI.Comm) -> None:
    assert "halos of" not in run(comm, "--halo-extents", 0, 0, 0)
    # Neither periodic nor cut: on one rank there is nothing to update.
    assert ("halos of" in run(comm, "--halo-periods")) == (comm.size > 1)


def test_split_that_is_given(comm: MPI.Comm) -> None:
    run(comm, "--grid-dist", 18, 12, 8, "--memory-order", "zyx", "yxz", "xzy")


@pytest.mark.parametrize("operation", ["z_to_y", "halos of y-pencils"])
def test_wrong_results_are_not_timed(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    values = Pencil.values

    def other_values(pencil: Pencil, dtype: object, *arguments: object, **options: object) -> np.ndarray:
        """What the benchmark expects, wrong in one cell of the last rank."""
        array = values(pencil, dtype, *arguments, **options)
        halo = bool(options.get("filled"))
        if comm.rank == comm.size - 1 and halo == operation.startswith("halos") and pencil.axes == (2, 0, 1):
            array[-1, -1, -1] += 1
        return array

    monkeypatch.setattr(Pencil, "values", other_values)
    # Y-pencils are told apart by their memory order.
    arguments = ["--memory-order", "xyz", "yxz", "zyx"]
    match = (
        r": the result is wrong on rank \d, from index 0 of its first axis: cell \(.*; see python -m cudecomp check$"
    )
    error = assert_raises_everywhere(comm, CommandError, match, lambda: run(comm, *arguments))
    assert str(error).startswith("x_to_y" if operation == "z_to_y" else operation)
    assert f"on rank {comm.size - 1}" in str(error)


@pytest.mark.parametrize("machines", [1, 2])
def test_times(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch, machines: int) -> None:
    """With a clock that each call moves on, by other amounts on other ranks. On one machine all read the same clock."""
    now = 10.0
    calls: list[int] = []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now)
    monkeypatch.setattr(timing, "on_one_machine", lambda comm: machines == 1)

    def call(which: int) -> None:
        nonlocal now
        now += (which + 1) * (comm.rank + 1)
        calls.append(which)

    def synchronize() -> None:
        nonlocal now
        now += 0.25

    found = timing.in_turns(comm, [lambda: call(0), lambda: call(1)], synchronize, repeat=2, warmup=1)
    assert calls == [1, 0, 0, 1, 1, 0]
    slowest = [(comm.size + 0.25,) * 2, (2 * comm.size + 0.25,) * 2]
    # Where clocks are the same, calls last from the first rank's begin: the others have begun later by all they did.
    later = [(3 * (comm.size - 1), 8 * (comm.size - 1)), (4 * (comm.size - 1), 6 * (comm.size - 1))]
    late = [tuple(s + x for s, x in zip(*pair, strict=True)) for pair in zip(slowest, later, strict=True)]
    assert [entry.seconds for entry in found] == (late if machines == 1 else slowest)


def test_all_ranks_read_one_clock(comm: MPI.Comm) -> None:
    """Tests run on one machine."""
    assert timing.on_one_machine(comm)
