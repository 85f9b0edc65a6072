# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the arrays of a decomposition must hold, cell by cell, computed without the library."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from cudecomp import _geometry as geometry
from cudecomp._cli.arrays import HostArray

#: Cells are named by their place in the global grid, modulo a prime: exact in single precision.
_NAMES = 8388593
#: What halos and padding hold before anything has filled them; no name is negative.
POISON = -1


@dataclass(frozen=True)
class Decomposition:
    """A grid on a process grid, with the memory orders of the three layouts, fastest axis first."""

    gdims: tuple[int, int, int]
    pdims: tuple[int, int]
    orders: tuple[tuple[int, int, int], ...] = ((0, 1, 2),) * 3
    col_major: bool = False
    distributed: tuple[int, ...] | None = None  # what the split is computed on, if not the grid

    def pencil(
        self, axis: int, rank: int, halo: Sequence[int] = (0, 0, 0), padding: Sequence[int] = (0, 0, 0)
    ) -> "Pencil":
        place = geometry.place_of(rank, self.pdims, self.col_major)
        box = geometry.owned_box(axis, place, self.gdims, self.distributed or self.gdims, self.pdims)
        return Pencil(self.gdims, box, tuple(reversed(self.orders[axis])), tuple(halo), tuple(padding))

    def smallest(self, axis: int) -> tuple[int, ...]:
        """The fewest points that a rank has along X, Y, Z."""
        parts = [geometry.parts_of(axis, dim, self.pdims) for dim in range(3)]
        lengths = zip(self.gdims, self.distributed or self.gdims, parts, strict=True)
        return tuple(geometry.smallest_part(*entry) for entry in lengths)


@dataclass(frozen=True)
class Pencil:
    """The array of one rank: owned box along X, Y, Z, axes of the array, halo and padding along X, Y, Z."""

    gdims: tuple[int, int, int]
    box: tuple[range, range, range]
    axes: tuple[int, ...]
    halo: tuple[int, ...]
    padding: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(self.box[dim]) + 2 * self.halo[dim] + self.padding[dim] for dim in self.axes)

    def owned(self) -> npt.NDArray[np.bool_]:
        """Which cells of the array the rank owns."""
        return self._outer([self._owned_along(dim) for dim in range(3)])

    def values(
        self,
        dtype: npt.DTypeLike,
        run: int = 0,
        filled: Collection[int] = (),
        periods: Sequence[bool] = (False, False, False),
        rows: slice = slice(None),
    ) -> HostArray:
        """The array: names in owned cells and in halos that are filled, poison in all others.

        Args:
            dtype: Element type; in a complex one the imaginary part holds the next name, negative.
            run: Shifts the names, so that no two runs hold the same.
            filled: Dims along which halos have been updated.
            periods: Whether the grid is periodic along X, Y, Z.
            rows: Only this part of the first axis of the array.
        """
        positions = [self._positions(dim) for dim in range(3)]
        known = []
        for dim, where in enumerate(positions):
            owned = self._owned_along(dim)
            inside = (where >= 0) & (where < self.gdims[dim])
            halo = np.arange(len(where)) < len(self.box[dim]) + 2 * self.halo[dim]
            known.append(owned | (halo & (inside | periods[dim])) if dim in filled else owned)
        slowest = self.axes[0]
        positions[slowest], known[slowest] = positions[slowest][rows], known[slowest][rows]
        strides = (1, self.gdims[0], self.gdims[0] * self.gdims[1])
        terms = [where % n * stride for where, n, stride in zip(positions, self.gdims, strides, strict=True)]
        names = (self._outer(terms, np.add) + 7919 * run) % _NAMES
        return _typed(np.where(self._outer(known), names, POISON), dtype)

    def halo_cells(self, periods: Sequence[bool]) -> int:
        """How many cells of the halo a full update fills."""
        owned = filled = 1
        for dim, part in enumerate(self.box):
            ends = 2 if periods[dim] else (part.start > 0) + (part.stop < self.gdims[dim])
            owned *= len(part)
            filled *= len(part) + ends * self.halo[dim]
        return filled - owned

    def _positions(self, dim: int) -> npt.NDArray[np.int64]:
        """Global indices along a dim, of halos and padding too, beyond the grid where they are."""
        length = len(self.box[dim]) + 2 * self.halo[dim] + self.padding[dim]
        return self.box[dim].start - self.halo[dim] + np.arange(length, dtype=np.int64)

    def _owned_along(self, dim: int) -> npt.NDArray[np.bool_]:
        where = np.arange(len(self.box[dim]) + 2 * self.halo[dim] + self.padding[dim]) - self.halo[dim]
        return (where >= 0) & (where < len(self.box[dim]))

    def _outer(self, along: Sequence[HostArray], combine: np.ufunc = np.logical_and) -> HostArray:
        """Something known along X, Y and Z, combined for every cell of the array."""
        shapes = [[-1 if axis == dim else 1 for axis in self.axes] for dim in range(3)]
        return reduce(combine, [part.reshape(shape) for part, shape in zip(along, shapes, strict=True)])


def _typed(names: HostArray, dtype: npt.DTypeLike) -> HostArray:
    if np.dtype(dtype).kind == "c":
        return (names - 1j * (names + 1)).astype(dtype)
    return names.astype(dtype)


def difference(seen: HostArray, expected: HostArray) -> str | None:
    """Where two arrays differ first, in words; None if they do not."""
    if seen.shape != expected.shape:
        return f"the shape is {seen.shape}, expected {expected.shape}"
    wrong = np.argwhere(seen != expected)
    if not len(wrong):
        return None
    cell = tuple(map(int, wrong[0]))
    return f"cell {cell} is {seen[cell]}, expected {expected[cell]}; {len(wrong)} of {seen.size} cells are wrong"
