# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Who takes part in halo updates: periodic, the same width on all sides, dims 0, 1 and 2 in turn."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import cudecomp

from .measure import Participant
from .problem import CellNames, Problem

PERIODS = (True, True, True)


class Update(Participant):
    """An update of `array`, whose halos have `info.halo_extents`."""

    layout = "kept"

    def __init__(self, problem: Problem, info: cudecomp.PencilInfo, array: np.ndarray) -> None:
        self.array, self._info, self._names = array, info, CellNames(info, problem.gdims, problem.dtype)

    def check(self) -> bool:
        """Owned cells are named, all others poisoned; afterwards edges and corners are right too."""
        self._names.write_owned(self.array, owned(self._info))
        self.run()
        return self._names.match(self.array)


class OurUpdate(Update):
    def __init__(
        self,
        problem: Problem,
        handle: cudecomp.Handle,
        axis: int,
        width: int,
        backend: str,
        array: np.ndarray | None,
    ) -> None:
        """Without an array, over one from `GridDesc.empty`."""
        config = problem.config()
        config.halo_comm_backend = cudecomp.HaloCommBackend[backend]
        self._grid = handle.create_grid(config)
        self._extents = (width,) * 3
        self._call = getattr(self._grid, f"update_halos_{'xyz'[axis]}")
        self.name, self.arrays = f"cudecomp {backend}", "empty" if array is None else "numpy"
        if array is None:
            array = self._grid.empty(axis, problem.dtype, halo_extents=self._extents)
        super().__init__(problem, self._grid.get_pencil_info(axis, self._extents), array)

    def run(self) -> None:
        self._call(self.array, self._extents, PERIODS)

    def close(self) -> None:
        del self.array, self._call
        self._grid.destroy()


class Sendrecv(Update):
    """mpi4py: two Sendrecv for each dim, with subarray types."""

    name, arrays = "mpi4py Sendrecv", "numpy"

    def __init__(self, problem: Problem, info: cudecomp.PencilInfo, array: np.ndarray, axis: int) -> None:
        super().__init__(problem, info, array)
        row, column = divmod(problem.comm.rank, problem.pdims[1])
        rows, columns = problem.pdims
        # The dims that rows and columns of the process grid split: as X-, Y- and Z-pencils.
        by_row, by_column = ((1, 2), (0, 2), (0, 1))[axis]
        self._comm = problem.comm
        self._types: list[MPI.Datatype] = []
        self._exchanges = []
        for dim in range(3):
            low = high = problem.comm.rank
            if dim == by_row:
                low, high = ((row + step) % rows * columns + column for step in (-1, 1))
            elif dim == by_column:
                low, high = (row * columns + (column + step) % columns for step in (-1, 1))
            self._exchanges += self._of_dim(info, problem.dtype, dim, low, high)

    def _of_dim(self, info: cudecomp.PencilInfo, dtype: np.dtype, dim: int, low: int, high: int) -> list[tuple]:
        axis, width = info.order.index(dim), info.halo_extents[dim]
        length = info.shape[axis]

        def face(start: int) -> MPI.Datatype:
            shape, place = [*info.shape], [0, 0, 0]
            shape[axis], place[axis] = width, start
            created = MPI._typedict[dtype.char].Create_subarray([*info.shape], shape, place).Commit()
            self._types.append(created)
            return created

        return [
            (face(width), low, face(length - width), high),
            (face(length - 2 * width), high, face(0), low),
        ]

    def run(self) -> None:
        for sent, to, received, source in self._exchanges:
            self._comm.Sendrecv([self.array, 1, sent], to, 0, [self.array, 1, received], source, 0)

    def close(self) -> None:
        for datatype in self._types:
            datatype.Free()


def owned(info: cudecomp.PencilInfo) -> tuple[slice, slice, slice]:
    first, second, third = (
        slice(info.halo_extents[dim], length - info.halo_extents[dim])
        for dim, length in zip(info.order, info.shape, strict=True)
    )
    return first, second, third
