# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""hypothesis strategies for decompositions."""

from __future__ import annotations

from hypothesis import strategies as st

from tests import reference as ref

MEM_ORDERS = st.tuples(*[st.sampled_from(ref.PERMUTATIONS)] * 3)


@st.composite
def decompositions(draw: st.DrawFn, nranks: int | None = None, largest: int = 9) -> ref.Decomposition:
    """Decompositions of small grids, empty pencils and uneven distributions included."""
    n = draw(st.integers(1, 8)) if nranks is None else nranks
    gdims = draw(st.tuples(*[st.integers(1, largest)] * 3))
    dist = tuple(draw(st.integers(1, g)) for g in gdims) if draw(st.booleans()) else ref.ZERO
    return ref.Decomposition(
        gdims, draw(st.sampled_from(ref.factorisations(n))), dist, draw(st.booleans()), draw(MEM_ORDERS)
    )


EXTENTS = st.tuples(*[st.integers(0, 3)] * 3)
