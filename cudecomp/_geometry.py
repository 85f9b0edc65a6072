# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How a decomposition cuts the axes, as far as this package must know it before it calls the library."""

from collections.abc import Sequence


def smallest_part(points: int, distributed: int, parts: int) -> int:
    """The fewest points that a part of an axis owns.

    The split is computed on the `distributed` points: as even as possible, the first parts one larger. The surplus,
    ``points - distributed``, goes to the last part that owns points.
    """
    each, larger = divmod(distributed, parts)
    if each == 0:
        return 0 if larger < parts else 1
    last = each + points - distributed
    others = [each + 1] * (larger > 0) + [each] * (parts - larger > 1)
    return min([last, *others])


def parts_of(axis: int, dim: int, pdims: Sequence[int]) -> int:
    """How many parts `dim` is cut into in the pencils along `axis`."""
    if dim == axis:
        return 1
    over_rows = 1 if axis == 0 else 0
    return pdims[0] if dim == over_rows else pdims[1]
