# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of real packages on a real GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests import reference as ref

pytestmark = pytest.mark.only_gpu

DTYPES = ["float32", "float64", "complex64", "complex128"]


class Wrapped:
    """An object that has nothing but the CUDA array interface."""

    def __init__(self, **interface: Any) -> None:
        self.__cuda_array_interface__ = interface


def bare(array: Any, **changes: Any) -> Wrapped:
    """A CuPy array as a bare object."""
    wrapped = Wrapped(**{**array.__cuda_array_interface__, **changes})
    wrapped.owner = array  # type: ignore[attr-defined]
    return wrapped


@pytest.fixture
def field(grid: Any) -> np.ndarray:
    return ref.cell_values(tuple(grid.get_config().gdims.tolist()), "float64")


def pencil(grid: Any, comm: MPI.Comm, axis: int, field: np.ndarray) -> np.ndarray:
    """This rank's part of a field, for a grid with each pencil's axis contiguous."""
    config = grid.get_config()
    contiguous = ref.mem_order_of((True, True, True))
    gdims, pdims = tuple(config.gdims.tolist()), tuple(config.pdims.tolist())
    part = ref.Decomposition(gdims, pdims, mem_order=contiguous).pencil(axis, comm.rank)
    return part.fill(np.empty(part.shape, field.dtype), field)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cupy(grid: Any, comm: MPI.Comm, device: Any, dtype: str) -> None:
    field = ref.cell_values(tuple(grid.get_config().gdims.tolist()), dtype)
    array = device.from_host(pencil(grid, comm, 0, field))
    for op, (_, target) in ref.TRANSPOSES.items():
        array = getattr(grid, f"transpose_{op}")(array)
        assert isinstance(array, device.cupy.ndarray)
        assert ref.same_bits(device.to_host(array), pencil(grid, comm, target, field)), op


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch(grid: Any, comm: MPI.Comm, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    field = ref.cell_values(tuple(grid.get_config().gdims.tolist()), dtype)
    source = torch.from_numpy(pencil(grid, comm, 0, field)).cuda()
    out = torch.full(grid.get_pencil_info(1).shape, -1, dtype=source.dtype, device="cuda")
    assert grid.transpose_x_to_y(source, out) is out
    assert ref.same_bits(out.cpu().numpy(), pencil(grid, comm, 1, field))
    grid.update_halos_y(out, (0, 0, 0))
    with pytest.raises(
        TypeError, match=r"^out is None, but only for CuPy's arrays a new one is made; input is of type Ten"
    ):
        grid.transpose_x_to_y(source)


def test_tensors_that_are_refused(grid: Any, comm: MPI.Comm, field: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    source = torch.from_numpy(pencil(grid, comm, 0, field)).cuda()
    out = torch.empty(grid.get_pencil_info(1).shape, dtype=source.dtype, device="cuda")
    with pytest.raises(TypeError, match=r"^input is a tensor on cpu, expected one on a GPU; pass input.cuda\(\)$"):
        grid.transpose_x_to_y(source.cpu(), out)
    with pytest.raises(TypeError, match=r"^input is of torch.int32, expected torch.float32, float64"):
        grid.transpose_x_to_y(source.int(), out)
    with pytest.raises(TypeError, match=r"^out requires grad, which this package does not track"):
        grid.transpose_x_to_y(source, out.clone().requires_grad_())
    with pytest.raises(TypeError, match=r"^input is a lazily conjugated or negated view"):
        grid.transpose_x_to_y(source.to(torch.complex128).conj(), out)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^input is not C-contiguous"):
        grid.transpose_x_to_y(source.permute(2, 1, 0).contiguous().permute(2, 1, 0), out)
    with pytest.raises(TypeError, match=r"^out is of float32, but input is of float64; arrays are never"):
        grid.transpose_x_to_y(source, out.float())


def test_numba(grid: Any, comm: MPI.Comm, device: Any, field: np.ndarray) -> None:
    numba_cuda = pytest.importorskip("numba.cuda")
    numba_cuda.select_device(device.number)
    source = numba_cuda.to_device(pencil(grid, comm, 0, field))
    out = numba_cuda.device_array(grid.get_pencil_info(1).shape, np.float64)
    device.use()
    grid.transpose_x_to_y(source, out)
    assert ref.same_bits(out.copy_to_host(), pencil(grid, comm, 1, field))


def test_jax_as_input(grid: Any, comm: MPI.Comm, device: Any) -> None:
    jax = pytest.importorskip("jax")
    field = ref.cell_values(tuple(grid.get_config().gdims.tolist()), "float32")
    there = jax.devices("gpu")[device.number]
    source = jax.device_put(pencil(grid, comm, 0, field), there)
    source.block_until_ready()
    device.use()
    out = device.cupy.zeros(grid.get_pencil_info(1).shape, np.float32)
    grid.transpose_x_to_y(source, out)
    assert ref.same_bits(device.to_host(out), pencil(grid, comm, 1, field))
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^input is read-only, but its halo is to be written"):
        grid.update_halos_x(source, (0, 0, 0))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_bare_objects(grid: Any, comm: MPI.Comm, device: Any, field: np.ndarray, version: int) -> None:
    source = device.from_host(pencil(grid, comm, 0, field))
    out = device.cupy.zeros(grid.get_pencil_info(1).shape)
    grid.transpose_x_to_y(bare(source, version=version), bare(out, version=version, stream=None))
    assert ref.same_bits(device.to_host(out), pencil(grid, comm, 1, field))


def test_buffers_of_cuda_core(grid: Any, comm: MPI.Comm, device: Any, field: np.ndarray) -> None:
    core = pytest.importorskip("cuda.core")
    gpu = core.Device(device.cupy.cuda.Device().id)
    gpu.set_current()
    stream = gpu.create_stream()
    info = grid.get_pencil_info(1)
    buffer = gpu.allocate(info.size * 8, stream=stream)
    shape, pointer = info.shape, int(buffer.handle)
    out = Wrapped(version=3, shape=shape, typestr="<f8", data=(pointer, False))
    source = device.from_host(pencil(grid, comm, 0, field))
    device.cupy.cuda.runtime.deviceSynchronize()
    grid.transpose_x_to_y(source, out, stream=stream)
    stream.sync()
    seen = device.cupy.asarray(out)
    assert ref.same_bits(device.to_host(seen), pencil(grid, comm, 1, field))
    buffer.close(stream)


def test_opaque_storage(grid: Any, comm: MPI.Comm, device: Any) -> None:
    field = ref.cell_values(tuple(grid.get_config().gdims.tolist()), "complex128")
    source, out = (
        device.from_host(pencil(grid, comm, 0, field)),
        device.cupy.zeros(grid.get_pencil_info(1).shape, "c16"),
    )
    opaque = {"typestr": "|V16", "descr": [("", "|V16")]}
    grid.transpose_x_to_y(bare(source, **opaque), bare(out, **opaque), dtype=cudecomp.DataType.DOUBLE_COMPLEX)
    assert ref.same_bits(device.to_host(out), pencil(grid, comm, 1, field))
    with pytest.raises(TypeError, match=r"^input is of \|V16, opaque storage; pass dtype="):
        grid.transpose_x_to_y(bare(source, **opaque), out)


def test_host_memory_is_refused(grid: Any, device: Any) -> None:
    shape = grid.get_pencil_info(0).shape
    with pytest.raises(TypeError, match=r"^input is a numpy.ndarray, but this handle runs on NVIDIA's library"):
        grid.transpose_x_to_y(np.zeros(shape))
    pinned = device.cupy.cuda.alloc_pinned_memory(8 * int(np.prod(shape)))
    array = Wrapped(version=3, shape=shape, typestr="<f8", data=(pinned.ptr, False))
    with pytest.raises(
        cudecomp.InvalidUsageError, match=r"^input is at 0x[0-9a-f]+, which is no GPU memory; pass an arr"
    ):
        grid.update_halos_x(array, (0, 0, 0))


def test_arrays_of_the_grid(grid: Any, device: Any) -> None:
    array = grid.zeros(1, "complex64", (0, 1, 0), (0, 0, 2))
    assert isinstance(array, device.cupy.ndarray)
    assert array.shape == grid.get_pencil_info(1, (0, 1, 0), (0, 0, 2)).shape
    assert not device.to_host(array).any()


def test_new_outputs_come_from_the_standard_pool(grid: Any, device: Any) -> None:
    """Whatever allocator is set: what a pool hands out is ready on the stream of the operation."""
    cupy = device.cupy
    source, asked = cupy.zeros(grid.get_pencil_info(0).shape), []

    def other(size: int) -> Any:
        asked.append(size)
        return cupy.get_default_memory_pool().malloc(size)

    stream = cupy.cuda.Stream(non_blocking=True)
    with cupy.cuda.using_allocator(other):
        out = grid.transpose_x_to_y(source, stream=stream)
        also = grid.empty(0, "float64")
    assert asked == []
    for array in (out, also):
        assert isinstance(array.data.mem, cupy.cuda.memory.PooledMemory)
    stream.synchronize()
