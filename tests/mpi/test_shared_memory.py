# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What ranks of a node share: memory of arrays, and the slots through which others go."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests import reference as ref
from tests.mpi.support import make_config, reference_of, round_trip

HUGE = 2 << 20
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)")


def shared_blocks() -> Iterator[tuple[int, int, int]]:
    """Address, size and bytes in huge pages of the memory that ranks share."""
    block = None
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := MAPPING.fullmatch(line):
            begin, end = int(found[1], 16), int(found[2], 16)
            block = (begin, end - begin) if found[3].startswith("/memfd:cudecomp") else None
        elif block and line.startswith("ShmemPmdMapped:"):
            yield *block, int(line.split()[1]) << 10


def why_no_huge_pages() -> str:
    """Why the system makes no huge pages of shared memory, not even when asked; empty if it should."""
    settings = Path("/sys/kernel/mm/transparent_hugepage")
    if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 1):
        return f"Linux {platform.release()} cannot be asked for huge pages"
    if not settings.exists() or "[deny]" in (settings / "shmem_enabled").read_text():
        return "this system has no huge pages for shared memory"
    if int((settings / "hpage_pmd_size").read_text()) != HUGE:
        return "huge pages of this system have another size"
    return ""


def test_large_arrays_lie_on_huge_pages(comm: MPI.Comm, handle: cudecomp.Handle) -> None:
    if comm.size < 2:
        pytest.skip("needs 2 ranks")
    config = make_config(comm.size, gdims=(128, 48 * comm.size, 48 * comm.size), pdims=(1, comm.size))
    with handle.create_grid(config) as grid:
        y, z = grid.empty(1, "float64"), grid.empty(2, "float64")
        assert y.nbytes > HUGE
        y[...] = comm.rank
        grid.transpose_y_to_z(y, z)
        blocks = [block for block in shared_blocks() if block[1] >= HUGE]
    places = {begin for begin, _, _ in blocks}
    assert {y.ctypes.data, z.ctypes.data} <= places
    assert all(begin % HUGE == 0 for begin in places)
    arrays = [huge for _, size, huge in blocks if size == y.nbytes]
    assert len(arrays) == 2 + (comm.size - 1)  # its own, and what the others send
    if reason := why_no_huge_pages():
        pytest.skip(reason)
    assert all(arrays)  # whole, unless memory is in pieces


def test_new_memory_is_clear(comm: MPI.Comm, handle: cudecomp.Handle) -> None:
    """Huge pages are made from small ones that have been touched."""
    with handle.create_grid(make_config(comm.size, gdims=(128, 128, 40 * comm.size), pdims=(1, comm.size))) as grid:
        assert not grid.empty(1, "float64").any()


@pytest.mark.parametrize("pdims", ["rows", "columns"])
@pytest.mark.parametrize("permuting", [False, True])
def test_messages_of_many_slots(comm: MPI.Comm, handle: cudecomp.Handle, pdims: str, permuting: bool) -> None:
    """Again and again: slots are filled this way and that, to find out which is faster."""
    config = make_config(
        comm.size,
        gdims=(112, 97, 86),
        pdims=(comm.size, 1) if pdims == "rows" else (1, comm.size),
        transpose_axis_contiguous=(permuting,) * 3,
    )
    with handle.create_grid(config) as grid:
        for run in range(8):
            round_trip(grid, comm, run % 2)


@pytest.mark.parametrize("arrays", ["numpy", "empty"])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(("dtype", "width"), [("float32", 1), ("float64", 1), ("float64", 2), ("complex128", 3)])
def test_halos_at_the_ends_of_rows(
    comm: MPI.Comm, handle: cudecomp.Handle, arrays: str, periodic: bool, dtype: str, width: int
) -> None:
    """So many rows that a layer takes several slots."""
    config = make_config(comm.size, gdims=(5 * comm.size, 150, 230), pdims=(comm.size, 1))
    decomposition = reference_of(config)
    field = ref.cell_values(decomposition.gdims, dtype)
    halo, periods = (width, 0, 1), (periodic, True, False)
    pencils = decomposition.pencils(1, halo)
    expected = [pencil.fill(ref.poison(pencil.size, dtype, 0).reshape(pencil.shape), field) for pencil in pencils]
    with handle.create_grid(config) as grid:
        array = grid.empty(1, dtype, halo) if arrays == "empty" else np.empty(pencils[comm.rank].shape, dtype)
        for _ in range(2):
            array[...] = expected[comm.rank]
            grid.update_halos_y(array, halo, periods, 0)
            after = [one.copy() for one in expected]
            ref.update_halos(decomposition, 1, pencils, after, periods, 0)
            assert ref.same_bits(array, after[comm.rank])
            expected = [2 * one for one in expected]
