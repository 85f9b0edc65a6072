# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The sizes of parts, against the reference's splits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cudecomp._geometry import largest_part, smallest_part
from tests import reference as ref


@given(st.integers(1, 40), st.integers(1, 12), st.data())
def test_parts(points: int, parts: int, data: st.DataObject) -> None:
    distributed = data.draw(st.integers(1, points))
    owned = [stop - start for start, stop in ref.split(points, parts, distributed)]
    assert largest_part(points, distributed, parts) == max(owned)
    assert smallest_part(points, distributed, parts) == min(owned)
