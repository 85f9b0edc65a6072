# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The matrix expands to what it claims to cover."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.matrix.cases import cases, pairwise, parse, select
from tests.matrix.table import table

RANKS = (1, 2, 3, 4, 6, 8)


@pytest.mark.parametrize("nranks", RANKS)
def test_all_pairs_of_levels_meet(nranks: int) -> None:
    every = cases(nranks)
    for kind, factors in table(nranks).items():
        rows = [case.levels for case in every if case.kind == kind]
        for (a, a_levels), (b, b_levels) in itertools.combinations(factors.items(), 2):
            met = {(row[a], row[b]) for row in rows}
            assert met == set(itertools.product(a_levels, b_levels)), (kind, a, b)


def test_pairwise_is_far_from_all_combinations() -> None:
    factors = {name: ["1", "2", "3"] for name in "abcdefgh"}
    assert 9 <= len(pairwise(factors, random.Random(1))) <= 30


def test_every_transpose_has_all_36_order_pairs() -> None:
    seen = {case["what"] for case in cases(4) if case.kind == "transpose"}
    assert len(seen) == 4 * (36 + 2)


def test_same_seed_same_cases() -> None:
    assert list(map(str, cases(4, 3))) == list(map(str, cases(4, 3)))
    assert list(map(str, cases(4, 3))) != list(map(str, cases(4, 4)))


def test_names_can_be_parsed() -> None:
    for case in cases(2):
        assert parse(str(case)) == case
    with pytest.raises(ValueError, match="not a case"):
        parse("transpose grid=8x8x8")


def test_filter() -> None:
    chosen = select(4, filter_terms="transpose|chain backend=MPI_A2A what=x_to_y/* grid=8x8x8|4x4x4")
    assert chosen
    for case in chosen:
        assert case.kind == "transpose"  # a chain has no factor "what"
        assert case["what"].startswith("x_to_y/")
        assert case["backend"] == "MPI_A2A"
        assert case["grid"] in ("8x8x8", "4x4x4")
    with pytest.raises(ValueError, match=r"unknown factor 'grids' in the filter; expected one of .*\bgrid\b"):
        select(4, filter_terms="grids=8x8x8")


def test_max_cases_samples_all_kinds() -> None:
    sample = select(4, max_cases=100)
    assert len(sample) == 100
    assert {case.kind for case in sample} == set(table(4))
