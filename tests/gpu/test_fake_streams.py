# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Streams as arguments, and how workspaces follow them, over a GPU that is not there."""

from __future__ import annotations

import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from cudecomp import HaloCommBackend, TransposeCommBackend

pytestmark = pytest.mark.only_fake


class Protocol:
    """An object with `__cuda_stream__`."""

    def __init__(self, *answer: object) -> None:
        self._answer = answer

    def __cuda_stream__(self) -> tuple[object, ...]:
        return self._answer


class OldProtocol:
    """As the first versions of cuda.core had it."""

    __cuda_stream__ = (0, 9)


@pytest.fixture
def pair(grid: Any, device: Any) -> tuple[Any, Any]:
    """An X- and a Y-pencil."""
    return tuple(device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (0, 1))


def haloed(grid: Any, device: Any, halo: tuple[int, int, int]) -> Any:
    """A Y-pencil."""
    return device.from_host(np.ones(grid.get_pencil_info(1, halo).shape))


def stream_of(gpu: Any, grid: Any, pair: Any, stream: Any) -> int:
    gpu.calls()
    grid.transpose_x_to_y(*pair, stream=stream)
    (call,) = [call for call in gpu.calls() if call[0] == "transpose"]
    return int(call[2])


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (None, 0),
        (0, 0),
        (1, 1),
        (2, 2),
        (1 << 63, 1 << 63),
        (np.int64(5), 5),
        (Protocol(0, 7), 7),
        (Protocol(0, 0), 0),
        (OldProtocol(), 9),
        (types.SimpleNamespace(ptr=11), 11),
        (types.SimpleNamespace(ptr=0), 0),
        (types.SimpleNamespace(cuda_stream=13), 13),
    ],
)
def test_handles(gpu: Any, grid: Any, pair: Any, stream: Any, expected: int) -> None:
    assert stream_of(gpu, grid, pair, stream) == expected
    grid.update_halos_y(pair[1], (0, 0, 0), (True, True, True), 2, stream=stream)
    updates = [call for call in gpu.calls() if call[0] == "update"]
    assert [int(call[2]) for call in updates] == [expected]


@pytest.mark.parametrize(
    ("stream", "error", "text"),
    [
        (True, TypeError, "^stream is True, a bool; pass a stream object, an integer handle, or None$"),
        (
            np.True_,
            TypeError,
            "^stream is .*True_? of type bool_?, expected None, an integer handle, or an object with",
        ),
        (-1, ValueError, "^stream is -1, expected a CUDA stream handle: an integer of at least 0 in 64 bits$"),
        (1 << 64, ValueError, "^stream is 18446744073709551616, expected a CUDA stream handle"),
        (1.0, TypeError, "^stream is 1.0 of type float, expected None, an integer handle, or an object with"),
        ("0", TypeError, "^stream is '0' of type str, expected None"),
        (
            types.SimpleNamespace(ptr=True),
            TypeError,
            "^stream is namespace.ptr=True. of type SimpleNamespace, expected",
        ),
        (Protocol(1, 7), TypeError, "whose __cuda_stream__ has version 1, but this package knows version 0"),
        (Protocol(0), TypeError, r"whose __cuda_stream__ gives \(0,\), expected \(0, handle\)$"),
        (Protocol(0, "7"), TypeError, r"whose __cuda_stream__ gives \(0, '7'\), expected \(0, handle\)$"),
        (Protocol(0, -7), ValueError, "^stream is -7, expected a CUDA stream handle"),
    ],
)
def test_no_streams(gpu: Any, grid: Any, pair: Any, stream: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        grid.transpose_x_to_y(*pair, stream=stream)
    with pytest.raises(error, match=text):
        grid.update_halos_y(pair[1], (0, 0, 0), stream=stream)
    assert not gpu.calls()


# --- workspaces


def workspaces(calls: list[list[str]]) -> list[str]:
    return [name for name, *_ in calls if name in ("malloc", "free")]


def test_a_repeated_call_allocates_nothing_and_does_not_synchronize(gpu: Any, grid: Any, pair: Any) -> None:
    grid.transpose_x_to_y(*pair)
    assert workspaces(gpu.calls()) == ["malloc"]
    synchronized = gpu.cuda.fake_synchronized()
    for _ in range(3):
        grid.transpose_x_to_y(*pair)
        grid.transpose_y_to_x(*reversed(pair))
        grid.update_halos_y(pair[1], (0, 0, 0))
    assert workspaces(gpu.calls()) == []
    assert gpu.cuda.fake_synchronized() == synchronized
    assert gpu.events() == [""]


def test_another_stream_waits_for_the_one_before(gpu: Any, grid: Any, pair: Any) -> None:
    grid.transpose_x_to_y(*pair, stream=7)
    synchronized = gpu.cuda.fake_synchronized()
    assert gpu.events() == [""]  # with one stream there is nothing to order
    grid.transpose_x_to_y(*pair, stream=8)
    assert gpu.cuda.fake_synchronized() == synchronized + 1  # stream 7 may be gone
    assert gpu.events() == ["record 8"]
    grid.transpose_x_to_y(*pair, stream=8)
    grid.transpose_x_to_y(*pair, stream=7)
    grid.update_halos_y(pair[1], (0, 0, 0), stream=9)
    assert gpu.events() == ["record 8", "wait 7", "record 7", "wait 9", "record 9"]
    assert gpu.cuda.fake_synchronized() == synchronized + 1


def test_each_thread_has_a_default_stream_of_its_own(gpu: Any, grid: Any, pair: Any) -> None:
    """Handle 2 is another stream in another thread."""

    def elsewhere(stream: int) -> None:
        thread = threading.Thread(target=grid.transpose_x_to_y, args=pair, kwargs={"stream": stream})
        thread.start()
        thread.join()

    synchronized = gpu.cuda.fake_synchronized()
    grid.transpose_x_to_y(*pair, stream=1)
    elsewhere(1)
    assert gpu.events() == [""]  # the legacy default stream is the same everywhere
    grid.transpose_x_to_y(*pair, stream=2)
    grid.transpose_x_to_y(*pair, stream=2)
    assert gpu.events() == ["record 2"] * 2
    elsewhere(2)
    grid.transpose_x_to_y(*pair, stream=2)
    assert gpu.events() == ["wait 2", "record 2"] * 2
    assert gpu.cuda.fake_synchronized() == synchronized + 2  # the first allocation, the first change


def test_grids_of_a_handle_share_a_workspace(gpu: Any, make_grid: Any, device: Any) -> None:
    small, large = make_grid(gdims=(4, 8, 8)), make_grid(gdims=(48, 48, 48))
    for grid in (small, large, small, large):
        arrays = [device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (0, 1)]
        grid.transpose_x_to_y(*arrays)
    calls = gpu.calls()
    assert workspaces(calls) == ["malloc", "free", "malloc"]
    assert len({call[1] for call in calls if call[0] == "transpose"}) <= 2
    assert gpu.library.fake_live_workspaces() == 1
    large.destroy()
    assert gpu.library.fake_live_workspaces() == 1
    small.destroy()
    assert gpu.library.fake_live_workspaces() == 0


def test_backends_of_other_families_have_workspaces_of_their_own(gpu: Any, make_grid: Any, device: Any) -> None:
    kinds = [
        {"transpose_comm_backend": TransposeCommBackend.NCCL},
        {"transpose_comm_backend": TransposeCommBackend.NVSHMEM},
        {"transpose_comm_backend": TransposeCommBackend.MPI_P2P, "halo_comm_backend": HaloCommBackend.NVSHMEM},
        {"transpose_comm_backend": TransposeCommBackend.MPI_P2P, "halo_comm_backend": HaloCommBackend.MPI},
    ]
    for fields in kinds:
        grid = make_grid(**fields)
        grid.transpose_x_to_y(*(device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (0, 1)))
    assert gpu.library.fake_live_workspaces() == 3


def test_workspaces_for_halos_are_alike_on_all_ranks(gpu: Any, make_grid: Any, device: Any, comm: MPI.Comm) -> None:
    """Memory of NVSHMEM is allocated by all ranks at once: uneven pencils must want the same."""
    grid = make_grid(gdims=(5, 9, 64), gdims_dist=(5, 7, 60), halo_comm_backend=HaloCommBackend.NVSHMEM)
    halo = (0, 1, 2)
    array = device.from_host(np.ones(grid.get_pencil_info(0, halo).shape))
    grid.update_halos_x(array, halo, (True, True, True))
    (size,) = [call[1] for call in gpu.calls() if call[0] == "malloc"]
    assert len(set(comm.allgather(size))) == 1
    assert int(size, 16) >= 8 * grid.get_halo_workspace_size(0, halo)


def test_allocation_failure(gpu: Any, grid: Any, pair: Any) -> None:
    gpu.library.fake_fail_allocations(1)
    with pytest.raises(
        cudecomp.CudaError, match=r"^the library cannot allocate a workspace of [0-9]+ bytes on the GPU$"
    ):
        grid.transpose_x_to_y(*pair)
    gpu.library.fake_fail_allocations(0)
    grid.transpose_x_to_y(*pair)


def test_destroy_waits_for_the_gpu(gpu: Any, make_grid: Any) -> None:
    grid = make_grid()
    synchronized = gpu.cuda.fake_synchronized()
    grid.destroy()
    assert gpu.cuda.fake_synchronized() > synchronized


def test_later_libraries_manage_their_own(tmp_path: Any) -> None:
    from cudecomp._gpu import manages_workspaces

    for release, expected in {"0.7.0": False, "0.6.9": False, "0.7.1": True, "0.10.0": True, "1.0.0": True}.items():
        path = tmp_path / f"libcudecomp.so.{release}"
        path.touch()
        link = tmp_path / f"link.{release}"
        link.symlink_to(path)
        assert manages_workspaces(link) is expected
    assert not manages_workspaces(tmp_path / "libcudecomp.so")


# --- captures


def test_operations_join_a_capture(gpu: Any, grid: Any, pair: Any) -> None:
    grid.transpose_x_to_y(*pair, stream=7)
    grid.update_halos_y(pair[1], (0, 0, 0), stream=7)
    gpu.cuda.fake_set_captured(7)
    synchronized = gpu.cuda.fake_synchronized()
    gpu.calls()
    grid.transpose_x_to_y(*pair, stream=7)
    grid.update_halos_y(pair[1], (0, 0, 0), stream=7)
    assert [call[0] for call in gpu.calls()] == ["transpose", "update", "update", "update"]
    assert gpu.cuda.fake_synchronized() == synchronized
    assert gpu.events() == [""]


def test_what_was_captured_stays(gpu: Any, make_grid: Any, device: Any) -> None:
    """A larger workspace does not take the place of one that a graph uses."""
    small, large = make_grid(gdims=(4, 8, 8)), make_grid(gdims=(48, 48, 48))
    of_small, of_large = (
        [device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (0, 1)] for grid in (small, large)
    )
    small.transpose_x_to_y(*of_small, stream=7)
    gpu.cuda.fake_set_captured(7)
    small.transpose_x_to_y(*of_small, stream=7)
    gpu.cuda.fake_set_captured(0)
    large.transpose_x_to_y(*of_large, stream=7)
    assert workspaces(gpu.calls()) == ["malloc", "malloc"]
    assert gpu.library.fake_live_workspaces() == 2
    small.destroy()
    large.destroy()
    assert gpu.library.fake_live_workspaces() == 0


def test_first_calls_are_not_captured(gpu: Any, grid: Any, pair: Any, device: Any) -> None:
    gpu.cuda.fake_set_captured(7)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"has not been called on this grid before, and its"):
        grid.transpose_x_to_y(*pair, stream=7)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"has not been called on this grid before, and its"):
        grid.update_halos_y(haloed(grid, device, (1, 1, 1)), (1, 1, 1), stream=7)
    assert not gpu.calls()


def test_dims_without_halo_are_no_warm_up(gpu: Any, grid: Any, device: Any) -> None:
    thin, full = haloed(grid, device, (0, 1, 0)), haloed(grid, device, (1, 1, 1))
    grid.update_halos_y(full, (1, 1, 1), dim=1, stream=7)  # the workspace
    grid.update_halos_y(thin, (0, 1, 0), stream=7)
    gpu.cuda.fake_set_captured(7)
    grid.update_halos_y(thin, (0, 1, 0), stream=7)
    grid.update_halos_y(full, (1, 1, 1), dim=1, stream=7)
    gpu.calls()
    for dim in (0, 2, None):
        with pytest.raises(cudecomp.InvalidUsageError, match=r"has not been called on this grid before, and its"):
            grid.update_halos_y(full, (1, 1, 1), dim=dim, stream=7)
    assert not gpu.calls()


def test_the_default_stream_during_a_capture(gpu: Any, grid: Any, pair: Any) -> None:
    grid.transpose_x_to_y(*pair)
    gpu.calls()
    gpu.cuda.fake_set_captured(7)
    with pytest.raises(
        cudecomp.InvalidUsageError, match=r"^the operation is on the default stream while another stream"
    ):
        grid.transpose_x_to_y(*pair)
    assert not gpu.calls()


@pytest.mark.parametrize("backend", ["MPI_P2P", "NVSHMEM_SM", "NCCL_PL"])
def test_backends_that_cannot_be_captured(gpu: Any, make_grid: Any, device: Any, comm: MPI.Comm, backend: str) -> None:
    grid = make_grid(transpose_comm_backend=TransposeCommBackend[backend], halo_comm_backend=HaloCommBackend.MPI)
    y, z = (device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in (1, 2))
    halo = (1, 1, 1)
    inner = haloed(grid, device, halo)
    grid.transpose_y_to_z(y, z, stream=7)
    grid.update_halos_y(inner, halo, stream=7)
    gpu.calls()
    gpu.cuda.fake_set_captured(7)
    if comm.size == 1:  # nothing goes to other ranks
        grid.transpose_y_to_z(y, z, stream=7)
        grid.update_halos_y(inner, halo, stream=7)
        return
    with pytest.raises(
        cudecomp.NotSupportedError, match=rf"only the backend NCCL can join; .* transposes: {backend} and"
    ):
        grid.transpose_y_to_z(y, z, stream=7)
    with pytest.raises(cudecomp.NotSupportedError, match=r"only the backend NCCL can join; .*halos: MPI"):
        grid.update_halos_y(inner, halo, stream=7)
    assert not gpu.calls()


# --- devices


def test_another_current_device(gpu: Any, grid: Any, pair: Any) -> None:
    gpu.cuda.fake_set_current(1)
    with pytest.raises(
        cudecomp.InvalidUsageError, match=r"^the current device is 1, but the handle was made on device 0"
    ):
        grid.transpose_x_to_y(*pair)
    with pytest.raises(
        cudecomp.InvalidUsageError, match=r"^the current device is 1, but the handle was made on device 0"
    ):
        grid.empty(0, "float64")
    gpu.cuda.fake_set_current(-1)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^this thread has no current GPU, but the handle was"):
        grid.transpose_x_to_y(*pair)


def test_no_device(gpu: Any, comm: MPI.Comm) -> None:
    gpu.cuda.fake_set_current(-1)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"no GPU is current; choose one before making a Handle"):
        cudecomp.Handle(comm)


def test_handle_tells_its_device(gpu: Any, comm: MPI.Comm) -> None:
    gpu.cuda.fake_set_current(3)
    with cudecomp.Handle(comm) as handle:
        assert repr(handle).endswith("nvidia library, line 0.7, device 3>")


def test_ranks_that_share_a_gpu(gpu: Any, comm: MPI.Comm) -> None:
    gpu.cuda.fake_share_gpu(1)
    config = cudecomp.GridDescConfig(
        gdims=(8, 8, 8), pdims=(1, comm.size), transpose_comm_backend=TransposeCommBackend.NCCL
    )
    with cudecomp.Handle(comm) as handle:
        if comm.size == 1:
            handle.create_grid(config).destroy()
            return
        with pytest.raises(
            cudecomp.InvalidUsageError, match=r"^ranks 0 and 1 use the same GPU, but NCCL needs one for each"
        ):
            handle.create_grid(config)
        config.transpose_comm_backend = TransposeCommBackend.MPI_P2P
        handle.create_grid(config).destroy()
        options = cudecomp.GridDescAutotuneOptions(autotune_transpose_backend=True, n_trials=1)
        with pytest.raises(cudecomp.InvalidUsageError, match=r"\(with autotuning, disable_nccl_backends=True\)$"):
            handle.create_grid(config, options)
        options.disable_nccl_backends = True
        handle.create_grid(config, options).destroy()


@pytest.fixture
def poor(gpu: Any, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> Iterator[cudecomp.Handle]:
    """A handle over an MPI that says it takes no GPU memory."""
    monkeypatch.setattr("cudecomp._gpu_backends.mpi_takes_gpu_memory", lambda: False)
    with cudecomp.Handle(comm) as handle:
        yield handle


def test_an_mpi_without_cuda(gpu: Any, poor: cudecomp.Handle, device: Any, comm: MPI.Comm) -> None:
    """Such an MPI would crash. Between ranks only: the defaults are MPI's, and one rank does without."""
    config = cudecomp.GridDescConfig(gdims=(8, 8, 16), pdims=(1, comm.size))
    with poor.create_grid(config) as grid:
        x, y, z = (device.from_host(np.ones(grid.get_pencil_info(axis).shape)) for axis in range(3))
        wide = device.from_host(np.ones(grid.get_pencil_info(0, (0, 1, 1)).shape))
        grid.transpose_x_to_y(x, y)  # stays on the rank
        grid.update_halos_x(wide, (0, 1, 1), (True, True, True), 1)
        gpu.calls()
        if comm.size == 1:
            grid.transpose_y_to_z(y, z)
            grid.update_halos_x(wide, (0, 1, 1), (True, True, True))
            return
        text = (
            r"^{} is one of MPI's, which get GPU memory, and this MPI says that it does not take it; set {} to one of"
        )
        with pytest.raises(cudecomp.NotSupportedError, match=text.format(*["transpose_comm_backend"] * 2)):
            grid.transpose_y_to_z(y, z)
        with pytest.raises(cudecomp.NotSupportedError, match=text.format(*["halo_comm_backend"] * 2)):
            grid.update_halos_x(wide, (0, 1, 1), (True, True, True))
        assert not gpu.calls()


def test_tuning_with_an_mpi_without_cuda(poor: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = cudecomp.GridDescConfig(gdims=(8, 8, 16), pdims=(1, comm.size))
    options = cudecomp.GridDescAutotuneOptions(autotune_halo_backend=True)
    if comm.size > 1:
        with pytest.raises(
            cudecomp.NotSupportedError, match=r"^MPI backends hand GPU memory to MPI, and this MPI says"
        ):
            poor.create_grid(config, options)
    # After tuning transposes NVIDIA's library calls MPI with GPU memory, whatever the backends.
    config.pdims = (0, 0)
    for options in (
        cudecomp.GridDescAutotuneOptions(autotune_transpose_backend=True, disable_mpi_backends=True),
        cudecomp.GridDescAutotuneOptions(),
    ):
        with pytest.raises(cudecomp.NotSupportedError, match=r"hands GPU memory to MPI when it has tuned transposes"):
            poor.create_grid(config, options)


# --- what the library does that the package evens out


def test_fields_left_open_come_back_open(make_grid: Any, handle: Any) -> None:
    config = cudecomp.GridDescConfig(gdims=(8, 8, 8), pdims=(1, handle.nranks))
    before = config.copy()
    with handle.create_grid(config):
        assert config == before


def test_empty_pencils_are_refused_alike(make_grid: Any, device: Any, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("needs 2 ranks")
    grid = make_grid(gdims=(4, 4, 1))
    arrays = [device.from_host(np.zeros(grid.get_pencil_info(axis).shape)) for axis in (0, 1)]
    text = "^some ranks own no points in these pencils, which NVIDIA's library cannot transpose or update"
    with pytest.raises(cudecomp.NotSupportedError, match=text):
        grid.transpose_x_to_y(*arrays)
    with pytest.raises(cudecomp.NotSupportedError, match=text):
        grid.update_halos_x(arrays[0], (0, 0, 0))
