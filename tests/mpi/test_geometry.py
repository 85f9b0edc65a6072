# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Geometry that the library reports, against the reference, for generated configurations."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI

import cudecomp
from tests import reference as ref
from tests.matrix.runner import expected_info
from tests.parallel import outcomes
from tests.strategies import EXTENTS, decompositions

EXAMPLES = settings(max_examples=60)


def config_of(decomposition: ref.Decomposition) -> cudecomp.GridDescConfig:
    order = cudecomp.RankOrder.COL_MAJOR if decomposition.col_major else cudecomp.RankOrder.ROW_MAJOR
    return cudecomp.GridDescConfig(
        gdims=decomposition.gdims,
        gdims_dist=decomposition.gdims_dist,
        pdims=decomposition.pdims,
        rank_order=order,
        transpose_mem_order=decomposition.mem_order,
    )


def assert_nothing_wrong(comm: MPI.Comm, problems: list[str]) -> None:
    """Fails on all ranks alike, so that hypothesis goes on in step on all of them."""
    text = outcomes(comm, "\n".join(problems[:3]) or None)
    assert text is None, text


@EXAMPLES
@given(data=st.data())
def test_pencils(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    decomposition = data.draw(decompositions(comm.size, largest=20))
    halo, padding = data.draw(EXTENTS), data.draw(EXTENTS)
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        for axis in range(3):
            expected = expected_info(decomposition.pencil(axis, comm.rank, halo, padding))
            info = grid.get_pencil_info(axis, halo, padding)
            seen = {name: getattr(info, name) for name in expected}
            if seen != expected:
                problems.append(f"axis {axis}: saw {seen}, expected {expected}")
            numbers = [n for value in seen.values() for n in (value if isinstance(value, tuple) else (value,))]
            if any(type(n) is not int for n in numbers):
                problems.append(f"axis {axis}: not all are Python ints: {seen}")
            if np.empty(info.shape).size != info.size:
                problems.append(f"axis {axis}: size is {info.size}, shape {info.shape}")
    assert_nothing_wrong(comm, problems)


@EXAMPLES
@given(data=st.data())
def test_reported_boxes_cover_the_grid_once(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """From what the library says alone: no reference involved."""
    decomposition = data.draw(decompositions(comm.size))
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        for axis in range(3):
            owners = np.zeros(decomposition.gdims, int)
            for info in comm.allgather(grid.get_pencil_info(axis)):
                box = [slice(0)] * 3
                for dim, low, high in zip(info.order, info.lo, info.hi, strict=True):
                    box[dim] = slice(low, high + 1)
                owners[tuple(box)] += 1
            if not (owners == 1).all():
                problems.append(f"axis {axis}: owners per cell {np.unique(owners)}")
    assert_nothing_wrong(comm, problems)


@EXAMPLES
@given(data=st.data())
def test_shifted_ranks(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    decomposition = data.draw(decompositions(comm.size))
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        for axis, dim, displacement, periodic in itertools.product(range(3), range(3), range(-9, 10), (False, True)):
            expected = decomposition.shifted_rank(axis, dim, displacement, periodic, comm.rank)
            seen = grid.get_shifted_rank(axis, dim, displacement, periodic)
            if (seen, type(seen)) != (expected, int):
                problems.append(f"shift {axis=} {dim=} {displacement=} {periodic=}: saw {seen!r}, expected {expected}")
    assert_nothing_wrong(comm, problems)


@EXAMPLES
@given(data=st.data())
def test_workspace_sizes(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """At least what packing needs: what a rank sends to others and receives from them."""
    decomposition = data.draw(decompositions(comm.size))
    halo = data.draw(EXTENTS)
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        size = grid.get_transpose_workspace_size()
        halo_sizes = [grid.get_halo_workspace_size(axis, halo) for axis in range(3)]
        if any(type(n) is not int or n < 0 for n in (size, *halo_sizes)):
            problems.append(f"sizes are {size!r} and {halo_sizes!r}, expected Python ints of at least 0")
        largest = max(decomposition.pencil(axis, comm.rank).size for axis in range(3))
        if decomposition.pdims != (1, 1) and size < largest:
            problems.append(f"transposes: saw {size} elements, expected at least {largest}")
        for axis, halo_size in enumerate(halo_sizes):
            extents = decomposition.pencil(axis, comm.rank, halo).extents
            faces = [
                2 * halo[dim] * int(np.prod(extents)) // max(extents[dim], 1)
                for dim in range(3)
                if (which := ref.SPLIT_BY[axis][dim]) is not None and decomposition.pdims[which] > 1
            ]
            if halo_size < max(faces, default=0):
                problems.append(f"halos of axis {axis}: saw {halo_size} elements, expected at least {max(faces)}")
    assert_nothing_wrong(comm, problems)


def test_environment_decides_the_default_rank_order(comm: MPI.Comm) -> None:
    from tests.parallel import environment

    for value, col_major in ((None, False), ("0", False), ("1", True)):
        with environment(CUDECOMP_USE_COL_MAJOR_RANK_ORDER=value), cudecomp.Handle(comm) as handle:
            for pdims in ref.factorisations(comm.size):
                expected = ref.Decomposition((8, 9, 10), pdims, col_major=col_major).pencil(0, comm.rank)
                with handle.create_grid(cudecomp.GridDescConfig(gdims=(8, 9, 10), pdims=pdims)) as grid:
                    info = grid.get_pencil_info(0)
                    assert info.lo == tuple(expected.lo[d] for d in info.order), (value, pdims)
