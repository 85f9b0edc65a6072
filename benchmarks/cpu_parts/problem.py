# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What is to be moved, the arrays it is moved between, and whether it arrived."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

import cudecomp

LAYOUTS = ("kept", "permuting")
# The cycle X -> Y -> Z -> Y -> X: the axes of the pencils that each step reads and writes.
STEPS = ((0, 1), (1, 2), (2, 1), (1, 0))


@dataclass(frozen=True)
class Problem:
    """One global grid on one process grid."""

    comm: MPI.Intracomm
    gdims: tuple[int, int, int]
    pdims: tuple[int, int]
    dtype: np.dtype

    def config(self, layout: str = "kept") -> cudecomp.GridDescConfig:
        """Order kept: x is the fastest axis of every pencil. Permuting: a pencil's own axis is the fastest."""
        return cudecomp.GridDescConfig(
            gdims=self.gdims, pdims=self.pdims, transpose_axis_contiguous=(layout == "permuting",) * 3
        )

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.gdims))
        return f"{sizes} {self.dtype}, {self.comm.size} ranks as {self.pdims[0]}x{self.pdims[1]}"


def factorisations(ranks: int) -> list[tuple[int, int]]:
    return [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]


class Buffers:
    """Three private NumPy buffers, one for each pencil, which all participants use in turn."""

    def __init__(self, infos: Sequence[cudecomp.PencilInfo], dtype: np.dtype) -> None:
        self._flat = [np.empty(info.size, dtype) for info in infos]

    def arrays(self, infos: Sequence[cudecomp.PencilInfo], least: int = 0) -> list[np.ndarray]:
        """The buffers in the pencils' shapes; larger ones where a peer asks for at least that many elements."""
        self._flat = [flat if flat.size >= least else np.empty(least, flat.dtype) for flat in self._flat]
        return [flat[: info.size].reshape(info.shape) for flat, info in zip(self._flat, infos, strict=True)]


class CellNames:
    """The values of a pencil whose every cell names its place in the global grid, halos wrapped around."""

    def __init__(self, info: cudecomp.PencilInfo, gdims: Sequence[int], dtype: np.dtype) -> None:
        self.shape, self.dtype = info.shape, np.dtype(dtype)
        strides = (1, gdims[0], gdims[0] * gdims[1])
        self._terms = []
        for axis, (length, low) in enumerate(zip(info.shape, info.lo, strict=True)):
            dim = info.order[axis]
            places = (low - info.halo_extents[dim] + np.arange(length)) % gdims[dim]
            self._terms.append(places * strides[dim])
        # Names stay exact in the dtype; they repeat only where single precision cannot tell all cells apart.
        self._modulus = 2**23 if self.dtype.itemsize // (1 + (self.dtype.kind == "c")) == 4 else 2**52

    def _plane(self, index: int) -> np.ndarray:
        first, second, third = self._terms
        names = (first[index] + second[:, None] + third[None, :]) % self._modulus
        return (names - 1j * (names + 1) if self.dtype.kind == "c" else names).astype(self.dtype)

    def write(self, array: np.ndarray) -> None:
        for index in range(self.shape[0]):
            array[index] = self._plane(index)

    def write_owned(self, array: np.ndarray, owned: tuple[slice, slice, slice]) -> None:
        """Names in the owned cells, NaN in the halos."""
        array.fill(np.nan)
        for index in range(*owned[0].indices(self.shape[0])):
            array[index][owned[1:]] = self._plane(index)[owned[1:]]

    def match(self, array: np.ndarray) -> bool:
        return all(np.array_equal(array[index], self._plane(index)) for index in range(self.shape[0]))
