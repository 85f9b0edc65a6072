# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""`cudecomp check` on all ranks: right where all is right, and not where an operation is wrong."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from cudecomp._cli import check, facts
from cudecomp._cli.arrays import choose
from cudecomp._cli.launch import Watchdog
from cudecomp._cli.selftest import ORDERS, Outcome, SelfTest, decomposition
from cudecomp._cli.tables import Printer
from tests.parallel import environment, same_everywhere


def checked(comm: MPI.Comm, as_json: bool = False) -> tuple[int, str]:
    stream = io.StringIO()
    code = check.check(comm, Printer(stream), as_json)
    return code, stream.getvalue()


def test_all_is_well(comm: MPI.Comm) -> None:
    code, text = checked(comm)
    same_everywhere(comm, (code, text))
    assert code == 0, text
    lines = text.splitlines()
    assert lines[0].startswith(f"cudecomp {cudecomp.__version__} with the built-in engine, ")
    assert lines[1] == f"{comm.size} rank{'s' * (comm.size != 1)} on 1 node: {facts.platform.node()}"
    assert lines[3].split() == "operation process grid, memory order result calls".split()
    assert lines[-1].startswith("all is well: ")
    assert "WRONG" not in text
    for what in ("transposes in place", "halo updates", "arrays of GridDesc.empty", "autotuning", "backend MPI_A2A"):
        assert what in text


def test_json(comm: MPI.Comm) -> None:
    code, text = checked(comm, as_json=True)
    found = json.loads(text)
    assert (code, found["well"]) == (0, True)
    assert [entry["rank"] for entry in found["ranks"]] == list(range(comm.size))
    assert [entry["neighbours"] for entry in found["ranks"]] == [comm.size - 1] * comm.size
    calls = {(entry["what"], entry["where"]): entry["calls"] for entry in found["operations"]}
    rows = min(n for n in range(1, comm.size + 1) if comm.size % n == 0 and n * n >= comm.size)
    rows = comm.size // rows
    assert calls["transposes", f"{rows} x {comm.size // rows}, mixed orders"] == 32 * comm.size
    assert all(entry["problem"] is None for entry in found["operations"])


def test_small_nodes_are_noticed(comm: MPI.Comm) -> None:
    with environment(CUDECOMP_BUILTIN_RANKS_PER_NODE="1"):
        code, text = checked(comm)
    assert code == 0
    notice = f"note: {comm.size} of the {comm.size} ranks on "
    assert (notice in text) == (comm.size > 1)
    assert ("CUDECOMP_BUILTIN_RANKS_PER_NODE is 1" in text) == (comm.size > 1)


def test_one_rank_without_a_library(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    """No rank goes on, and the report names the rank."""
    gather = facts.gather

    def without(comm: MPI.Comm) -> facts.Facts:
        fields = {"library": None, "library_error": "there is no such file"} if comm.rank == comm.size - 1 else {}
        return dataclasses.replace(gather(comm), **fields)

    monkeypatch.setattr(facts, "gather", without)
    code, text = checked(comm)
    same_everywhere(comm, (code, text))
    assert code == 1
    assert f"error: no library can be used (rank {comm.size - 1}): there is no such file" in text
    assert text.splitlines()[-1].endswith("in the installation, no operation was tried")
    assert "operation  " not in text


class WrongGrid:
    """A grid one operation of which is wrong on the last rank."""

    def __init__(self, grid: cudecomp.GridDesc, name: str, spoil: Callable[[np.ndarray], None]) -> None:
        self._grid, self._name, self._spoil = grid, name, spoil

    def __enter__(self) -> WrongGrid:
        return self

    def __exit__(self, *exception: object) -> None:
        self._grid.__exit__(*exception)

    def __getattr__(self, name: str) -> object:
        method = getattr(self._grid, name)
        handle = self._grid.handle
        if name != self._name or handle.rank != handle.nranks - 1:
            return method

        def spoiled(*arguments: object, **options: object) -> object:
            result = method(*arguments, **options)
            self._spoil(*arguments)
            return result

        return spoiled


class WrongHandle:
    def __init__(self, handle: cudecomp.Handle, name: str, spoil: Callable[..., None]) -> None:
        self._handle, self._name, self._spoil = handle, name, spoil

    def __getattr__(self, name: str) -> object:
        return getattr(self._handle, name)

    def create_grid(self, *arguments: object) -> WrongGrid:
        return WrongGrid(self._handle.create_grid(*arguments), self._name, self._spoil)


def outcome_with(handle: cudecomp.Handle, what: str, name: str, spoil: Callable[..., None]) -> Outcome:
    """What the self-test says of one group of operations if one of them spoils something."""
    comm = handle.comm
    test = SelfTest(WrongHandle(handle, name, spoil), choose(comm), Watchdog(comm, 60))
    dec = decomposition((1, comm.size), ORDERS["own axis fastest"])
    outcome = next(outcome for outcome in test._operations(dec, "own axis fastest") if outcome.what == what)
    test.close()
    same_everywhere(comm, outcome)
    return outcome


def spoil_first(source: np.ndarray, out: np.ndarray, *_: object) -> None:
    out.flat[0] += 1


def spoil_last(source: np.ndarray, out: np.ndarray, *_: object) -> None:
    out.flat[-1] += 1


def spoil_input(source: np.ndarray, out: np.ndarray, *_: object) -> None:
    source.flat[-1] += 1


def spoil_array(array: np.ndarray, *_: object) -> None:
    array.flat[-1] += 1


@pytest.mark.parametrize("what", ["transposes", "transposes in place"])
@pytest.mark.parametrize("name", ["x_to_y", "y_to_z", "z_to_y", "y_to_x"])
@pytest.mark.parametrize("spoil", [spoil_first, spoil_last])
def test_wrong_transposes_are_found(handle: cudecomp.Handle, what: str, name: str, spoil: Callable[..., None]) -> None:
    wrong = outcome_with(handle, what, f"transpose_{name}", spoil)
    assert wrong.problem is not None
    assert wrong.problem.startswith(f"rank {handle.nranks - 1}: {name} of float32: cell (")
    assert " is " in wrong.problem
    assert ", expected " in wrong.problem


def test_a_changed_input_is_found(handle: cudecomp.Handle) -> None:
    wrong = outcome_with(handle, "transposes", "transpose_z_to_y", spoil_input)
    assert "z_to_y of float32: the input has changed: cell (" in wrong.problem


@pytest.mark.parametrize("axis", "xyz")
def test_wrong_halos_are_found(handle: cudecomp.Handle, axis: str) -> None:
    wrong = outcome_with(handle, "halo updates", f"update_halos_{axis}", spoil_array)
    assert wrong.problem is not None
    start = f"rank {handle.nranks - 1}: halos of {axis.upper()}-pencils along all dims, periods (False, False, False), "
    assert wrong.problem.startswith(start)


def test_wrong_geometry_is_found(handle: cudecomp.Handle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SelfTest, "_neighbour", lambda *_: -7)
    wrong = outcome_with(handle, "pencil geometry", "none", spoil_array)
    assert "expected -7" in wrong.problem


def test_errors_of_operations_are_told(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Raised on all ranks alike; a group of operations ends there, and the next one runs."""
    test = SelfTest(handle, choose(comm), Watchdog(comm, 60))
    refused = test._backend(decomposition((1, comm.size)), transpose_comm_backend=cudecomp.TransposeCommBackend.NCCL)
    config = cudecomp.GridDescConfig(gdims=(4, 4, 4), pdims=(1, comm.size + 1))
    failed = test._group("transposes", "here", config, lambda grid: iter(()))
    works = test._backend(decomposition((1, comm.size)), halo_comm_backend=cudecomp.HaloCommBackend.MPI)
    test.close()
    assert refused.problem is None
    assert "NCCL" in refused.skipped
    ranks = "rank 0" if comm.size == 1 else f"ranks 0-{comm.size - 1}"
    assert failed.problem.startswith(f"{ranks}: InvalidUsageError: pdims is (1, {comm.size + 1})")
    assert works == Outcome("halo updates", f"1 x {comm.size}, backend MPI", 36 * comm.size)
    table = check.table_of([refused, failed, works])
    assert [row[2].partition(":")[0] for row in table.rows] == ["not available", "WRONG", "right"]
    assert check.verdict([refused, failed, works], []) == "NOT WELL: 1 of 3 groups of operations are wrong"
