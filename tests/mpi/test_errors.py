# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What is wrong raises the same error on all ranks, moves nothing, and leaves nobody waiting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config, round_trip
from tests.parallel import assert_raises_everywhere

#: Fields that make a valid configuration wrong, and what the error says.
BAD_CONFIGS = {
    "gdims-unset": ({"gdims": (0, 0, 0)}, r"gdims is \(0, 0, 0\), expected at least 1 point along X"),
    "gdims-zero": ({"gdims": (8, 0, 8)}, r"gdims is \(8, 0, 8\), expected at least 1 point along Y"),
    "gdims-negative": ({"gdims": (8, 8, -3)}, r"gdims is \(8, 8, -3\), expected at least 1 point along Z"),
    "dist-partial": ({"gdims_dist": (8, 0, 8)}, r"gdims_dist is \(8, 0, 8\).*expected 1 to 10 along Y"),
    "dist-negative": ({"gdims_dist": (8, 8, -1)}, r"gdims_dist is \(8, 8, -1\).*expected 1 to 11 along Z"),
    "dist-too-large": ({"gdims_dist": (10, 8, 8)}, r"gdims_dist is \(10, 8, 8\).*expected 1 to 9 along X"),
    "pdims-half": ({"pdims": (0, 1)}, r"pdims is \(0, 1\).*set both"),
    "pdims-other-half": ({"pdims": (1, 0)}, r"pdims is \(1, 0\).*set both"),
    "pdims-negative": ({"pdims": (-1, -1)}, r"pdims is \(-1, -1\)"),
    "pdims-product": ({"pdims": (5, 7)}, r"pdims is \(5, 7\).*35.*expected a product of"),
    "pdims-huge": ({"pdims": (65536, 65536)}, r"pdims is \(65536, 65536\)"),
    "pdims-unset": ({"pdims": (0, 0)}, r"pdims is \(0, 0\)"),
    "rank-order": ({"rank_order": 7}, r"rank_order is 7, expected one of"),
    "order-partial": (
        {"transpose_mem_order": ((0, 1, 2), (-1, -1, -1), (0, 1, 2))},
        r"transpose_mem_order is \(-1, -1, -1\) for Y-pencils",
    ),
    "order-no-permutation": (
        {"transpose_mem_order": ((0, 1, 2), (0, 1, 2), (0, 1, 1))},
        r"transpose_mem_order is \(0, 1, 1\) for Z-pencils, expected a permutation",
    ),
    "transpose-backend": ({"transpose_comm_backend": 99}, r"99"),
    "halo-backend": ({"halo_comm_backend": 99}, r"99"),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_bad_configuration(handle: cudecomp.Handle, comm: MPI.Comm, name: str) -> None:
    fields, match = BAD_CONFIGS[name]
    assert_raises_everywhere(comm, ValueError, match, lambda: handle.create_grid(make_config(comm.size, **fields)))
    with handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_bad_configuration_on_the_last_rank_only(handle: cudecomp.Handle, comm: MPI.Comm, name: str) -> None:
    last = comm.size - 1
    fields, match = BAD_CONFIGS[name]
    config = make_config(comm.size, **(fields if comm.rank == last else {}))
    error = assert_raises_everywhere(comm, ValueError, match, lambda: handle.create_grid(config))
    assert comm.size == 1 or f"rank {last}" in str(error)
    with handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gdims", (9, 10, 12)),
        ("gdims_dist", (8, 8, 8)),
        ("rank_order", cudecomp.RankOrder.COL_MAJOR),
        ("transpose_comm_backend", cudecomp.TransposeCommBackend.MPI_A2A),
        ("halo_comm_backend", cudecomp.HaloCommBackend.MPI_BLOCKING),
        ("transpose_axis_contiguous", (True, False, False)),
        ("transpose_mem_order", ((2, 1, 0), (2, 1, 0), (2, 1, 0))),
    ],
)
def test_different_configurations(handle: cudecomp.Handle, comm: MPI.Comm, field: str, value: object) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    config = make_config(comm.size, **({field: value} if comm.rank == 1 else {}))
    assert_raises_everywhere(
        comm, ValueError, f"same on all ranks.*{field}.*rank 1", lambda: handle.create_grid(config)
    )
    with handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)


def test_different_process_grids(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    pdims = (1, comm.size) if comm.rank == 0 else (comm.size, 1)
    config = make_config(comm.size, pdims=pdims)
    assert_raises_everywhere(comm, ValueError, r"same on all ranks.*pdims.*rank 0", lambda: handle.create_grid(config))


def test_wrong_type_on_one_rank(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = "a string" if comm.rank == comm.size - 1 else make_config(comm.size)
    assert_raises_everywhere(comm, TypeError, "GridDescConfig", lambda: handle.create_grid(config))


@pytest.mark.parametrize("backend", ["NCCL", "NCCL_PL", "NVSHMEM", "NVSHMEM_PL", "NVSHMEM_SM"])
def test_gpu_transpose_backends_are_not_supported(handle: cudecomp.Handle, comm: MPI.Comm, backend: str) -> None:
    config = make_config(comm.size, transpose_comm_backend=cudecomp.TransposeCommBackend[backend])
    error = assert_raises_everywhere(
        comm, cudecomp.NotSupportedError, rf"{backend}\b.*(GPU|host)", lambda: handle.create_grid(config)
    )
    assert isinstance(error, NotImplementedError)
    assert error.result is cudecomp.Result.NOT_SUPPORTED


@pytest.mark.parametrize("backend", ["NCCL", "NVSHMEM", "NVSHMEM_BLOCKING"])
def test_gpu_halo_backends_are_not_supported(handle: cudecomp.Handle, comm: MPI.Comm, backend: str) -> None:
    config = make_config(comm.size, halo_comm_backend=cudecomp.HaloCommBackend[backend])
    assert_raises_everywhere(
        comm, cudecomp.NotSupportedError, rf"{backend}\b.*(GPU|host)", lambda: handle.create_grid(config)
    )


def swapped(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder())


#: An array made from a right one, the error, and its text.
BAD_INPUTS: dict[str, tuple[Callable[[np.ndarray], object], type[Exception], str]] = {
    "list": (lambda a: a.tolist(), TypeError, "list"),
    "none": (lambda a: None, TypeError, "NoneType|None"),
    "float16": (lambda a: a.astype("float16"), TypeError, "float16"),
    "int": (lambda a: a.astype("int64"), TypeError, "int64"),
    "object": (lambda a: a.astype(object), TypeError, "object"),
    "big-endian": (swapped, TypeError, "byte order"),
    "shape": (lambda a: np.zeros((3, 4, 77)), ValueError, r"\(3, 4, 77\)"),
    "two-dimensional": (lambda a: a.reshape(1, -1), ValueError, r"\(1, \d+\)|3-D|dimension"),
    "fortran-order": (lambda a: np.zeros((6, 7, 8), order="F"), ValueError, r"(?i)contiguous|shape"),
    "not-contiguous": (lambda a: np.repeat(a, 2, axis=2)[:, :, ::2], ValueError, "(?i)contiguous"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_input(handle: cudecomp.Handle, comm: MPI.Comm, name: str) -> None:
    make, expected, match = BAD_INPUTS[name]
    with handle.create_grid(make_config(comm.size, gdims=(16, 16, 16))) as grid:
        good = np.zeros(grid.get_pencil_info(0).shape)
        bad = make(good)
        output = np.full(grid.get_pencil_info(1).shape, -1.0)
        for call in (
            lambda: grid.transpose_x_to_y(bad),
            lambda: grid.transpose_x_to_y(bad, output),
            lambda: grid.update_halos_x(bad, (0, 0, 0)),
        ):
            with pytest.raises(expected, match=match):
                call()
        assert (output == -1).all()
        round_trip(grid, comm)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def test_bad_output(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    with handle.create_grid(make_config(comm.size, gdims=(16, 16, 16))) as grid:
        shapes = [grid.get_pencil_info(axis).shape for axis in range(3)]
        given = np.zeros(shapes[0])
        memory = np.zeros(2 * max(np.prod(shape) for shape in shapes))
        first = memory[: given.size].reshape(shapes[0])
        second = memory[1 : 1 + np.prod(shapes[1])].reshape(shapes[1])

        def to(out: object, source: np.ndarray = given) -> Callable[[], object]:
            return lambda: grid.transpose_x_to_y(source, out)

        assert_raises_everywhere(comm, ValueError, "(?i)read-only|writ", to(read_only(np.zeros(shapes[1]))))
        assert_raises_everywhere(comm, ValueError, "overlap", to(second, first))
        assert_raises_everywhere(comm, TypeError, "float32", to(np.zeros(shapes[1], "float32")))
        with pytest.raises(ValueError, match=r"\(3, 4, 77\)"):
            to(np.zeros((3, 4, 77)))()
        halo = read_only(np.zeros(shapes[0]))
        assert_raises_everywhere(comm, ValueError, "(?i)read-only|writ", lambda: grid.update_halos_x(halo, (0, 0, 0)))
        round_trip(grid, comm)


@pytest.mark.parametrize(
    ("call", "expected", "match"),
    [
        (lambda g: g.get_pencil_info(3), ValueError, "axis is 3"),
        (lambda g: g.get_pencil_info(-1), ValueError, "axis is -1"),
        (lambda g: g.get_pencil_info(0, (1, 1)), ValueError, "halo_extents"),
        (lambda g: g.get_pencil_info(0, (1, -1, 1)), ValueError, r"halo_extents.*-1"),
        (lambda g: g.get_pencil_info(0, None, (0, 0, -2)), ValueError, r"padding.*-2"),
        (lambda g: g.get_pencil_info(0, (1.5, 1, 1)), TypeError, "halo_extents"),
        (lambda g: g.get_shifted_rank(0, 5, 1), ValueError, "dim is 5"),
        (lambda g: g.get_shifted_rank(9, 0, 1), ValueError, "axis is 9"),
        (lambda g: g.get_halo_workspace_size(3, (1, 1, 1)), ValueError, "axis is 3"),
    ],
)
def test_bad_queries(
    handle: cudecomp.Handle,
    comm: MPI.Comm,
    call: Callable[[cudecomp.GridDesc], object],
    expected: type[Exception],
    match: str,
) -> None:
    with handle.create_grid(make_config(comm.size)) as grid:
        assert_raises_everywhere(comm, expected, match, lambda: call(grid))


@pytest.mark.parametrize(
    ("arguments", "expected", "match"),
    [
        ({"halo_extents": (1, 1, 1), "dim": 3}, ValueError, "dim is 3"),
        ({"halo_extents": (1, 1, 1), "dim": -1}, ValueError, "dim is -1"),
        ({"halo_extents": (-1, 0, 0)}, ValueError, "halo_extents.*-1"),
        ({"halo_extents": (1, 1, 1), "halo_periods": (True, True)}, ValueError, "halo_periods"),
        ({"halo_extents": (1, 1, 1), "padding": (0, -1, 0)}, ValueError, "padding.*-1"),
        ({"halo_extents": (1, 1, 1), "dtype": cudecomp.DataType.FLOAT}, TypeError, "FLOAT"),
        ({"halo_extents": (1, 1, 1), "dtype": "float64"}, TypeError, "DataType"),
        ({"halo_extents": (1, 1, 1), "dtype": np.float64}, TypeError, "DataType"),
    ],
)
def test_bad_halo_arguments(
    handle: cudecomp.Handle,
    comm: MPI.Comm,
    arguments: dict[str, object],
    expected: type[Exception],
    match: str,
) -> None:
    with handle.create_grid(make_config(comm.size)) as grid:
        array = np.zeros(grid.get_pencil_info(0, (1, 1, 1)).shape)
        assert_raises_everywhere(comm, expected, match, lambda: grid.update_halos_x(array, **arguments))
        round_trip(grid, comm)
