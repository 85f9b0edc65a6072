# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""CUDECOMP_CHECK=1: what one rank gets wrong alone raises the same error on all ranks, and nothing moves.

Without the variable most of these calls hang or leave wrong data behind, which `docs/faults.md` lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config, round_trip
from tests.parallel import assert_raises_everywhere, environment

Grid = cudecomp.GridDesc

HALO = (1, 1, 1)


@pytest.fixture
def checked(comm: MPI.Comm) -> Iterator[cudecomp.Handle]:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    with environment(CUDECOMP_CHECK="1"):
        handle = cudecomp.Handle(comm)
    with handle:
        yield handle


@pytest.fixture
def grid(checked: cudecomp.Handle) -> Iterator[Grid]:
    with checked.create_grid(make_config(checked.nranks, gdims=(16, 16, 16))) as grid:
        yield grid


def pencil(grid: Grid, axis: int, halo: tuple[int, ...] = (0, 0, 0), dtype: str = "float64") -> np.ndarray:
    return np.zeros(grid.get_pencil_info(axis, halo).shape, dtype)


def transpose(grid: Grid, **fields: object) -> np.ndarray:
    return grid.transpose_x_to_y(pencil(grid, 0), **fields)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def with_halo(grid: Grid, halo: tuple[int, int, int]) -> np.ndarray:
    return grid.transpose_x_to_y(pencil(grid, 0, halo), input_halo_extents=halo)


def other_grid(grid: Grid) -> None:
    other = grid.handle.create_grid(make_config(grid.handle.nranks, gdims=(16, 16, 16)))
    try:
        transpose(other if grid.handle.rank == 1 else grid)
    finally:
        other.destroy()


#: What rank 1 calls, what the others call, the error, and its text on two ranks (on more, "ranks 0, 2-3").
FAULTS: dict[str, tuple[Callable[[Grid], object], Callable[[Grid], object], type[Exception], str]] = {
    "shape": (
        lambda g: g.transpose_x_to_y(np.zeros((3, 4, 5))),
        transpose,
        cudecomp.InvalidUsageError,
        r"^on rank 1: input has shape \(3, 4, 5\), expected \(\d+, \d+, 16\)",
    ),
    "type": (
        lambda g: g.transpose_x_to_y("a string"),
        transpose,
        TypeError,
        r"^on rank 1: input must be a numpy.ndarray, got 'a string' of type str",
    ),
    "unknown keyword value": (
        lambda g: transpose(g, input_halo_extents=(0, 0)),
        transpose,
        cudecomp.InvalidUsageError,
        r"^on rank 1: input_halo_extents .*\(0, 0\)",
    ),
    "read-only output": (
        lambda g: transpose(g, out=read_only(pencil(g, 1))),
        lambda g: transpose(g, out=pencil(g, 1)),
        cudecomp.InvalidUsageError,
        r"^on rank 1: out is read-only; pass a writable array$",
    ),
    "read-only halo": (
        lambda g: g.update_halos_y(read_only(pencil(g, 1, HALO)), HALO),
        lambda g: g.update_halos_y(pencil(g, 1, HALO), HALO),
        cudecomp.InvalidUsageError,
        r"^on rank 1: input is read-only, but its halo is to be written",
    ),
    "destroyed": (
        lambda g: _destroyed(g).transpose_x_to_y(pencil(g, 0)),
        lambda g: (_destroyed(g), transpose(g)),
        cudecomp.InvalidUsageError,
        r"^on rank 1: this GridDesc is destroyed",
    ),
    "dtype": (
        lambda g: g.transpose_x_to_y(pencil(g, 0, dtype="float32")),
        transpose,
        cudecomp.InvalidUsageError,
        r"^transpose_x_to_y must get the same on all ranks, but dtype is DOUBLE on ranks? 0.*, FLOAT on rank 1$",
    ),
    "itemsize alike": (
        lambda g: g.transpose_x_to_y(pencil(g, 0, dtype="complex64")),
        transpose,
        cudecomp.InvalidUsageError,
        r"but dtype is DOUBLE on ranks? 0.*, FLOAT_COMPLEX on rank 1$",
    ),
    "transpose halo": (
        lambda g: with_halo(g, (0, 1, 0)),
        lambda g: with_halo(g, (1, 0, 0)),
        cudecomp.InvalidUsageError,
        r"but input_halo_extents is \(1, 0, 0\) on ranks? 0.*, \(0, 1, 0\) on rank 1$",
    ),
    "padding": (
        lambda g: transpose(g, output_padding=(0, 0, 1)),
        transpose,
        cudecomp.InvalidUsageError,
        r"but output_padding is \(0, 0, 0\) on ranks? 0.*, \(0, 0, 1\) on rank 1$",
    ),
    "halo width": (
        lambda g: g.update_halos_x(pencil(g, 0, (2, 2, 2)), (2, 2, 2)),
        lambda g: g.update_halos_x(pencil(g, 0, HALO), HALO),
        cudecomp.InvalidUsageError,
        r"^update_halos_x must get .*halo_extents is \(1, 1, 1\) on ranks? 0.*, \(2, 2, 2\) on rank 1$",
    ),
    "halo periods": (
        lambda g: g.update_halos_x(pencil(g, 0, HALO), HALO, (False, True, True)),
        lambda g: g.update_halos_x(pencil(g, 0, HALO), HALO),
        cudecomp.InvalidUsageError,
        r"but halo_periods is \(False, False, False\) on ranks? 0.*, \(False, True, True\) on rank 1$",
    ),
    "halo dim": (
        lambda g: g.update_halos_x(pencil(g, 0, HALO), HALO, dim=2),
        lambda g: g.update_halos_x(pencil(g, 0, HALO), HALO),
        cudecomp.InvalidUsageError,
        r"but dim is None on ranks? 0.*, 2 on rank 1$",
    ),
    "other operation, same group": (
        lambda g: g.update_halos_x(pencil(g, 0, HALO), HALO),
        transpose,
        cudecomp.InvalidUsageError,
        r"^all ranks of a handle must .* same order, but see transpose_x_to_y on ranks? 0.*, update_halos_x on rank 1$",
    ),
    "other operation, other group": (
        lambda g: g.transpose_y_to_z(pencil(g, 1)),
        transpose,
        cudecomp.InvalidUsageError,
        r"but see transpose_x_to_y on ranks? 0.*, transpose_y_to_z on rank 1$",
    ),
    "other grid": (
        other_grid,
        other_grid,
        cudecomp.InvalidUsageError,
        r"but the grid is number 1 of its handle on ranks? 0.*, number \d of its handle on rank 1$",
    ),
    "creation": (
        lambda g: g.handle.create_grid(make_config(g.handle.nranks)),
        transpose,
        cudecomp.InvalidUsageError,
        r"but see transpose_x_to_y on ranks? 0.*, create_grid on rank 1$",
    ),
    "destruction": (
        lambda g: g.destroy(),
        transpose,
        cudecomp.InvalidUsageError,
        r"but see transpose_x_to_y on ranks? 0.*, GridDesc.destroy on rank 1$",
    ),
    "end of the handle": (
        lambda g: g.handle.finalize(),
        transpose,
        cudecomp.InvalidUsageError,
        r"but see transpose_x_to_y on ranks? 0.*, Handle.finalize on rank 1$",
    ),
}


def _destroyed(grid: Grid) -> Grid:
    other = grid.handle.create_grid(make_config(grid.handle.nranks))
    other.destroy()
    return other


@pytest.mark.parametrize("name", FAULTS)
def test_one_rank_is_wrong(grid: Grid, comm: MPI.Comm, name: str) -> None:
    wrong, right, expected, match = FAULTS[name]
    call = wrong if comm.rank == 1 else right
    for _ in range(2):  # after the error all ranks are in step again
        assert_raises_everywhere(comm, expected, match, lambda: call(grid))
    with grid.handle.create_grid(make_config(comm.size)) as fresh:
        round_trip(fresh, comm)


def test_two_ranks_are_wrong_in_two_ways(grid: Grid, comm: MPI.Comm) -> None:
    bad = {0: "a string", 1: np.zeros((16, 16))}.get(comm.rank, pencil(grid, 0))
    assert_raises_everywhere(
        comm,
        TypeError,
        r"^on rank 0: input must be a numpy.ndarray.*; on rank 1: input has shape \(16, 16\)",
        lambda: grid.transpose_x_to_y(bad),
    )


def test_one_rank_leaves_a_call_out(grid: Grid, comm: MPI.Comm) -> None:
    """Found at the first call that differs."""

    def program() -> None:
        if comm.rank != 1:
            transpose(grid)
        transpose(grid)
        grid.transpose_y_to_z(pencil(grid, 1))

    match = "but see transpose_x_to_y on ranks? 0.*, transpose_y_to_z on rank 1$"
    assert_raises_everywhere(comm, cudecomp.InvalidUsageError, match, program)


def test_nothing_moves(grid: Grid, comm: MPI.Comm) -> None:
    out = np.full(grid.get_pencil_info(1).shape, -1.0)
    halos = np.full(grid.get_pencil_info(0, HALO).shape, -1.0)
    bad = np.zeros((2, 2, 2)) if comm.rank == 1 else None
    source = pencil(grid, 0) if bad is None else bad
    assert_raises_everywhere(comm, ValueError, "on rank 1", lambda: grid.transpose_x_to_y(source, out))
    halo = (1, 1, 1) if bad is None else (0, 0, 0)
    assert_raises_everywhere(comm, ValueError, "on rank 1", lambda: grid.update_halos_x(halos, halo))
    assert (out == -1).all()
    assert (halos == -1).all()


def test_what_ranks_may_choose_alone(grid: Grid, comm: MPI.Comm) -> None:
    """In place or not, an output or none, shared memory or not: nobody else need know."""
    mine = np.full(grid.get_pencil_info(0).shape, float(comm.rank))
    flat = np.empty(grid.get_pencil_info(1).size)
    flat[...] = mine.reshape(-1)[: flat.size]
    options = [
        lambda: grid.transpose_x_to_y(mine),
        lambda: grid.transpose_x_to_y(mine, out=pencil(grid, 1)),
        lambda: grid.transpose_x_to_y(mine, grid.empty(1, "float64")),
        lambda: grid.transpose_x_to_y(flat.reshape(mine.shape), flat.reshape(grid.get_pencil_info(1).shape)),
    ]
    for turn in range(len(options)):
        flat[...] = comm.rank
        result = options[(comm.rank + turn) % len(options)]()
        assert set(np.unique(result)) <= set(range(comm.size))
        assert result.shape == grid.get_pencil_info(1).shape


def test_everything_right(checked: cudecomp.Handle, comm: MPI.Comm) -> None:
    with checked.create_grid(make_config(comm.size)) as grid:
        for run in range(3):
            round_trip(grid, comm, run)
        grid.destroy()
        grid.destroy()  # the second time is nobody's business


def test_the_variable_differs_between_ranks(comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    with environment(CUDECOMP_CHECK="1" if comm.rank == 1 else None):
        assert_raises_everywhere(
            comm,
            cudecomp.InvalidUsageError,
            r"the environment variable CUDECOMP_CHECK is 0 or unset on ranks? 0.*, 1 on rank 1$",
            lambda: cudecomp.Handle(comm),
        )


@pytest.mark.parametrize("value", ["yes", "2"])
def test_the_variable_has_another_value(comm: MPI.Comm, value: str) -> None:
    with environment(CUDECOMP_CHECK=value):
        assert_raises_everywhere(
            comm, cudecomp.InvalidUsageError, f"CUDECOMP_CHECK is '{value}', expected 1", lambda: cudecomp.Handle(comm)
        )


@pytest.mark.parametrize("value", ["", "0", None])
def test_off(comm: MPI.Comm, value: str | None) -> None:
    """Each group of ranks by itself: only one column of the process grid calls, which checked handles do not allow."""
    config = make_config(comm.size, pdims=(1, comm.size), gdims=(16, 16, 16))
    with environment(CUDECOMP_CHECK=value), cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        if comm.rank == 0:
            transpose(grid)
        comm.Barrier()
