# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks that are out of step at creation and at the end: one error for all, and what it says about whom."""

from __future__ import annotations

import gc
import os
import re
import warnings

import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config, round_trip
from tests.parallel import assert_raises_everywhere, environment


def needs_ranks(comm: MPI.Comm, count: int) -> None:
    if comm.size < count:
        pytest.skip(f"needs {count} ranks")


def test_the_same_mistake_everywhere_is_told_once(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = make_config(comm.size, gdims=(0, 1, 1))
    error = assert_raises_everywhere(comm, cudecomp.InvalidUsageError, "gdims", lambda: handle.create_grid(config))
    assert str(error) == "gdims is (0, 1, 1), expected at least 1 point along X; set all three entries"


def test_different_mistakes_are_all_told(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    needs_ranks(comm, 3)
    fields = [{"gdims": (0, 1, 1)}, {}, {"pdims": (1, 0)}]
    config = make_config(comm.size, **(fields[comm.rank] if comm.rank < 3 else {}))
    assert_raises_everywhere(
        comm,
        cudecomp.InvalidUsageError,
        r"^on rank 0: gdims is \(0, 1, 1\),.*; on rank 2: pdims is \(1, 0\),[^;]*; set both",
        lambda: handle.create_grid(config),
    )


def test_errors_of_different_types(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """The lowest rank that has an error decides the type."""
    needs_ranks(comm, 2)
    config = None if comm.rank == 1 else make_config(comm.size, gdims=(0, 1, 1))
    assert_raises_everywhere(
        comm,
        cudecomp.InvalidUsageError,
        r"^on ranks? 0.*: gdims.*; on rank 1: config must",
        lambda: handle.create_grid(config),
    )


def test_the_cause_is_kept_where_it_happened(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = make_config(comm.size, **({"gdims": (0, 1, 1)} if comm.rank == 0 else {}))
    error = assert_raises_everywhere(comm, cudecomp.InvalidUsageError, "gdims", lambda: handle.create_grid(config))
    assert (error.__cause__ is not None) == (comm.rank == 0)


def test_all_ranks_with_a_value_are_named(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    needs_ranks(comm, 4)
    config = make_config(comm.size, gdims=(8, 8, 9) if comm.rank == 2 else (8, 8, 8))
    others = "0-1, 3" if comm.size == 4 else f"0-1, 3-{comm.size - 1}"
    text = rf"config\.gdims is \(8, 8, 8\) on ranks {others}, \(8, 8, 9\) on rank 2$"
    assert_raises_everywhere(comm, cudecomp.InvalidUsageError, text, lambda: handle.create_grid(config))


def test_options_on_some_ranks_only(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    needs_ranks(comm, 2)
    options = cudecomp.GridDescAutotuneOptions() if comm.rank == 0 else None
    assert_raises_everywhere(
        comm,
        cudecomp.InvalidUsageError,
        r"options is given on rank 0, None on rank",
        lambda: handle.create_grid(make_config(comm.size), options),
    )


def test_different_options(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    needs_ranks(comm, 2)
    options = cudecomp.GridDescAutotuneOptions(halo_periods=(comm.rank == 0, False, False))
    assert_raises_everywhere(
        comm,
        cudecomp.InvalidUsageError,
        r"options\.halo_periods is \(True, False, False\) on rank 0, \(False, False, False\) on rank",
        lambda: handle.create_grid(make_config(comm.size), options),
    )


def test_different_meaning_of_the_default_rank_order(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    needs_ranks(comm, 2)
    variable = "CUDECOMP_USE_COL_MAJOR_RANK_ORDER"
    before = os.environ.get(variable)
    with environment(**{variable: "1" if comm.rank == 0 else before}):
        if comm.allreduce(os.environ.get(variable) == "1", MPI.LAND):
            pytest.skip(f"{variable} is set anyway")
        assert_raises_everywhere(
            comm,
            cudecomp.InvalidUsageError,
            rf"environment variable {variable} is 1 on rank 0",
            lambda: handle.create_grid(make_config(comm.size)),
        )


def test_finalize_while_another_rank_uses_a_grid(comm: MPI.Comm) -> None:
    needs_ranks(comm, 2)
    handle = cudecomp.Handle(comm)
    grid = handle.create_grid(make_config(comm.size))
    if comm.rank != 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            del grid
            gc.collect()
    # Only rank 0 still has the grid; it may use and destroy it together with the others, who cannot: all are told.
    assert_raises_everywhere(
        comm, cudecomp.InvalidUsageError, r"^1 grid descriptor of this handle still in use", handle.finalize
    )
    if comm.rank == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            del grid
            gc.collect()
    handle.finalize()
    assert repr(handle) == "<cudecomp.Handle, finalized>"


def test_everything_works_after_all_that(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    with handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)
    assert re.match(r"<cudecomp\.GridDesc, destroyed>", repr(grid))
