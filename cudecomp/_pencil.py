# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What a rank holds of the grid in one pencil layout."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PencilInfo:
    """The part of the global grid that one rank holds in X-, Y- or Z-pencils.

    `shape`, `lo`, `hi` and `order` are in *array-axis* order, slowest axis first, so that ``np.empty(info.shape)`` is
    the local array as it stands. The C struct lists the same numbers the other way round. `halo_extents` and `padding`
    are in X, Y, Z order. Everything is a Python int or a tuple of them; instances are immutable, hashable and
    picklable.

    Attributes:
        shape: Extents of the local array in elements, halo and padding included.
        lo: First global index that this rank owns along each array axis; halo and padding are not counted.
        hi: Last global index (inclusive) that this rank owns along each array axis; ``lo - 1`` where it owns none.
        order: Global axis (0 for X, 1 for Y, 2 for Z) that each array axis runs along.
        halo_extents: Halo layers on either side along X, Y, Z.
        padding: Unused layers at the high end along X, Y, Z.
        size: Elements of the local array, the product of `shape`.

    The owned cells of the local array, and where they lie in a global array that is indexed ``[x, y, z]``, as slices:
    `interior` and `global_slices` in array-axis order, `global_slices_xyz` in X, Y, Z order. Each of these moves the
    same cells::

        local[info.interior] = whole[info.global_slices_xyz].transpose(info.order)
        local[info.interior] = whole.transpose(info.order)[info.global_slices]

    Example:
        >>> info = PencilInfo((8, 4, 6), (0, 4, 0), (7, 7, 3), (2, 1, 0), (1, 0, 0), (0, 0, 0), 192)
        >>> [f"{'XYZ'[axis]}: {low}..{high}" for axis, low, high in zip(info.order, info.lo, info.hi)]
        ['Z: 0..7', 'Y: 4..7', 'X: 0..3']
        >>> info.interior
        (slice(0, 8, None), slice(0, 4, None), slice(1, 5, None))
        >>> info.global_slices_xyz
        (slice(0, 4, None), slice(4, 8, None), slice(0, 8, None))

    See also:
        ``cudecompPencilInfo_t``, and `GridDesc.get_pencil_info`, which returns it.
    """

    shape: tuple[int, int, int]
    lo: tuple[int, int, int]
    hi: tuple[int, int, int]
    order: tuple[int, int, int]
    halo_extents: tuple[int, int, int]
    padding: tuple[int, int, int]
    size: int

    @property
    def interior(self) -> tuple[slice, slice, slice]:
        """The owned cells of the local array, without halo and padding: slices in array-axis order."""
        first = [self.halo_extents[axis] for axis in self.order]
        a, b, c = (
            slice(start, start + high + 1 - low) for start, low, high in zip(first, self.lo, self.hi, strict=True)
        )
        return a, b, c

    @property
    def global_slices(self) -> tuple[slice, slice, slice]:
        """The owned part of the grid: half-open slices of global indices, in array-axis order."""
        a, b, c = (slice(low, high + 1) for low, high in zip(self.lo, self.hi, strict=True))
        return a, b, c

    @property
    def global_slices_xyz(self) -> tuple[slice, slice, slice]:
        """The owned part of the grid: half-open slices of global indices, in X, Y, Z order."""
        x, y, z = (self.global_slices[self.order.index(axis)] for axis in range(3))
        return x, y, z
