# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Who takes part in the cycle X -> Y -> Z -> Y -> X, each behind the same four steps."""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from mpi4py import MPI

import cudecomp

from .measure import Participant, interleaved
from .problem import STEPS, Buffers, CellNames, Problem
from .streaming import StreamingCopy

DTFFT_BACKENDS = (
    "MPI_DATATYPE MPI_P2P MPI_P2P_PIPELINED MPI_P2P_SCHEDULED MPI_P2P_FUSED MPI_A2A MPI_RMA MPI_RMA_PIPELINED "
    "MPI_RMA_FUSED"
).split()


class Cycle(Participant):
    """Four steps between three arrays, `pencils`, of the shapes in `infos`."""

    def __init__(self, problem: Problem, infos: Sequence[cudecomp.PencilInfo], pencils: list[np.ndarray]) -> None:
        self.problem, self.infos, self.pencils = problem, infos, pencils

    @abstractmethod
    def step(self, index: int) -> None:
        """Step `index` of STEPS."""

    def run(self) -> None:
        for index in range(len(STEPS)):
            self.step(index)

    def check(self) -> bool:
        """Every step out of a right pencil into a poisoned one."""
        names = [CellNames(info, self.problem.gdims, self.problem.dtype) for info in self.infos]
        right = True
        names[0].write(self.pencils[0])
        for index, (_, target) in enumerate(STEPS):
            self.pencils[target].fill(np.nan)
            self.step(index)
            right = names[target].match(self.pencils[target]) and right
        return right


class Ours(Cycle):
    name = "cudecomp"

    def __init__(self, problem: Problem, handle: cudecomp.Handle, layout: str, backend: str, buffers: Buffers | None):
        """Without buffers, over arrays from `GridDesc.empty`."""
        config = problem.config(layout)
        config.transpose_comm_backend = cudecomp.TransposeCommBackend[backend]
        self._grid = handle.create_grid(config)
        infos = [self._grid.get_pencil_info(axis) for axis in range(3)]
        pencils = buffers.arrays(infos) if buffers else [self._grid.empty(axis, problem.dtype) for axis in range(3)]
        super().__init__(problem, infos, pencils)
        self.name, self.layout, self.arrays = f"cudecomp {backend}", layout, "numpy" if buffers else "empty"
        grid = self._grid
        self._calls = (grid.transpose_x_to_y, grid.transpose_y_to_z, grid.transpose_z_to_y, grid.transpose_y_to_x)

    def step(self, index: int) -> None:
        source, target = STEPS[index]
        self._calls[index](self.pencils[source], self.pencils[target])

    def close(self) -> None:
        self.pencils = []
        self._calls = ()
        self._grid.destroy()


class CopyLimit(Cycle):
    """As many bytes as the cycle moves, copied on all ranks at once; no communication."""

    def __init__(
        self,
        problem: Problem,
        infos: Sequence[cudecomp.PencilInfo],
        buffers: Buffers,
        name: str,
        copy: StreamingCopy | Callable[[np.ndarray, np.ndarray], None],
    ) -> None:
        super().__init__(problem, infos, buffers.arrays(infos))
        self.name, self._copy = name, copy

    def step(self, index: int) -> None:
        source, target = STEPS[index]
        self._copy(self.pencils[target], self.pencils[source])

    def check(self) -> bool:
        right = True
        for source, target in STEPS:
            start, end = self.pencils[source], self.pencils[target]
            CellNames(self.infos[source], self.problem.gdims, self.problem.dtype).write(start)
            end.fill(np.nan)
            self._copy(end, start)
            count = min(start.size, end.size)
            right = np.array_equal(start.reshape(-1)[:count], end.reshape(-1)[:count]) and right
        return right


class Mpi4pyFft(Cycle):
    """mpi4py-fft's redistribution, without transforms: one Alltoallw of subarray types. Keeps the order of axes."""

    name, layout, arrays = "mpi4py-fft", "kept", "numpy"

    def __init__(self, problem: Problem, infos: Sequence[cudecomp.PencilInfo], buffers: Buffers) -> None:
        from mpi4py_fft.pencil import Pencil

        super().__init__(problem, infos, buffers.arrays(infos))
        self._groups = groups(problem)
        column, row = self._groups
        shape = problem.gdims[::-1]
        x = Pencil((row, column, MPI.COMM_SELF), shape, 2)
        y = x.pencil(1)
        z = y.pencil(0)
        self._x_y, self._y_z = x.transfer(y, problem.dtype), y.transfer(z, problem.dtype)

    def step(self, index: int) -> None:
        x, y, z = self.pencils
        if index == 0:
            self._x_y.forward(x, y)
        elif index == 1:
            self._y_z.forward(y, z)
        elif index == 2:
            self._y_z.backward(z, y)
        else:
            self._x_y.backward(y, x)

    def close(self) -> None:
        self._x_y.destroy()
        self._y_z.destroy()
        for group in self._groups:
            group.Free()


class HandWritten(Cycle):
    """What one writes with mpi4py and NumPy: blocks for each peer, Alltoallv, blocks into place."""

    name, arrays = "mpi4py + NumPy", "numpy"

    def __init__(self, problem: Problem, infos: Sequence[cudecomp.PencilInfo], buffers: Buffers, layout: str) -> None:
        super().__init__(problem, infos, buffers.arrays(infos))
        self.layout = layout
        self._groups = groups(problem)
        self._receive = np.empty(max(info.size for info in infos), problem.dtype)
        self._send = np.empty_like(self._receive) if layout == "kept" else self._receive[:0]
        self._steps = [self._plan(source, target) for source, target in STEPS]

    def _plan(self, source: int, target: int) -> Callable[[], None]:
        group = self._groups[1 if 2 in (source, target) else 0]
        here, there = self.infos[source], self.infos[target]
        array, out = self.pencils[source], self.pencils[target]
        # A source has all of its own dim and gives parts of it; the target comes to have all of its own.
        given = group.allgather(extent(there, source))
        taken = group.allgather(extent(here, target))
        send = [here.size // extent(here, source) * count for count in given]
        receive = [there.size // extent(there, target) * count for count in taken]
        datatype = MPI._typedict[self.problem.dtype.char]
        received = [self._receive, receive, starts(receive), datatype]

        if self.layout == "kept":
            packed = list(here.order)
            blocks = [array[along(here.order.index(source), part)] for part in parts(given)]
            slots = [self._send[slot].reshape(block.shape) for slot, block in zip(parts(send), blocks, strict=True)]
        else:  # transposed so that the dim to be split comes first, each peer's block lies in one piece
            packed = [source, *(dim for dim in there.order if dim != source)]
            turned = array.transpose([here.order.index(dim) for dim in packed])

        def pack() -> np.ndarray:
            if self.layout == "permuting":
                return np.ascontiguousarray(turned)
            for slot, block in zip(slots, blocks, strict=True):
                np.copyto(slot, block)
            return self._send

        back = [packed.index(dim) for dim in there.order]
        places = [out[along(there.order.index(target), part)] for part in parts(taken)]
        arrived = [
            self._receive[slot].reshape([count if dim == target else extent(there, dim) for dim in packed])
            for slot, count in zip(parts(receive), taken, strict=True)
        ]

        def run() -> None:
            group.Alltoallv([pack(), send, starts(send), datatype], received)
            for place, block in zip(places, arrived, strict=True):
                np.copyto(place, block.transpose(back))

        return run

    def step(self, index: int) -> None:
        self._steps[index]()

    def close(self) -> None:
        self._steps = []
        for group in self._groups:
            group.Free()


class DtFft(Cycle):
    """dtFFT's transposes, without transforms. They turn a pencil's own axis to the fastest."""

    layout, arrays = "permuting", "numpy"

    def __init__(
        self, problem: Problem, infos: Sequence[cudecomp.PencilInfo], buffers: Buffers, backend: str, aux: np.ndarray
    ) -> None:
        import dtfft

        self.name, self.problem = f"dtFFT {backend}", problem
        x = infos[0]
        pencil = dtfft.Pencil(list(x.lo[::-1]), list(x.shape[::-1]))
        scalar = problem.dtype.itemsize // (2 if problem.dtype.kind == "c" else 1)
        kind = dtfft.PlanC2C if problem.dtype.kind == "c" else dtfft.PlanR2R
        with quiet():
            self._plan = kind(
                pencil,
                comm=problem.comm,
                precision=dtfft.Precision.SINGLE if scalar == 4 else dtfft.Precision.DOUBLE,
                effort=dtfft.Effort.ESTIMATE,
                executor=dtfft.Executor.NONE,
                config=dtfft.Config(
                    backend=dtfft.Backend[backend],
                    enable_z_slab=False,
                    enable_y_slab=False,
                ),
            )
        self._same_split(infos)
        super().__init__(problem, infos, buffers.arrays(infos, least=self._plan.alloc_size))
        self._directions = [
            dtfft.Transpose.X_TO_Y,
            dtfft.Transpose.Y_TO_Z,
            dtfft.Transpose.Z_TO_Y,
            dtfft.Transpose.Y_TO_X,
        ]
        if aux.size < self._plan.aux_size_transpose:
            aux.resize(self._plan.aux_size_transpose, refcheck=False)
        self._aux = aux

    def _same_split(self, infos: Sequence[cudecomp.PencilInfo]) -> None:
        """Where a grid does not divide evenly, dtFFT may split it otherwise; then there is nothing to compare."""
        import dtfft

        layouts = (dtfft.Layout.X_PENCILS, dtfft.Layout.Y_PENCILS, dtfft.Layout.Z_PENCILS)
        theirs = [tuple(self._plan.get_pencil(layout).counts) for layout in layouts]
        ours = [info.shape[::-1] for info in infos]
        if not self.problem.comm.allreduce(theirs == ours, op=MPI.LAND):
            self._plan.destroy()
            raise RuntimeError(f"splits the grid otherwise: {theirs} for {ours} on rank {self.problem.comm.rank}")

    def step(self, index: int) -> None:
        source, target = STEPS[index]
        self._plan.transpose(self.pencils[source], self.pencils[target], self._directions[index], self._aux)

    def close(self) -> None:
        self._plan.destroy()


def best_dtfft(
    problem: Problem,
    infos: Sequence[cudecomp.PencilInfo],
    buffers: Buffers,
    names: Sequence[str],
    keep: int,
    complain: Callable[[str], None],
) -> list[Cycle]:
    """The fastest of dtFFT's backends in three cycles each; one plan at a time, since plans hold memory."""
    aux = np.empty(1, problem.dtype)
    times = {}
    for name in names:
        try:
            plan = DtFft(problem, infos, buffers, name, aux)
        except RuntimeError as error:
            complain(f"dtFFT {name}: {error}; left out")
            continue
        if len(names) == keep:
            times[name] = 0.0
        elif problem.comm.allreduce(plan.check(), op=MPI.LAND):
            times[name] = interleaved(problem.comm, [plan], repeats=3)[0].median
        else:
            complain(f"dtFFT {name}: WRONG RESULT; left out")
        plan.close()
    best = sorted(times, key=times.__getitem__)[:keep]
    return [DtFft(problem, infos, buffers, name, aux) for name in best]


def groups(problem: Problem) -> tuple[MPI.Intracomm, MPI.Intracomm]:
    """This rank's column group (X <-> Y) and row group (Y <-> Z)."""
    row, column = divmod(problem.comm.rank, problem.pdims[1])
    return problem.comm.Split(column, row), problem.comm.Split(row, column)


def starts(counts: Sequence[int]) -> list[int]:
    return [sum(counts[:index]) for index in range(len(counts))]


def extent(info: cudecomp.PencilInfo, dim: int) -> int:
    return info.shape[info.order.index(dim)]


def parts(counts: Sequence[int]) -> list[slice]:
    return [slice(start, start + count) for start, count in zip(starts(counts), counts, strict=True)]


def along(axis: int, part: slice) -> tuple[slice, ...]:
    return tuple(part if index == axis else slice(None) for index in range(3))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing on standard error: dtFFT prints there what it also raises."""
    saved = os.dup(2)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
