# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Pencils beyond 2^31 elements and messages beyond 2 GiB: CUDECOMP_TEST_LARGE=1 mpirun -n 2 python -m pytest ...

Only where asked for, and where the memory is: these take up to 18 GiB on one node and a minute or two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.parallel import environment

GIB = 1 << 30


def need(comm: MPI.Comm, ranks: int, gib: float) -> None:
    """Skips on all ranks unless this is the right number of them and the memory that all need together is free."""
    if comm.size != ranks:
        pytest.skip(f"for {ranks} ranks")
    if os.environ.get("CUDECOMP_TEST_LARGE") != "1":
        pytest.skip(f"takes {gib:.0f} GiB and minutes; set CUDECOMP_TEST_LARGE=1 to run it")
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = comm.bcast(int(lines["MemAvailable"].split()[0]) / (1 << 20))
    if free < gib + 1:
        pytest.skip(f"needs {gib + 1:.0f} GiB of free memory, there are {free:.1f} GiB")


def words(info: cudecomp.PencilInfo, layer: int) -> np.ndarray:
    """What the cells of one outermost owned layer hold: a word that names them. Memory orders are X fastest here."""
    z = info.lo[0] + layer
    y = np.arange(info.lo[1], info.hi[1] + 1, dtype=np.uint32)[:, None]
    x = np.arange(info.lo[2], info.hi[2] + 1, dtype=np.uint32)
    return np.uint32(z * 0x9E3779B1 % 2**32) ^ (y * np.uint32(0x85EBCA6B) + x)


def layers(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    return enumerate(array.view(np.uint32))


def test_halo_of_a_pencil_beyond_2_31_elements(comm: MPI.Comm) -> None:
    """The upper halo starts beyond element 2^31."""
    need(comm, 1, 10)
    gdims, halo = (16384, 16400, 7), (0, 0, 1)
    config = cudecomp.GridDescConfig(gdims=gdims, pdims=(1, 1))
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        info = grid.get_pencil_info(0, halo)
        assert info.size == 16384 * 16400 * 9
        assert 16384 * 16400 * 8 > 2**31
        array = np.zeros(info.shape, np.float32)
        for layer, content in layers(array):
            if 1 <= layer <= 7:
                content[...] = words(info, layer - 1)
        grid.update_halos_x(array, halo, (True, True, True))
        for layer, content in layers(array):
            assert np.array_equal(content, words(info, (layer - 1) % 7)), layer


def test_transpose_of_a_pencil_beyond_2_31_elements(comm: MPI.Comm) -> None:
    need(comm, 1, 18)
    config = cudecomp.GridDescConfig(gdims=(16384, 16400, 8), pdims=(1, 1))
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        info = grid.get_pencil_info(0)
        assert info.size > 2**31
        array = np.empty(info.shape, np.float32)
        for layer, content in layers(array):
            content[...] = words(info, layer)
        for layer, content in layers(grid.transpose_x_to_y(array)):
            assert np.array_equal(content, words(info, layer)), layer


@pytest.mark.parametrize("backend", ["MPI_P2P", "MPI_P2P_PL", "MPI_A2A"])
@pytest.mark.parametrize("node", ["separate", "shared"])
def test_message_beyond_2_gib(comm: MPI.Comm, node: str, backend: str) -> None:
    """The last rank has nearly all of the X-pencils and sends half of it to the first, once through MPI alone."""
    need(comm, 2, 13)
    config = cudecomp.GridDescConfig(
        gdims=(1040, 1025, 1024),
        gdims_dist=(1040, 2, 1024),
        pdims=(2, 1),
        transpose_comm_backend=cudecomp.TransposeCommBackend[backend],
    )
    with environment(CUDECOMP_BUILTIN_RANKS_PER_NODE="1" if node == "separate" else None):
        handle = cudecomp.Handle(comm)
    with handle, handle.create_grid(config) as grid:
        source, target = grid.get_pencil_info(0), grid.get_pencil_info(1)
        assert comm.bcast(source.size, 1) // 2 * 4 > 2 * GIB
        array = np.empty(source.shape, np.float32)
        for layer, content in layers(array):
            content[...] = words(source, layer)
        out = np.empty(target.shape, np.float32)
        grid.transpose_x_to_y(array, out)
        del array
        wrong = [layer for layer, content in layers(out) if not np.array_equal(content, words(target, layer))]
        assert not wrong
