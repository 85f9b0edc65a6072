# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The reference that the parallel tests trust is itself checked here, against properties and hand-counted examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudecomp import _geometry as geometry
from tests import reference as ref
from tests.strategies import decompositions


@given(n=st.integers(1, 200), parts=st.integers(1, 16), surplus=st.integers(0, 20))
def test_split_covers_everything_once(n: int, parts: int, surplus: int) -> None:
    ranges = ref.split(n + surplus, parts, n)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == n + surplus
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ranges))
    counts = [end - start for start, end in ranges]
    counts[max(i for i, count in enumerate(counts) if count)] -= surplus
    assert counts == sorted(counts, reverse=True)  # the first parts have the one more
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(
    ("n", "parts", "dist", "expected"),
    [
        (10, 4, 0, [(0, 3), (3, 6), (6, 8), (8, 10)]),
        (10, 4, 10, [(0, 3), (3, 6), (6, 8), (8, 10)]),
        (10, 4, 8, [(0, 2), (2, 4), (4, 6), (6, 10)]),
        (10, 4, 9, [(0, 3), (3, 5), (5, 7), (7, 10)]),
        (2, 4, 0, [(0, 1), (1, 2), (2, 2), (2, 2)]),
        (5, 4, 2, [(0, 1), (1, 5), (5, 5), (5, 5)]),
        (1, 1, 0, [(0, 1)]),
    ],
)
def test_split_counted_by_hand(n: int, parts: int, dist: int, expected: list[tuple[int, int]]) -> None:
    assert ref.split(n, parts, dist) == expected


@given(decompositions())
def test_boxes_cover_the_grid_once(decomposition: ref.Decomposition) -> None:
    for axis in range(3):
        owners = np.zeros(decomposition.gdims, int)
        for pencil in decomposition.pencils(axis):
            pencil.of_global(owners)[...] += 1
            assert pencil.lo[axis] == 0
            assert pencil.hi[axis] == decomposition.gdims[axis]
        assert (owners == 1).all()


@given(decompositions())
def test_ranks_and_coordinates_are_inverse(decomposition: ref.Decomposition) -> None:
    ranks = range(decomposition.nranks)
    assert [decomposition.rank_at(*decomposition.coords(rank)) for rank in ranks] == list(ranks)


@given(decompositions(), st.integers(-9, 9), st.integers(-9, 9))
def test_periodic_shifts_add_up(decomposition: ref.Decomposition, a: int, b: int) -> None:
    for axis, dim, rank in itertools.product(range(3), range(3), range(decomposition.nranks)):
        there = decomposition.shifted_rank(axis, dim, a, True, rank)
        assert decomposition.shifted_rank(axis, dim, b, True, there) == decomposition.shifted_rank(
            axis, dim, a + b, True, rank
        )


def test_rank_orders() -> None:
    row_major = ref.Decomposition((8, 8, 8), (2, 3))
    col_major = ref.Decomposition((8, 8, 8), (2, 3), col_major=True)
    assert [row_major.coords(r) for r in range(6)] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert [col_major.coords(r) for r in range(6)] == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]


def test_pencil_counted_by_hand() -> None:
    decomposition = ref.Decomposition((9, 10, 11), (2, 3), mem_order=((0, 1, 2), (1, 2, 0), (2, 1, 0)))
    pencil = decomposition.pencil(1, rank=4, halo=(1, 0, 2), padding=(0, 0, 3))  # row 1, column 1
    assert (pencil.lo, pencil.hi) == ((5, 0, 4), (9, 10, 8))  # 9 = 5 + 4 over rows, 11 = 4 + 4 + 3 over columns
    assert pencil.order == (0, 2, 1)  # slowest first
    assert pencil.shape == (4 + 2, 4 + 4 + 3, 10)
    array = pencil.fill(np.zeros(pencil.shape), ref.cell_values(decomposition.gdims, "float64"))
    # X 5, Y 7, Z 6 is cell 5 * 110 + 7 * 11 + 6; values start at 1
    assert array[1 + 0, 2 + 2, 7] == 5 * 110 + 7 * 11 + 6 + 1
    assert np.count_nonzero(array) == 4 * 10 * 4


@given(decompositions(), st.tuples(*[st.booleans()] * 3), st.permutations(range(3)), st.integers(0, 2))
def test_halo_updates_agree_with_the_grid(
    decomposition: ref.Decomposition, periods: tuple[bool, bool, bool], wanted: list[int], axis: int
) -> None:
    """Halo cells hold what the grid has at their wrapped index; beyond an end of the grid nothing is written."""
    smallest = decomposition.smallest_extents(axis)
    halo = tuple(min(w, s) for w, s in zip(wanted, smallest, strict=True))
    pencils = decomposition.pencils(axis, halo, padding=(1, 0, 2))
    field = ref.cell_values(decomposition.gdims, "float64")
    arrays = [p.fill(np.full(p.shape, -1.0), field) for p in pencils]
    ref.update_halos(decomposition, axis, pencils, arrays, periods, None)
    for pencil, array in zip(pencils, arrays, strict=True):
        expected = np.full(pencil.extents, -1.0)
        indices = [np.arange(pencil.lo[d] - halo[d], pencil.hi[d] + halo[d]) for d in range(3)]
        inside = np.ones(1, bool)
        for d, n in enumerate(decomposition.gdims):
            line = np.full_like(indices[d], periods[d], bool) | ((indices[d] >= 0) & (indices[d] < n))
            inside = inside & line.reshape([-1 if i == d else 1 for i in range(3)])
            indices[d] %= n
        core = tuple(slice(0, len(cells)) for cells in indices)
        expected[core] = np.where(inside, field[np.ix_(*indices)], -1.0)
        assert (pencil.xyz(array) == expected).all()


@pytest.mark.parametrize("dtype", ref.DTYPES)
def test_values_name_their_cell_exactly(dtype: str) -> None:
    runs = [ref.cell_values((7, 5, 13), dtype, run) for run in range(2)]
    values = np.concatenate([run.ravel() for run in runs])
    assert values.dtype == dtype
    assert len(set(values.tolist())) == values.size
    assert values[3] == (4 - 4.5j if np.dtype(dtype).kind == "c" else 4)
    poisons = np.concatenate([ref.poison(500, dtype, rank, salt) for rank in range(8) for salt in range(4)])
    assert len(set(poisons.tolist())) == poisons.size
    assert (values.real > 0).all()
    assert (poisons.real < 0).all()


@pytest.mark.parametrize("dtype", ref.DTYPES)
@pytest.mark.parametrize("where", [0, 4, 5, 24, 25, 29])
def test_guarded_memory_notices_every_change(dtype: str, where: int) -> None:
    space = ref.Guarded(20, dtype, rank=0)
    before = space.copy()
    assert space.difference(before) is None
    space.memory[where] = np.nextafter(space.memory[where].real, 0)
    assert f"1 of 30 elements differ, first at element {where - 5} of 20" in str(space.difference(before))


def test_guarded_memory_tells_zeros_apart() -> None:
    space = ref.Guarded(2, "float64", rank=0)
    space.array((2,))[...] = 0.0
    before = space.copy()
    space.array((2,))[1] = -0.0
    assert "first at element 1" in str(space.difference(before))


@given(data=st.data())
def test_geometry_of_the_package_is_that_of_the_reference(data: st.DataObject) -> None:
    """What the command line draws and checks with, which takes no library and no MPI."""
    decomposition = data.draw(decompositions(6))
    gdims, pdims, col_major = decomposition.gdims, decomposition.pdims, decomposition.col_major
    distributed = decomposition.gdims_dist if any(decomposition.gdims_dist) else gdims
    for axis, rank in itertools.product(range(3), range(6)):
        pencil = decomposition.pencil(axis, rank)
        box = geometry.owned_box(axis, geometry.place_of(rank, pdims, col_major), gdims, distributed, pdims)
        assert geometry.rank_of(geometry.place_of(rank, pdims, col_major), pdims, col_major) == rank
        assert [part.start for part in box] == list(pencil.lo)
        assert [part.stop for part in box] == list(pencil.hi)
        order = geometry.memory_order(axis, (False,) * 3, decomposition.mem_order)
        assert tuple(reversed(order)) == pencil.order


@pytest.mark.parametrize("contiguous", list(itertools.product([False, True], repeat=3)))
def test_memory_orders_of_the_package(contiguous: tuple[bool, bool, bool]) -> None:
    unset = ((-1,) * 3,) * 3
    orders = tuple(geometry.memory_order(axis, contiguous, unset) for axis in range(3))
    assert orders == ref.mem_order_of(contiguous)


def test_process_grids() -> None:
    assert geometry.process_grids(6) == [(1, 6), (2, 3), (3, 2), (6, 1)]
    assert [geometry.squarest(ranks) for ranks in (1, 2, 6, 7, 16, 24)] == [
        (1, 1),
        (1, 2),
        (2, 3),
        (1, 7),
        (4, 4),
        (4, 6),
    ]
