# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The Poisson example: right, as accurate as it claims, and the same on any number of ranks."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import load_example

pytest.importorskip("scipy", reason="the example uses scipy.fft")

DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(scope="module")
def poisson() -> ModuleType:
    return load_example("poisson")


@pytest.fixture
def arrays(poisson, world, monkeypatch):
    monkeypatch.setenv("CUDECOMP_LIBRARY", "builtin")
    return poisson.Arrays("cpu", world)


def solve(poisson, arrays, comm, gdims, dtype) -> tuple[np.ndarray, cudecomp.PencilInfo]:
    """The solution on this rank's X-pencil, and where in the grid that is."""
    pdims = MPI.Compute_dims(comm.size, 2)
    with cudecomp.Handle(comm) as handle, poisson.PoissonSolver(handle, gdims, dtype, pdims, arrays) as solver:
        _, f = solver.exact()
        return solver.solve(f), solver.info


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_ranks_together_find_what_one_rank_finds(poisson, arrays, comm, dtype):
    gdims = (18, 15, 20)
    together, info = solve(poisson, arrays, comm, gdims, dtype)
    alone, _ = solve(poisson, arrays, MPI.COMM_SELF, gdims, dtype)
    mine = tuple(slice(lo, hi + 1) for lo, hi in zip(info.lo, info.hi, strict=True))
    assert together.dtype == alone.dtype == np.dtype(dtype)
    assert together.shape == alone[mine].shape
    # The lines are the same, but the transform may take them in other groups, so the last bits may differ.
    np.testing.assert_allclose(together, alone[mine], rtol=0, atol=20 * np.finfo(dtype).eps * np.abs(alone).max())


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_error_falls_to_rounding_as_theory_says(poisson, arrays, comm, dtype):
    errors = []
    for n in (8, 16, 32):
        gdims = (n, n + 2, 2 * n)
        error, _ = poisson.run(comm, gdims, dtype, MPI.Compute_dims(comm.size, 2), arrays)
        assert error <= poisson.error_bound(gdims, dtype)
        errors.append(error)
    eps = np.finfo(dtype).eps
    # Exponential: halving the spacing more than squares a small error. A second-order scheme would gain a factor of 4.
    assert errors[0] > 1e-5
    assert errors[1] < max(errors[0] ** 2, 100 * eps)
    assert errors[2] < 100 * eps


def test_a_wrong_solution_is_above_the_bound(poisson, arrays, comm):
    gdims = (24, 24, 24)
    pdims = MPI.Compute_dims(comm.size, 2)
    with cudecomp.Handle(comm) as handle, poisson.PoissonSolver(handle, gdims, "float64", pdims, arrays) as solver:
        exact, f = solver.exact()
        u = solver.solve(f)
        assert solver.relative_error(u, exact) <= poisson.error_bound(gdims, "float64")
        u *= 1 + 1e-6
        assert solver.relative_error(u, exact) > poisson.error_bound(gdims, "float64")


def test_more_ranks_than_points_in_one_direction(poisson, arrays, comm):
    # One point along Y and two along Z: from 2 ranks on, some of them hold nothing.
    gdims = (16, 1, 2)
    together, info = solve(poisson, arrays, comm, gdims, "complex128")
    alone, _ = solve(poisson, arrays, MPI.COMM_SELF, gdims, "complex128")
    mine = tuple(slice(lo, lo + n) for lo, n in zip(info.lo, info.shape, strict=True))
    np.testing.assert_allclose(together, alone[mine], rtol=0, atol=1e-13 * np.abs(alone).max())


def test_as_a_program(poisson, arrays, world, capsys):
    code = poisson.main(["--grid", "24", "20", "28", "--dtype", "complex64", "--repeats", "1"])
    printed = capsys.readouterr().out
    assert code == 0
    if world.rank:
        assert printed == ""
    else:
        assert "24 x 20 x 28" in printed
        for part in ("FFT", "transposes", "rest", "total"):
            assert part in printed


def test_process_grid_for_another_number_of_ranks_is_refused(poisson, world, capsys):
    with pytest.raises(SystemExit) as caught:
        poisson.main(["--pdims", str(world.size + 1), "1"])
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    text = f"error: --pdims {world.size + 1} 1 is for {world.size + 1} ranks, this run has {world.size}\n"
    assert printed.err.endswith(text) if world.rank == 0 else printed.err == ""


def test_an_error_above_the_bound_fails_the_program(poisson, arrays, monkeypatch, capsys):
    monkeypatch.setattr(poisson, "error_bound", lambda gdims, dtype: 0.0)
    assert poisson.main(["--grid", "8", "8", "8", "--repeats", "1"]) == 1
    if MPI.COMM_WORLD.rank == 0:
        assert "TOO LARGE" in capsys.readouterr().out
