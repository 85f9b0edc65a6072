# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Where arrays of `GridDesc.empty` lie."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config

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
