# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What the library should compute, in NumPy, on whole global arrays.

Slow and simple on purpose, and shares no code with the library. Extents, halos and paddings are in X, Y, Z order;
local arrays are C-contiguous, so array axis ``i`` runs along global axis ``order[i]``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

ZERO = (0, 0, 0)
DTYPES = ("float32", "float64", "complex64", "complex128")
PERMUTATIONS = tuple(itertools.permutations(range(3)))

#: Per pencil axis: what splits X, Y and Z. 0 is the row index, 1 the column index of the process grid.
SPLIT_BY = ((None, 0, 1), (0, None, 1), (0, 1, None))

#: Transpose name: (input axis, output axis).
TRANSPOSES = {"x_to_y": (0, 1), "y_to_z": (1, 2), "z_to_y": (2, 1), "y_to_x": (1, 0)}


def split(n: int, parts: int, dist: int = 0) -> list[tuple[int, int]]:
    """The half-open ranges that `parts` ranks own of `n` points, split as `dist` points would be (0: `n`)."""
    dist = dist or n
    counts = [dist // parts + (1 if part < dist % parts else 0) for part in range(parts)]
    last_owner = max(part for part in range(parts) if counts[part] > 0)
    counts[last_owner] += n - dist
    ends = list(itertools.accumulate(counts))
    return [(end - count, end) for end, count in zip(ends, counts, strict=True)]


def factorisations(n: int) -> list[tuple[int, int]]:
    """All process grids of `n` ranks."""
    return [(rows, n // rows) for rows in range(1, n + 1) if n % rows == 0]


@dataclass(frozen=True)
class Pencil:
    """One rank's part of the grid. `lo` and `hi` are half-open and in X, Y, Z order."""

    lo: tuple[int, ...]
    hi: tuple[int, ...]
    order: tuple[int, ...]
    halo: tuple[int, ...] = ZERO
    padding: tuple[int, ...] = ZERO

    @property
    def owned(self) -> tuple[int, ...]:
        return tuple(hi - lo for lo, hi in zip(self.lo, self.hi, strict=True))

    @property
    def extents(self) -> tuple[int, ...]:
        """Local extents along X, Y, Z: halo, owned, halo, padding."""
        return tuple(n + 2 * h + p for n, h, p in zip(self.owned, self.halo, self.padding, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents[d] for d in self.order)

    @property
    def size(self) -> int:
        return int(np.prod(self.extents))

    def xyz(self, array: np.ndarray) -> np.ndarray:
        """A view of a local array with its axes in X, Y, Z order."""
        assert array.shape == self.shape
        return array.transpose([self.order.index(d) for d in range(3)])

    def owned_cells(self, array: np.ndarray) -> np.ndarray:
        """A view of the owned cells of a local array, axes in X, Y, Z order."""
        return self.xyz(array)[tuple(slice(h, h + n) for h, n in zip(self.halo, self.owned, strict=True))]

    def of_global(self, field: np.ndarray) -> np.ndarray:
        """The owned part of a global array."""
        return field[tuple(slice(lo, hi) for lo, hi in zip(self.lo, self.hi, strict=True))]

    def fill(self, array: np.ndarray, field: np.ndarray) -> np.ndarray:
        """Writes the owned cells of a local array from a global one, leaves the rest, and returns the array."""
        self.owned_cells(array)[...] = self.of_global(field)
        return array


@dataclass(frozen=True)
class Decomposition:
    """A grid over a process grid. `mem_order[axis]` lists global axes fastest first, as the configuration does."""

    gdims: tuple[int, int, int]
    pdims: tuple[int, int]
    gdims_dist: tuple[int, int, int] = ZERO
    col_major: bool = False
    mem_order: tuple[tuple[int, ...], ...] = ((0, 1, 2),) * 3

    @property
    def nranks(self) -> int:
        return self.pdims[0] * self.pdims[1]

    def coords(self, rank: int) -> tuple[int, int]:
        """Row and column of a rank."""
        rows, cols = self.pdims
        return (rank % rows, rank // rows) if self.col_major else (rank // cols, rank % cols)

    def rank_at(self, row: int, col: int) -> int:
        rows, cols = self.pdims
        return col * rows + row if self.col_major else row * cols + col

    def pencil(self, axis: int, rank: int, halo: tuple[int, ...] = ZERO, padding: tuple[int, ...] = ZERO) -> Pencil:
        coords = self.coords(rank)
        ranges = []
        for dim in range(3):
            which = SPLIT_BY[axis][dim]
            if which is None:
                ranges.append((0, self.gdims[dim]))
            else:
                ranges.append(split(self.gdims[dim], self.pdims[which], self.gdims_dist[dim])[coords[which]])
        order = tuple(reversed(self.mem_order[axis]))
        return Pencil(tuple(r[0] for r in ranges), tuple(r[1] for r in ranges), order, tuple(halo), tuple(padding))

    def pencils(self, axis: int, halo: tuple[int, ...] = ZERO, padding: tuple[int, ...] = ZERO) -> list[Pencil]:
        return [self.pencil(axis, rank, halo, padding) for rank in range(self.nranks)]

    def smallest_extents(self, axis: int) -> tuple[int, ...]:
        """Per global axis, the fewest points any rank owns in this layout."""
        return tuple(min(p.owned[dim] for p in self.pencils(axis)) for dim in range(3))

    def shifted_rank(self, axis: int, dim: int, displacement: int, periodic: bool, rank: int) -> int:
        """The rank some steps along `dim` away from `rank`; -1 where the grid ends."""
        which = SPLIT_BY[axis][dim]
        if displacement == 0:
            return rank
        if which is None:
            return rank if periodic else -1
        coords = list(self.coords(rank))
        coords[which] += displacement
        if periodic:
            coords[which] %= self.pdims[which]
        elif not 0 <= coords[which] < self.pdims[which]:
            return -1
        return self.rank_at(*coords)


def mem_order_of(contiguous: tuple[bool, bool, bool]) -> tuple[tuple[int, ...], ...]:
    """What `transpose_axis_contiguous` means as memory orders."""
    return tuple(tuple((axis + i) % 3 for i in range(3)) if contiguous[axis] else (0, 1, 2) for axis in range(3))


def cell_values(gdims: tuple[int, ...], dtype: str, run: int = 0) -> np.ndarray:
    """A global array whose values name their cell and the run. All are exact in float32 and above zero."""
    n = int(np.prod(gdims))
    assert (run + 1) * n < 2**22, "values would not be exact in float32"
    numbers = (np.arange(n) + 1 + run * n).reshape(gdims)
    if np.dtype(dtype).kind == "c":
        return (numbers - 1j * (numbers + 0.5)).astype(dtype)
    return numbers.astype(dtype)


def poison(n: int, dtype: str, rank: int, salt: int = 0) -> np.ndarray:
    """`n` values that are no cell's: below zero, different per rank, place and salt, exact in float32."""
    places = (np.arange(n) * 4 + salt % 4) % 2**17
    numbers = -(rank * 2**17 + places + 1.0)
    if np.dtype(dtype).kind == "c":
        return (numbers + 1j * (numbers - 0.25)).astype(dtype)
    return numbers.astype(dtype)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same bytes."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def update_halos(
    decomposition: Decomposition,
    axis: int,
    pencils: list[Pencil],
    arrays: list[np.ndarray],
    periods: tuple[bool, bool, bool],
    dim: int | None,
) -> None:
    """Updates the halos of all ranks' arrays in place, along one dim or along 0, 1, 2 in turn (None).

    A pencil without points has nothing but halo, which belongs to nobody: it neither gives nor gets.
    """
    for d in range(3) if dim is None else (dim,):
        before = [array.copy() for array in arrays]
        for rank, pencil in enumerate(pencils):
            h, n = pencil.halo[d], pencil.owned[d]
            if h == 0 or 0 in pencil.owned:
                continue
            low = decomposition.shifted_rank(axis, d, -1, periods[d], rank)
            high = decomposition.shifted_rank(axis, d, 1, periods[d], rank)
            if low >= 0:  # the last h owned layers of the neighbour below
                m = pencils[low].owned[d]
                _layers(pencil, arrays[rank], d, 0, h)[...] = _layers(pencils[low], before[low], d, m, m + h)
            if high >= 0:  # the first h owned layers of the neighbour above
                face = _layers(pencils[high], before[high], d, h, 2 * h)
                _layers(pencil, arrays[rank], d, h + n, h + n + h)[...] = face


def _layers(pencil: Pencil, array: np.ndarray, dim: int, start: int, stop: int) -> np.ndarray:
    """Layers start..stop along dim, counted from the low halo's edge: other dims with halo, without padding."""
    extent = [slice(0, n + 2 * h) for n, h in zip(pencil.owned, pencil.halo, strict=True)]
    extent[dim] = slice(start, stop)
    return pencil.xyz(array)[tuple(extent)]


class Guarded:
    """One allocation with guard words on both sides, poisoned throughout."""

    GUARD = 5

    def __init__(self, size: int, dtype: str, rank: int, salt: int = 0) -> None:
        self.memory = poison(size + 2 * self.GUARD, dtype, rank, salt)
        self.guard = self.GUARD
        self.size = size

    @classmethod
    def over(cls, array: np.ndarray, rank: int, salt: int = 0) -> Guarded:
        """The memory of an array that somebody else made, poisoned; there is no room for guard words."""
        self = cls.__new__(cls)
        self.memory = array.reshape(-1)
        self.memory[...] = poison(array.size, array.dtype.name, rank, salt)
        self.guard = 0
        self.size = array.size
        return self

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of `shape` at the start of the space between the guards."""
        n = int(np.prod(shape))
        assert n <= self.size
        return self.memory[self.guard : self.guard + n].reshape(shape)

    def copy(self) -> Guarded:
        other = Guarded.__new__(Guarded)
        other.memory, other.guard, other.size = self.memory.copy(), self.guard, self.size
        return other

    def difference(self, expected: Guarded) -> str | None:
        """None if all bytes agree, otherwise where the first difference is and what is there."""
        word = np.dtype(f"u{self.memory.real.dtype.itemsize}")
        per_element = self.memory.itemsize // word.itemsize
        seen = self.memory.view(word).reshape(-1, per_element)
        wanted = expected.memory.view(word).reshape(-1, per_element)
        wrong = np.flatnonzero((seen != wanted).any(axis=1))
        if wrong.size == 0:
            return None
        first = int(wrong[0])
        return (
            f"{wrong.size} of {self.memory.size} elements differ, first at element {first - self.guard} of {self.size} "
            f"(negative or beyond: guard words): saw {self.memory[first]}, expected {expected.memory[first]}"
        )
