# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How a decomposition cuts the axes, as far as this package must know it before it calls the library."""

from collections.abc import Sequence


def split_points(gdims: Sequence[int], gdims_dist: Sequence[int]) -> Sequence[int]:
    """The points that the splits are computed on, along X, Y, Z: `gdims_dist` where it is set, else all."""
    return gdims_dist if any(gdims_dist) else gdims


def smallest_part(points: int, distributed: int, parts: int) -> int:
    """The fewest points that a part of an axis owns."""
    return min(_sizes_of_parts(points, distributed, parts))


def largest_part(points: int, distributed: int, parts: int) -> int:
    """The most points that a part of an axis owns."""
    return max(_sizes_of_parts(points, distributed, parts))


def _sizes_of_parts(points: int, distributed: int, parts: int) -> list[int]:
    """Every size that occurs, whatever the number of parts.

    Sizes change after the larger ones at the beginning, and at the last part with points, which has the surplus.
    """
    _, larger = divmod(distributed, parts)
    telling = {0, min(larger, parts - 1), min(parts, distributed) - 1, parts - 1}
    return [len(part_of(points, distributed, parts, part)) for part in telling]


def halo_elements(largest: Sequence[int], halo: Sequence[int]) -> int:
    """The elements of workspace that a halo update needs on the rank with the largest pencil.

    `largest` are the most points that a rank owns along X, Y, Z. Four faces, sent and received on both sides, each on a
    boundary of 256 bytes in elements of 4.
    """
    shape = [points + 2 * depth for points, depth in zip(largest, halo, strict=True)]
    faces = (shape[(dim + 1) % 3] * shape[(dim + 2) % 3] * halo[dim] for dim in range(3))
    return 4 * max(-(-face // 64) * 64 for face in faces)


def parts_of(axis: int, dim: int, pdims: Sequence[int]) -> int:
    """How many parts `dim` is cut into in the pencils along `axis`."""
    if dim == axis:
        return 1
    over_rows = 1 if axis == 0 else 0
    return pdims[0] if dim == over_rows else pdims[1]


def part_of(points: int, distributed: int, parts: int, part: int) -> range:
    """The global indices that one part of an axis owns; it may be empty.

    The split is computed on the `distributed` points: as even as possible, the first parts one larger. The surplus,
    ``points - distributed``, goes to the last part that owns points.
    """
    each, larger = divmod(distributed, parts)
    start = part * each + min(part, larger)
    stop = start + each + (part < larger)
    last = min(parts, distributed) - 1
    surplus = points - distributed
    return range(start + surplus * (part > last), stop + surplus * (part >= last))


def place_of(rank: int, pdims: Sequence[int], col_major: bool) -> tuple[int, int]:
    """Row and column of a rank on the process grid."""
    rows, cols = pdims
    if col_major:
        col, row = divmod(rank, rows)
    else:
        row, col = divmod(rank, cols)
    return row, col


def rank_of(place: tuple[int, int], pdims: Sequence[int], col_major: bool) -> int:
    """The rank at a (row, column) of the process grid."""
    rows, cols = pdims
    row, col = place
    return col * rows + row if col_major else row * cols + col


def owned_box(
    axis: int, place: tuple[int, int], gdims: Sequence[int], distributed: Sequence[int], pdims: Sequence[int]
) -> tuple[range, range, range]:
    """What the rank at a (row, column) owns in the pencils along `axis`, as global indices along X, Y, Z."""
    over_rows = 1 if axis == 0 else 0
    box = []
    for dim in range(3):
        part = 0 if dim == axis else place[0] if dim == over_rows else place[1]
        box.append(part_of(gdims[dim], distributed[dim], parts_of(axis, dim, pdims), part))
    return box[0], box[1], box[2]


def memory_order(axis: int, contiguous: Sequence[bool], explicit: Sequence[Sequence[int]]) -> tuple[int, int, int]:
    """Global axes of the pencils along `axis`, fastest first; `explicit` wins unless it is unset, all -1."""
    if any(entry != -1 for order in explicit for entry in order):
        first, second, third = explicit[axis]
        return first, second, third
    return (axis, (axis + 1) % 3, (axis + 2) % 3) if contiguous[axis] else (0, 1, 2)


def process_grids(ranks: int) -> list[tuple[int, int]]:
    """All process grids (rows, columns) of that many ranks, by rows."""
    return [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]


def squarest(ranks: int) -> tuple[int, int]:
    """The process grid closest to a square; where two are, the one with fewer rows."""
    return min(process_grids(ranks), key=lambda pdims: (abs(pdims[0] - pdims[1]), pdims[0]))
