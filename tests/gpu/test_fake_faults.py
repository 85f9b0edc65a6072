# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What goes wrong on one rank, or halfway, over a GPU that is not there: nobody waits, and nothing is lost."""

from __future__ import annotations

import contextlib
import gc
import warnings
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from cudecomp import HaloCommBackend, TransposeCommBackend

pytestmark = pytest.mark.only_fake

NCCL = {"transpose_comm_backend": TransposeCommBackend.NCCL, "halo_comm_backend": HaloCommBackend.NCCL}


def config_of(ranks: int, **fields: Any) -> cudecomp.GridDescConfig:
    return cudecomp.GridDescConfig(**{"gdims": (8, 12, 10), "pdims": (1, ranks), **NCCL, **fields})


def pair_of(grid: Any, device: Any) -> tuple[Any, Any]:
    return tuple(device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (0, 1))


def last(comm: MPI.Comm) -> bool:
    """On one rank of several, and not on the first."""
    return comm.rank == comm.size - 1


def on_last(comm: MPI.Comm, text: str) -> str:
    """The text of an error that the last rank has met, as all ranks raise it."""
    return f"^{text}" if comm.size == 1 else f"^on rank {comm.size - 1}: {text}"


# --- ranks raise alike


def test_a_rank_without_a_device_at_create_grid(gpu: Any, handle: Any, comm: MPI.Comm) -> None:
    gpu.cuda.fake_set_current(1 if last(comm) else 0)
    with pytest.raises(cudecomp.InvalidUsageError, match=on_last(comm, "the current device is 1, but the handle")):
        handle.create_grid(config_of(comm.size))
    gpu.cuda.fake_set_current(0)
    handle.create_grid(config_of(comm.size)).destroy()


def test_a_rank_whose_mpi_is_without_cuda(
    gpu: Any, device: Any, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All refuse."""
    if comm.size == 1:
        pytest.skip("needs 2 ranks")
    monkeypatch.setattr("cudecomp._gpu_backends.mpi_takes_gpu_memory", lambda: not last(comm))
    config = config_of(comm.size, transpose_comm_backend=TransposeCommBackend.MPI_P2P)
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        pair = [device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (1, 2)]
        with pytest.raises(cudecomp.NotSupportedError, match=r"^transpose_comm_backend is one of MPI's, which get GPU"):
            grid.transpose_y_to_z(*pair)


@pytest.mark.parametrize("fault", ["device", "identity"])
def test_a_rank_without_a_device_at_the_start(gpu: Any, comm: MPI.Comm, fault: str) -> None:
    before = gpu.library.fake_live_handles()
    error, text = cudecomp.InvalidUsageError, "no GPU is current"
    if fault == "identity":
        error, text = cudecomp.CudaError, "cuDeviceGetUuid failed with CUDA_ERROR_INVALID_VALUE"
        gpu.cuda.fake_fail_identity(int(last(comm)))
    elif last(comm):
        gpu.cuda.fake_set_current(-1)
    with pytest.raises(error, match=on_last(comm, text)):
        cudecomp.Handle(comm)
    assert gpu.library.fake_live_handles() == before


def test_a_rank_without_memory(gpu: Any, device: Any, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    """With compared calls the others do not wait for it, and all try again together."""
    monkeypatch.setenv("CUDECOMP_CHECK", "1")
    with cudecomp.Handle(comm) as handle, handle.create_grid(config_of(comm.size)) as grid:
        pair = pair_of(grid, device)
        gpu.library.fake_fail_allocations(int(last(comm)))
        for _ in range(2):
            with pytest.raises(cudecomp.CudaError, match=on_last(comm, "the library cannot allocate a workspace of")):
                grid.transpose_x_to_y(*pair)
        gpu.library.fake_fail_allocations(0)
        gpu.calls()
        grid.transpose_x_to_y(*pair)
        assert [name for name, *_ in gpu.calls()][-2:] == ["malloc", "transpose"]
        grid.transpose_x_to_y(*pair)
        assert [name for name, *_ in gpu.calls()] == ["transpose"]
        assert gpu.library.fake_live_workspaces() == 1
    assert gpu.library.fake_live_workspaces() == 0


def test_one_rank_that_captures(gpu: Any, device: Any, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    if comm.size == 1:
        pytest.skip("needs 2 ranks")
    monkeypatch.setenv("CUDECOMP_CHECK", "1")
    with cudecomp.Handle(comm) as handle, handle.create_grid(config_of(comm.size)) as grid:
        x, y = pair_of(grid, device)
        gpu.cuda.fake_set_captured(7 if last(comm) else 0)
        text = "but stream is not captured on rank.* 0.*, one that is captured on rank "
        with pytest.raises(cudecomp.InvalidUsageError, match=text):
            grid.transpose_x_to_y(x, y, stream=7)
        with pytest.raises(cudecomp.InvalidUsageError, match=text):
            grid.update_halos_y(y, (0, 0, 0), stream=7)
        gpu.cuda.fake_set_captured(0)
        grid.transpose_x_to_y(x, y, stream=7)


# --- what is left behind


def test_finalize_frees_the_workspaces_of_dropped_grids(gpu: Any, device: Any, comm: MPI.Comm) -> None:
    with cudecomp.Handle(comm) as handle:
        kept = handle.create_grid(config_of(comm.size))
        with contextlib.suppress(KeyError), handle.create_grid(config_of(comm.size)) as left:
            left.transpose_x_to_y(*pair_of(left, device))
            raise KeyError
        dropped = handle.create_grid(config_of(comm.size, transpose_comm_backend=TransposeCommBackend.NVSHMEM))
        dropped.transpose_x_to_y(*pair_of(dropped, device))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            del left, dropped
            gc.collect()
        assert gpu.library.fake_live_workspaces() == 2
        kept.destroy()
    assert gpu.library.fake_live_workspaces() == 0


def test_a_failed_destroy_does_not_count_twice(gpu: Any, make_grid: Any, device: Any) -> None:
    ended, kept = make_grid(), make_grid()
    kept.transpose_x_to_y(*pair_of(kept, device))
    gpu.cuda.fake_fail_synchronize(1)
    for _ in range(2):
        with pytest.raises(cudecomp.CudaError, match=r"^cuCtxSynchronize failed with CUDA_ERROR_INVALID_VALUE \(1\)"):
            ended.destroy()
    gpu.cuda.fake_fail_synchronize(0)
    ended.destroy()
    assert gpu.library.fake_live_workspaces() == 1
    gpu.library.fake_fail_frees(1)
    with pytest.raises(cudecomp.CudaError, match=r"^the library cannot free a workspace$"):
        kept.destroy()
    gpu.library.fake_fail_frees(0)
    kept.destroy()
    gpu.library.fake_forget_workspaces(1)


def test_memory_that_cannot_be_freed_is_not_freed_again(gpu: Any, make_grid: Any, device: Any) -> None:
    small, large = make_grid(gdims=(4, 8, 8)), make_grid(gdims=(48, 48, 48))
    of_large = pair_of(large, device)
    small.transpose_x_to_y(*pair_of(small, device))
    gpu.library.fake_fail_frees(1)
    with pytest.raises(cudecomp.CudaError, match=r"^the library cannot free a workspace$"):
        large.transpose_x_to_y(*of_large)
    gpu.library.fake_fail_frees(0)
    gpu.calls()
    large.transpose_x_to_y(*of_large)
    assert [name for name, *_ in gpu.calls()] == ["malloc", "transpose"]
    gpu.library.fake_forget_workspaces(1)


def test_an_operation_that_fails_is_no_warm_up(gpu: Any, make_grid: Any, device: Any) -> None:
    grid = make_grid()
    (x, y), halo = pair_of(grid, device), (0, 1, 0)
    inner = device.from_host(np.ones(grid.get_pencil_info(1, halo).shape))
    gpu.library.fake_fail_operations(1)
    with pytest.raises(cudecomp.CudaError, match=r"^cudecompTransposeXToY failed; NVIDIA's library writes its reason"):
        grid.transpose_x_to_y(x, y, stream=7)
    with pytest.raises(cudecomp.CudaError, match=r"^cudecompUpdateHalosY failed; NVIDIA's library writes its reason"):
        grid.update_halos_y(inner, halo, stream=7)
    gpu.library.fake_fail_operations(0)
    gpu.cuda.fake_set_captured(7)
    with pytest.raises(cudecomp.InvalidUsageError, match="has not been called on this grid before"):
        grid.transpose_x_to_y(x, y, stream=7)
    with pytest.raises(cudecomp.InvalidUsageError, match="has not been called on this grid before"):
        grid.update_halos_y(inner, halo, stream=7)


def test_streams_are_ordered_after_an_operation_that_failed(gpu: Any, grid: Any, device: Any) -> None:
    pair = pair_of(grid, device)
    for stream in (7, 8):
        grid.transpose_x_to_y(*pair, stream=stream)
    gpu.library.fake_fail_operations(1)
    gpu.events()
    with pytest.raises(cudecomp.CudaError):
        grid.transpose_x_to_y(*pair, stream=9)
    gpu.library.fake_fail_operations(0)
    grid.transpose_x_to_y(*pair, stream=8)
    assert gpu.events() == ["wait 9", "record 9", "wait 8", "record 8"]


# --- the end of a grid comes with any device current


@pytest.mark.parametrize("current", [1, -1])
def test_ends_wait_for_their_own_gpu(gpu: Any, device: Any, comm: MPI.Comm, current: int) -> None:
    handle = cudecomp.Handle(comm)
    grid, dropped = handle.create_grid(config_of(comm.size)), handle.create_grid(config_of(comm.size))
    grid.transpose_x_to_y(*pair_of(grid, device))
    for end in (grid.destroy, handle.finalize):
        gpu.cuda.fake_set_current(1)
        gpu.cuda.cuCtxSynchronize()
        gpu.cuda.fake_set_current(current)
        if end == handle.finalize:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                del dropped
                gc.collect()
        end()
        assert gpu.cuda.fake_synchronized_device() == 0
        assert gpu.cuda.fake_current() == current
    assert gpu.library.fake_live_workspaces() == 0


# --- arrays that know nothing but the interface


class Bare:
    def __init__(self, array: Any, **changes: object) -> None:
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


def test_bare_arrays_of_two_types(grid: Any, device: Any) -> None:
    x, y = (Bare(array) for array in pair_of(grid, device))
    other = Bare(device.from_host(np.ones(grid.get_pencil_info(1).shape, np.float32)))
    with pytest.raises(TypeError, match=r"^out is of float32, but input is of float64; arrays are never converted$"):
        grid.transpose_x_to_y(x, other)
    grid.transpose_x_to_y(x, y)


def test_bare_arrays_of_four_axes(grid: Any, device: Any) -> None:
    x, _ = pair_of(grid, device)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^input has shape \(1, 2, 3, 4\), expected"):
        grid.update_halos_x(Bare(x, shape=(1, 2, 3, 4)), (0, 0, 0))


@pytest.mark.parametrize(
    "changes",
    [
        {"data": ("0x10", False)},
        {"data": (-8, False)},
        {"data": (1 << 64, False)},
        {"shape": None},
        {"shape": ("8", 1, 1)},
        {"strides": (8, None, 8)},
        {"strides": (8, 8)},
    ],
)
def test_malformed_entries(grid: Any, device: Any, changes: Any) -> None:
    x, _ = pair_of(grid, device)
    with pytest.raises(TypeError, match=r"^input.__cuda_array_interface__ lacks an entry or has a malformed one \("):
        grid.update_halos_x(Bare(x, **changes), (0, 0, 0))


@pytest.mark.parametrize("typestr", [None, float, 8])
def test_types_that_are_no_text(grid: Any, device: Any, typestr: object) -> None:
    x, _ = pair_of(grid, device)
    with pytest.raises(TypeError, match=r"^input.__cuda_array_interface__ has typestr .*, which names no type$"):
        grid.update_halos_x(Bare(x, typestr=typestr), (0, 0, 0))


def test_arrays_that_lack_what_their_type_has(grid: Any, device: Any) -> None:
    array = Bare(device.from_host(np.ones(grid.get_pencil_info(0).shape)))
    grid.update_halos_x(array, (0, 0, 0))
    del array.__cuda_array_interface__
    with pytest.raises(TypeError, match=r"^input must be a GPU array: .* of type Bare$"):
        grid.update_halos_x(array, (0, 0, 0))
