# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""On which stream work is, shown by kernels that take long; captures into graphs; what is kept alive."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from cudecomp import HaloCommBackend, TransposeCommBackend
from cudecomp._cupy import external_stream
from cudecomp._gpu_backends import mpi_takes_gpu_memory

pytestmark = pytest.mark.only_gpu

SLOW_FILL = r"""
extern "C" __global__ void slow_fill(double* data, long n, double value, long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
  for (long i = threadIdx.x; i < n; i += blockDim.x) data[i] = value;
}
"""
# At the clock of today's GPUs some 100 ms: everything that does not wait is done long before.
CYCLES = 200_000_000


@pytest.fixture
def slow(device: Any) -> Any:
    """Fills an array late, on a stream."""
    kernel = device.cupy.RawKernel(SLOW_FILL, "slow_fill")

    def fill(array: Any, value: float, stream: Any) -> None:
        arguments = (array, np.int64(array.size), np.float64(value), np.int64(CYCLES))
        with stream:
            kernel((1,), (256,), arguments)

    warm = device.cupy.zeros(1)
    kernel((1,), (1,), (warm, np.int64(1), np.float64(0), np.int64(0)))
    return fill


@pytest.fixture
def arrays(grid: Any, device: Any) -> list[Any]:
    """An X- and a Y-pencil."""
    return [device.cupy.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1)]


@pytest.fixture
def streams(device: Any, grid: Any, arrays: list[Any]) -> list[Any]:
    """Two streams that wait for no other, both in use, so that nothing is set up any more."""
    made = [device.cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    for stream in (*made, *made):
        grid.transpose_x_to_y(*arrays, stream=stream)
        grid.transpose_y_to_x(*reversed(arrays), stream=stream)
    device.cupy.cuda.runtime.deviceSynchronize()
    return made


def test_work_is_on_the_stream(grid: Any, arrays: list[Any], streams: list[Any], slow: Any) -> None:
    source, out = arrays
    slow(source, 7.0, streams[0])
    grid.transpose_x_to_y(source, out, stream=streams[0])
    assert not streams[0].done  # the call did not wait
    with streams[0]:
        assert bool((out == 7).all())


def test_another_stream_does_not_wait(
    grid: Any, arrays: list[Any], streams: list[Any], slow: Any, comm: MPI.Comm, device: Any
) -> None:
    source, out = arrays
    other = device.cupy.zeros_like(source)
    device.cupy.cuda.runtime.deviceSynchronize()
    comm.Barrier()
    slow(source, 7.0, streams[0])
    grid.transpose_x_to_y(other, out, stream=streams[1])
    streams[1].synchronize()
    assert not streams[0].done
    device.cupy.cuda.runtime.deviceSynchronize()


def test_workspaces_are_not_used_by_two_at_once(grid: Any, device: Any, streams: list[Any], slow: Any) -> None:
    """Operations on two streams that are independent but for the workspace."""
    pairs = [[device.cupy.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1)] for _ in range(2)]
    device.cupy.cuda.runtime.deviceSynchronize()
    for turn in range(20):
        for number, ((source, out), stream) in enumerate(zip(pairs, streams, strict=True)):
            with stream:
                source[...] = 2 * turn + number
            grid.transpose_x_to_y(source, out, stream=stream)
        for number, ((_, out), stream) in enumerate(zip(pairs, streams, strict=True)):
            with stream:
                assert bool((out == 2 * turn + number).all()), (turn, number)


def test_none_is_the_current_stream_of_cupy(grid: Any, arrays: list[Any], streams: list[Any], slow: Any) -> None:
    source, out = arrays
    slow(source, 8.0, streams[0])
    with streams[0]:
        grid.transpose_x_to_y(source, out)
        assert not streams[0].done
        assert bool((out == 8).all())


def test_none_is_the_default_stream_of_others(grid: Any, device: Any, streams: list[Any], slow: Any) -> None:
    """Not PyTorch's current one: work on it may still be under way when the transpose on stream 0 has ended."""
    torch = pytest.importorskip("torch")
    tensors = [torch.zeros(grid.get_pencil_info(axis).shape, dtype=torch.float64, device="cuda") for axis in (0, 1)]
    busy = device.cupy.zeros(1)
    device.cupy.cuda.runtime.deviceSynchronize()
    slow(busy, 1.0, streams[0])
    with torch.cuda.stream(torch.cuda.ExternalStream(streams[0].ptr)):
        grid.transpose_x_to_y(*tensors)
    device.cupy.cuda.Stream.null.synchronize()
    assert not streams[0].done
    device.cupy.cuda.runtime.deviceSynchronize()


@pytest.mark.parametrize("kind", ["0", "1", "2", "cuda.core", "cupy", "external", "torch", "int", "numba"])
def test_kinds_of_streams(grid: Any, device: Any, arrays: list[Any], kind: str) -> None:
    cupy, (source, out) = device.cupy, arrays
    number = cupy.cuda.Device().id
    if kind in "012":
        stream: Any = int(kind)
    elif kind == "cuda.core":
        core_device = pytest.importorskip("cuda.core").Device(number)
        core_device.set_current()
        stream = core_device.create_stream()
    elif kind == "torch":
        stream = pytest.importorskip("torch").cuda.Stream()
    elif kind == "numba":
        stream = pytest.importorskip("numba.cuda").stream()
    else:
        kept = cupy.cuda.Stream(non_blocking=True)
        stream = {"cupy": kept, "external": external_stream(cupy, kept.ptr), "int": kept.ptr}[kind]
    source[...] = 3
    cupy.cuda.runtime.deviceSynchronize()
    grid.transpose_x_to_y(source, out, stream=stream)
    new = grid.transpose_x_to_y(source, stream=stream)
    grid.update_halos_x(source, (0, 0, 0), stream=stream)
    cupy.cuda.runtime.deviceSynchronize()
    assert bool((out == 3).all())
    assert bool((new == 3).all())


# --- CUDA graphs


def chain(grid: Any, x: Any, y: Any, z: Any, stream: Any) -> None:
    grid.transpose_x_to_y(x, y, stream=stream)
    grid.transpose_y_to_z(y, z, stream=stream)
    grid.transpose_z_to_y(z, y, stream=stream)
    grid.transpose_y_to_x(y, x, stream=stream)
    grid.update_halos_z(z, (0, 0, 0), (True, True, True), stream=stream)


@pytest.mark.parametrize("backend", ["NCCL", "NCCL_PL"])
def test_graphs_of_cupy(make_grid: Any, device: Any, backend: str) -> None:
    cupy = device.cupy
    grid = make_grid(gdims=(32, 24, 40), transpose_comm_backend=TransposeCommBackend[backend])
    pencils = [cupy.zeros(grid.get_pencil_info(axis).shape) for axis in range(3)]
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    chain(grid, *pencils, stream)
    with stream:
        pencils[0] += 0  # its kernel is compiled before the capture, too
        stream.synchronize()
        stream.begin_capture()
        if backend == "NCCL_PL" and grid.handle.nranks > 1:
            with pytest.raises(cudecomp.NotSupportedError, match=r"only the backend NCCL can join"):
                chain(grid, *pencils, stream)
            stream.end_capture()
            return
        chain(grid, *pencils, stream)
        pencils[0] += 1
        graph = stream.end_capture()
    for turn in range(3):
        with stream:
            graph.launch(stream)
            for array in pencils:
                assert bool((array == turn).all() if array is not pencils[0] else (array == turn + 1).all())
    # What the graph uses outlives a larger workspace.
    large = make_grid(gdims=(64, 64, 64), transpose_comm_backend=TransposeCommBackend[backend])
    large.transpose_x_to_y(cupy.zeros(large.get_pencil_info(0).shape), stream=stream)
    with stream:
        pencils[0][...] = 50
        graph.launch(stream)
        assert bool((pencils[2] == 50).all())


def test_graphs_of_cuda_core(make_grid: Any, device: Any) -> None:
    core = pytest.importorskip("cuda.core")
    cupy = device.cupy
    grid = make_grid(gdims=(32, 24, 40))
    pencils = [cupy.zeros(grid.get_pencil_info(axis).shape) for axis in range(3)]
    gpu = core.Device(cupy.cuda.Device().id)
    gpu.set_current()
    stream = gpu.create_stream()
    cupy.cuda.runtime.deviceSynchronize()
    chain(grid, *pencils, stream)
    stream.sync()
    builder = stream.create_graph_builder()
    builder.begin_building()
    chain(grid, *pencils, builder)
    graph = builder.end_building().complete()
    for value in (4.0, 5.0):
        pencils[0][...] = value
        cupy.cuda.runtime.deviceSynchronize()
        graph.launch(stream)
        stream.sync()
        assert bool((pencils[2] == value).all())


def test_refused_captures_go_on(make_grid: Any, device: Any, comm: MPI.Comm) -> None:
    cupy = device.cupy
    grid = make_grid()
    source, out = (cupy.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1))
    halo = (0, 1, 0)
    inner = cupy.zeros(grid.get_pencil_info(1, halo).shape)
    stream = cupy.cuda.Stream(non_blocking=True)
    grid.transpose_x_to_y(source, out, stream=stream)
    stream.synchronize()
    with stream:
        stream.begin_capture()
        with pytest.raises(cudecomp.InvalidUsageError, match=r"has not been called on this grid before"):
            grid.transpose_y_to_x(out, source, stream=stream)
        with pytest.raises(cudecomp.InvalidUsageError, match=r"has not been called on this grid before"):
            grid.update_halos_y(inner, halo, stream=stream)
        grid.transpose_x_to_y(source, out, stream=stream)
        graph = stream.end_capture()
        source[...] = 9
        graph.launch(stream)
        assert bool((out == 9).all())


# --- lifetimes and devices


def test_arrays_and_streams_are_not_kept(grid: Any, device: Any) -> None:
    class Stream:
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, self._stream.ptr

    stream = Stream(device.cupy.cuda.Stream(non_blocking=True))
    source = device.cupy.zeros(grid.get_pencil_info(0).shape)
    out = grid.transpose_x_to_y(source, stream=stream)
    grid.update_halos_y(out, (0, 0, 0), stream=stream)
    device.cupy.cuda.runtime.deviceSynchronize()
    left = [weakref.ref(thing) for thing in (stream, source, out)]
    del stream, source, out
    gc.collect()
    assert [reference() for reference in left] == [None, None, None]


def test_destroying_while_work_is_queued(make_grid: Any, device: Any, slow: Any) -> None:
    cupy = device.cupy
    grid = make_grid(gdims=(64, 64, 64))
    source, out = (cupy.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1))
    stream = cupy.cuda.Stream(non_blocking=True)
    grid.transpose_x_to_y(source, out, stream=stream)
    stream.synchronize()
    slow(source, 5.0, stream)
    grid.transpose_x_to_y(source, out, stream=stream)
    assert not stream.done
    grid.destroy()
    assert stream.done
    assert bool((out == 5).all())


def test_threads_choose_their_device(grid: Any, device: Any, arrays: list[Any]) -> None:
    """A new thread has no current device for the driver, until it has chosen one."""
    seen = []

    def run() -> None:
        try:
            grid.update_halos_y(arrays[1], (0, 0, 0), stream=0)
        except cudecomp.InvalidUsageError as error:
            seen.append(str(error))
        device.cupy.cuda.Device(device_id).use()
        device.cupy.cuda.runtime.free(0)
        grid.update_halos_y(arrays[1], (0, 0, 0), stream=0)
        seen.append("done")

    device_id = device.cupy.cuda.Device().id
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen[-1] == "done"
    assert all("make that one current before the call" in text for text in seen[:-1])


def test_two_devices_in_one_process(device: Any, comm: MPI.Comm) -> None:
    cupy = device.cupy
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs 2 GPUs")
    if comm.size > 1:
        pytest.skip("needs one rank")
    home = cupy.cuda.Device().id
    made = []
    try:
        for number in (0, 1):
            cupy.cuda.Device(number).use()
            config = cudecomp.GridDescConfig(gdims=(8, 8, 8), pdims=(1, 1))
            config.transpose_comm_backend, config.halo_comm_backend = TransposeCommBackend.NCCL, HaloCommBackend.NCCL
            handle = cudecomp.Handle(MPI.COMM_SELF)
            made.append((number, handle, handle.create_grid(config)))
        for number, _, grid in made:
            cupy.cuda.Device(number).use()
            out = grid.transpose_x_to_y(cupy.full(grid.get_pencil_info(0).shape, 3.0 + number))
            assert out.device.id == number
            assert bool((out == 3 + number).all())
        grid = made[0][2]
        array = cupy.zeros(grid.get_pencil_info(0).shape)  # on device 1
        with pytest.raises(
            cudecomp.InvalidUsageError, match=r"^the current device is 1, but the handle was made on dev"
        ):
            grid.transpose_x_to_y(array)
        cupy.cuda.Device(0).use()
        with pytest.raises(
            cudecomp.InvalidUsageError, match=r"^input is on device 1, but the handle was made on device 0"
        ):
            grid.transpose_x_to_y(array)
    finally:
        for number, handle, grid in made:
            cupy.cuda.Device(number).use()
            grid.destroy()
            handle.finalize()
        cupy.cuda.Device(home).use()


# --- autotuning and backends


def test_autotuning(handle: Any, device: Any) -> None:
    config = cudecomp.GridDescConfig(gdims=(32, 32, 32))
    options = cudecomp.GridDescAutotuneOptions(
        autotune_transpose_backend=True, autotune_halo_backend=True, halo_extents=(1, 1, 1),
        disable_mpi_backends=True, disable_nvshmem_backends=True,
    )  # fmt: skip
    if not mpi_takes_gpu_memory():
        with pytest.raises(cudecomp.NotSupportedError, match=r"hands GPU memory to MPI when it has tuned transposes"):
            handle.create_grid(config, options)
        # Halos alone can be tuned: the process grid, too.
        options.autotune_transpose_backend = False
        options.grid_mode = cudecomp.AutotuneGridMode.HALO
        config.transpose_comm_backend = TransposeCommBackend.NCCL
    with handle.create_grid(config, options) as grid:
        assert int(np.prod(config.pdims)) == handle.nranks
        assert config.transpose_comm_backend.name.startswith("NCCL")
        assert config.halo_comm_backend == HaloCommBackend.NCCL
        assert grid.autotune_report is None
        array = device.cupy.ones(grid.get_pencil_info(0).shape)
        assert bool((grid.transpose_x_to_y(array) == 1).all())


def test_empty_pencils(make_grid: Any, device: Any, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("needs 2 ranks")
    grid = make_grid(gdims=(4, 4, 1))
    arrays = [device.cupy.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1)]
    with pytest.raises(cudecomp.NotSupportedError, match=r"^some ranks own no points in these pencils"):
        grid.transpose_x_to_y(*arrays)
