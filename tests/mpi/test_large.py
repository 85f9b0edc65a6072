# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Pencils beyond 2^31 elements, and messages beyond 2 GiB.

Large pencils need not be large in memory: those of the first tests have few points and a padding that makes them span
gigabytes of addresses, of which only the pages with points exist. Those run always. What really moves gigabytes runs
where it is asked for, since it takes up to 10 GiB and minutes on a slow machine:

    CUDECOMP_TEST_LARGE=1 mpirun -n 1 python -m pytest tests/mpi/test_large.py
    CUDECOMP_TEST_LARGE=1 mpirun -n 2 python -m pytest tests/mpi/test_large.py
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests import reference as ref
from tests.mpi.support import make_config, reference_of
from tests.parallel import environment

GIB = 1 << 30

#: Layers along Z of the pencils with few points; X is the fastest axis in memory, then Y, then Z.
GDIMS = (16, 16, 16)
HALO = (1, 1, 1)

BACKENDS = ("MPI_P2P", "MPI_P2P_PL", "MPI_A2A")


def addresses(shape: tuple[int, ...]) -> np.ndarray:
    """A float32 array of zeros whose pages, small ones, come to be when they are written."""
    size = 4 * int(np.prod(shape))
    # 0x4000 is MAP_NORESERVE, which this version of the module has no name for: nobody is promised these pages.
    memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.float32).reshape(shape)


class Spread:
    """Pencils of one axis in which neighbours along Z are more than 2^31 elements apart."""

    def __init__(self, decomposition: ref.Decomposition, axis: int, rank: int) -> None:
        fewest = decomposition.smallest_extents(axis)
        padding = (0, 2**31 // (fewest[0] + 2) + 1, 0)
        self.halo, self.padding = HALO, padding
        self.pencils = decomposition.pencils(axis, HALO, padding)
        self.mine = self.pencils[rank]
        self.array = addresses(self.mine.shape)
        assert self.mine.shape[1] * self.mine.shape[2] > 2**31

    def compact(self) -> np.ndarray:
        """What is around the points, without nearly all of the padding."""
        return self.array[:, : self.mine.shape[1] - self.padding[1] + 3].copy()

    def expected(self, field: np.ndarray) -> list[np.ndarray]:
        """What compact() gives on each rank, with zeros around owned cells."""
        small = [ref.Pencil(p.lo, p.hi, p.order, p.halo, (0, 3, 0)) for p in self.pencils]
        return [pencil.fill(np.zeros(pencil.shape, np.float32), field) for pencil in small]


@pytest.mark.parametrize("backend", BACKENDS)
def test_transposes_of_pencils_beyond_2_31_elements(comm: MPI.Comm, reach: str, backend: str) -> None:
    config = make_config(comm.size, gdims=GDIMS, transpose_comm_backend=cudecomp.TransposeCommBackend[backend])
    decomposition = reference_of(config)
    field = ref.cell_values(GDIMS, "float32")
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        spreads = [Spread(decomposition, axis, comm.rank) for axis in range(3)]
        assert all(
            spread.mine.shape == grid.get_pencil_info(axis, HALO, spread.padding).shape
            for axis, spread in enumerate(spreads)
        )
        spreads[0].mine.fill(spreads[0].array, field)
        for op, (source, target) in ref.TRANSPOSES.items():
            spreads[target].mine.owned_cells(spreads[target].array)[...] = -1
            getattr(grid, f"transpose_{op}")(
                spreads[source].array,
                spreads[target].array,
                input_halo_extents=HALO,
                output_halo_extents=HALO,
                input_padding=spreads[source].padding,
                output_padding=spreads[target].padding,
            )
            assert ref.same_bits(spreads[target].compact(), spreads[target].expected(field)[comm.rank]), op


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("backend", ["MPI", "MPI_BLOCKING"])
def test_halos_of_pencils_beyond_2_31_elements(comm: MPI.Comm, reach: str, backend: str, axis: int) -> None:
    """All dims, one after the other, edges and corners included."""
    config = make_config(comm.size, gdims=GDIMS, halo_comm_backend=cudecomp.HaloCommBackend[backend])
    decomposition = reference_of(config)
    field = ref.cell_values(GDIMS, "float32")
    periods = (True, True, True)
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        spread = Spread(decomposition, axis, comm.rank)
        spread.mine.fill(spread.array, field)
        update = getattr(grid, f"update_halos_{'xyz'[axis]}")
        update(spread.array, HALO, periods, padding=spread.padding)
        expected = spread.expected(field)
        ref.update_halos(decomposition, axis, decomposition.pencils(axis, HALO, (0, 3, 0)), expected, periods, None)
        assert ref.same_bits(spread.compact(), expected[comm.rank])


def need(comm: MPI.Comm, ranks: int, gib: float) -> None:
    """Skips on all ranks unless this is the right number of them and the memory that all need together is free."""
    if comm.size != ranks:
        pytest.skip(f"for {ranks} ranks")
    if os.environ.get("CUDECOMP_TEST_LARGE") != "1":
        pytest.skip(f"takes {gib:.0f} GiB and up to a minute; set CUDECOMP_TEST_LARGE=1 to run it")
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = comm.bcast(int(lines["MemAvailable"].split()[0]) / (1 << 20))
    if free < gib + 1:
        pytest.skip(f"needs {gib + 1:.0f} GiB of free memory, there are {free:.1f} GiB")


class Field:
    """A global field that is zero but for some rows along X, whose words name their cells.

    The pages of the other rows need not exist in an array that is only read, and are counted rather than compared.
    """

    def __init__(self, gdims: tuple[int, int, int]) -> None:
        self.gdims = gdims

    def rows(self, z: int, lo: int, hi: int) -> np.ndarray:
        """The Y of the rows of layer `z` that hold words, from `lo` to `hi` inclusive."""
        n = self.gdims[1]
        y = np.unique([0, n - 1, *((7919 * z + k * (n // 6)) % n for k in range(6))])
        return y[(y >= lo) & (y <= hi)]

    @staticmethod
    def words(x: np.ndarray, y: np.ndarray, z: int) -> np.ndarray:
        """Of every row `y` the cells `x`, never zero."""
        names = y.astype(np.uint32)[:, None] * np.uint32(0x85EBCA6B) + x.astype(np.uint32)
        return (names ^ np.uint32(z * 0x9E3779B1 % 2**32)) | np.uint32(1)

    def write(self, layers: np.ndarray, lo: tuple[int, ...], shape: tuple[int, ...]) -> None:
        """Writes the words of the cells from `lo` (X, Y, Z) to an array over (z, y, x) of zeros."""
        x = lo[0] + np.arange(shape[0])
        for k, layer in enumerate(layers):
            y = self.rows(lo[2] + k, lo[1], lo[1] + shape[1] - 1)
            layer[y - lo[1]] = self.words(x, y, lo[2] + k)

    def wrong_layers(self, layers: np.ndarray, lo: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
        """The Z of layers of an array over (z, y, x) that do not hold the cells from `lo`."""
        x = lo[0] + np.arange(shape[0])
        wrong = []
        for k, layer in enumerate(layers):
            z = lo[2] + k
            y = self.rows(z, lo[1], lo[1] + shape[1] - 1)
            right = np.array_equal(layer[y - lo[1]], self.words(x, y, z))
            if not right or np.count_nonzero(layer) != y.size * x.size:
                wrong.append(z)
        return wrong


def box(info: cudecomp.PencilInfo) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First cell and extents of the owned cells, X, Y, Z."""
    where = [info.order.index(dim) for dim in range(3)]
    lo = tuple(info.lo[k] for k in where)
    return lo, tuple(info.hi[k] - info.lo[k] + 1 for k in where)


@pytest.mark.parametrize("permuting", [False, True], ids=["kept", "permuting"])
def test_transpose_of_2_31_points(comm: MPI.Comm, permuting: bool) -> None:
    """All of the output is written; the input exists where it has words."""
    need(comm, 1, 9.5)
    field = Field((16384, 16400, 8))
    config = cudecomp.GridDescConfig(
        gdims=field.gdims, pdims=(1, 1), transpose_axis_contiguous=(False, permuting, False)
    )
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        source, target = grid.get_pencil_info(0), grid.get_pencil_info(1)
        assert source.size > 2**31
        array = addresses(source.shape)
        field.write(array.view(np.uint32), *box(source))
        out = np.empty(target.shape, np.float32)
        out.view(np.uint32).fill(0xFFFFFFFF)
        grid.transpose_x_to_y(array, out)
        layers = out.view(np.uint32).transpose([target.order.index(dim) for dim in (2, 1, 0)])
        assert not field.wrong_layers(layers, *box(target))


def test_halo_of_2_31_points(comm: MPI.Comm) -> None:
    need(comm, 1, 2.5)
    field = Field((16384, 16400, 8))
    halo = (0, 0, 1)
    config = cudecomp.GridDescConfig(gdims=field.gdims, pdims=(1, 1))
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        array = addresses(grid.get_pencil_info(0, halo).shape)
        words = array.view(np.uint32)
        lo, shape = box(grid.get_pencil_info(0))
        field.write(words[1:-1], lo, shape)
        grid.update_halos_x(array, halo, (True, True, True))
        assert not field.wrong_layers(words[1:-1], lo, shape)
        assert not field.wrong_layers(words[:1], (0, 0, 7), shape)
        assert not field.wrong_layers(words[-1:], (0, 0, 0), shape)


@pytest.fixture(params=["node", "mpi"])
def through(request: pytest.FixtureRequest) -> Iterator[str]:
    with environment(CUDECOMP_BUILTIN_RANKS_PER_NODE="1" if request.param == "mpi" else None):
        yield request.param


@pytest.mark.parametrize("backend", BACKENDS)
def test_transpose_message_beyond_2_gib(comm: MPI.Comm, through: str, backend: str) -> None:
    """The last rank has nearly all of the X-pencils and sends half of it to the first."""
    need(comm, 2, 8)
    field = Field((1040, 1025, 1024))
    config = cudecomp.GridDescConfig(
        gdims=field.gdims,
        gdims_dist=(1040, 2, 1024),
        pdims=(2, 1),
        transpose_comm_backend=cudecomp.TransposeCommBackend[backend],
    )
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        source, target = grid.get_pencil_info(0), grid.get_pencil_info(1)
        assert comm.bcast(source.size, 1) // 2 * 4 > 2 * GIB
        array = addresses(source.shape)
        field.write(array.view(np.uint32), *box(source))
        out = np.empty(target.shape, np.float32)
        out.view(np.uint32).fill(0xFFFFFFFF)
        grid.transpose_x_to_y(array, out)
        assert not field.wrong_layers(out.view(np.uint32), *box(target))


@pytest.mark.parametrize("backend", ["MPI", "MPI_BLOCKING"])
def test_halo_message_beyond_2_gib(comm: MPI.Comm, through: str, backend: str) -> None:
    """Two ranks side by side along Z, whose faces are that large."""
    need(comm, 2, 6)
    field = Field((32768, 16400, 4))
    assert field.gdims[0] * field.gdims[1] * 4 > 2 * GIB
    halo = (0, 0, 1)
    config = cudecomp.GridDescConfig(
        gdims=field.gdims, pdims=(1, 2), halo_comm_backend=cudecomp.HaloCommBackend[backend]
    )
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        info = grid.get_pencil_info(0)
        (_, _, z), shape = box(info)
        words = addresses(grid.get_pencil_info(0, halo).shape).view(np.uint32)
        field.write(words[1:-1], (0, 0, z), shape)
        grid.update_halos_x(words.view(np.float32), halo, None, 2)
        between, outside = (words[-1:], words[:1]) if comm.rank == 0 else (words[:1], words[-1:])
        assert not field.wrong_layers(between, (0, 0, 2 - comm.rank), shape)
        assert not field.wrong_layers(words[1:-1], (0, 0, z), shape)
        assert np.count_nonzero(outside) == 0
