# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Whole arrays, comparisons and files with arrays on a real GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests import reference as ref

pytestmark = pytest.mark.only_gpu

HALO = (1, 0, 2)


@pytest.fixture
def field(grid: Any) -> np.ndarray:
    return ref.cell_values(tuple(grid.get_config().gdims.tolist()), "float64")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scatter_and_gather(axis: int, grid: Any, comm: MPI.Comm, device: Any, field: np.ndarray) -> None:
    info = grid.get_pencil_info(axis, HALO)
    expected = np.zeros(info.shape)
    expected[info.interior] = field[info.global_slices_xyz].transpose(info.order)
    for source in (field, device.from_host(field)):
        array = grid.scatter(source if comm.rank == 0 else None, axis, halo_extents=HALO)
        assert isinstance(array, device.cupy.ndarray)
        assert ref.same_bits(device.to_host(array), expected)
    whole = grid.gather(array, axis, halo_extents=HALO)
    assert comm.rank != 0 or ref.same_bits(whole, field)
    out = device.from_host(np.zeros_like(field))
    grid.gather(array, axis, halo_extents=HALO, out=out)
    assert comm.rank != 0 or ref.same_bits(device.to_host(out), field)


def test_comparisons(grid: Any, device: Any, field: np.ndarray) -> None:
    array = grid.scatter(field, 0)
    assert grid.allclose(array, device.to_host(array), 0)
    assert grid.max_difference(array, array + 2, 0) == 2.0


@pytest.mark.parametrize("kind", ["hdf5", "zarr"])
def test_files(kind: str, grid: Any, comm: MPI.Comm, device: Any, field: np.ndarray, tmp_path: Path) -> None:
    pytest.importorskip({"hdf5": "h5py", "zarr": "zarr"}[kind])
    path = Path(comm.bcast(tmp_path)) / "file"
    getattr(cudecomp.io, f"write_{kind}")(path, grid, 0, grid.scatter(field, 0, halo_extents=HALO), halo_extents=HALO)
    array = getattr(cudecomp.io, f"read_{kind}")(path, grid, 2, halo_extents=HALO)
    assert isinstance(array, device.cupy.ndarray)
    assert grid.max_difference(array, grid.scatter(field, 2, halo_extents=HALO), 2, halo_extents=HALO) == 0.0


def test_performance_report(grid: Any) -> None:
    with pytest.raises(cudecomp.NotSupportedError, match="NVIDIA's library prints it when the grid is destroyed"):
        grid.performance_report()
