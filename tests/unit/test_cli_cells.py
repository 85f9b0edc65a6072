# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the self-test of the command line expects in arrays is what the reference of the tests expects."""

import itertools

import numpy as np
import pytest

from cudecomp._cli.cells import POISON, Decomposition, difference
from cudecomp._cli.selftest import ORDERS, decomposition
from tests import reference as ref

PERIODS = [(False, False, False), (True, True, True), (True, False, True)]


def reference_of(dec):
    return ref.Decomposition(dec.gdims, dec.pdims, (0, 0, 0), dec.col_major, dec.orders)


def names_of(dec):
    """The global field, indexed by X, Y, Z, with the names that `Pencil.values` gives."""
    x, y, z = np.indices(dec.gdims)
    return ((x + dec.gdims[0] * (y + dec.gdims[1] * z)) % 8388593).astype(np.float64)


@pytest.mark.parametrize("pdims", [(1, 1), (2, 3), (4, 1)])
@pytest.mark.parametrize("order", ORDERS)
def test_pencils_and_halos(pdims, order):
    dec = decomposition(pdims, ORDERS[order], col_major=pdims == (2, 3))
    reference, field = reference_of(dec), names_of(dec)
    halo, padding = (1, 2, 1), (0, 2, 1)
    for axis, periods, dim in itertools.product(range(3), PERIODS, (None, 0, 2)):
        theirs = reference.pencils(axis, halo, padding)
        arrays = [pencil.fill(np.full(pencil.shape, float(POISON)), field) for pencil in theirs]
        before = [array.copy() for array in arrays]
        ref.update_halos(reference, axis, theirs, arrays, periods, dim)
        for rank, pencil in enumerate(theirs):
            ours = dec.pencil(axis, rank, halo, padding)
            assert ours.shape == pencil.shape
            assert np.array_equal(ours.values("float64"), before[rank])
            filled = range(3) if dim is None else (dim,)
            assert np.array_equal(ours.values("float64", 0, filled, periods), arrays[rank])
            owned = np.zeros(pencil.shape, bool)
            pencil.owned_cells(owned)[...] = True
            assert np.array_equal(ours.owned(), owned)


def test_names_are_exact_and_change_from_run_to_run():
    pencil = Decomposition((300, 300, 300), (1, 1)).pencil(0, 0)
    single, double = pencil.values("float32", 3), pencil.values("float64", 3)
    assert np.array_equal(single.astype("float64"), double)
    assert not np.array_equal(pencil.values("float64", 4), double)
    complex_values = Decomposition((3, 3, 3), (1, 1)).pencil(0, 0, (1, 1, 1)).values("complex64")
    assert complex_values.dtype == "complex64"
    assert complex_values[1, 1, 2] == 1 - 2j
    assert complex_values[0, 0, 0] == POISON


@pytest.mark.parametrize("ranks", [(1, 1), (1, 7), (7, 1), (8, 16)])
def test_grids_of_the_self_test_have_two_points_for_each_rank(ranks):
    dec = decomposition(ranks)
    assert all(min(dec.smallest(axis)) >= 2 for axis in range(3))


def test_difference():
    seen = np.zeros((2, 3, 4))
    assert difference(seen, seen.copy()) is None
    other = seen.copy()
    other[1, 2, 0] = other[1, 2, 1] = 5
    assert difference(seen, other) == "cell (1, 2, 0) is 0.0, expected 5.0; 2 of 24 cells are wrong"
    assert difference(seen, np.zeros((2, 3))) == "the shape is (2, 3, 4), expected (2, 3)"
