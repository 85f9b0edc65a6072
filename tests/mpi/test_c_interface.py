# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What only callers of the C interface meet: their own workspaces, addresses, and checks without Python before them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from mpi4py import MPI

from cudecomp_bindings import cudecomp as bindings
from tests import reference as ref
from tests.mpi.support import process_grid
from tests.parallel import assert_raises_everywhere

TRANSPOSE_BACKENDS = ("MPI_P2P", "MPI_P2P_PL", "MPI_A2A")
HALO_BACKENDS = ("MPI", "MPI_BLOCKING")
ORDERS = {
    "default": ((0, 1, 2),) * 3,
    "contiguous": ((0, 1, 2), (1, 2, 0), (2, 0, 1)),
    "mixed": ((2, 0, 1), (1, 0, 2), (0, 2, 1)),
}
HALO, PADDING = (1, 2, 1), (1, 0, 2)
DTYPES = {"float32": "FLOAT", "float64": "DOUBLE", "complex64": "FLOAT_COMPLEX", "complex128": "DOUBLE_COMPLEX"}


@dataclass
class Grid:
    """Addresses of a handle and a grid descriptor, and the reference that describes them."""

    handle: int
    grid: int
    decomposition: ref.Decomposition
    comm: MPI.Comm


def make_config(**fields: object) -> bindings.GridDescConfig:
    config = bindings.GridDescConfig()
    bindings.grid_desc_config_set_defaults(config)
    for name, value in fields.items():
        setattr(config, name, value)
    return config


@contextlib.contextmanager
def make_grid(comm: MPI.Comm, **fields: object) -> Iterator[Grid]:
    handle = bindings.init_f(comm.py2f())
    decomposition = ref.Decomposition(
        (9, 10, 11), process_grid(comm.size), mem_order=fields.pop("mem_order", ORDERS["default"])
    )
    config = make_config(
        gdims=decomposition.gdims,
        pdims=decomposition.pdims,
        transpose_mem_order=decomposition.mem_order,
        **fields,
    )
    grid = bindings.grid_desc_create(handle, config)
    yield Grid(handle, grid, decomposition, comm)  # not destroyed after a failure: the other ranks may not be here
    bindings.grid_desc_destroy(handle, grid)
    bindings.finalize(handle)


def data_type(dtype: str) -> bindings.DataType:
    return bindings.DataType[DTYPES[dtype]]


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("place", ["out", "in"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("backend", TRANSPOSE_BACKENDS)
def test_transposes_stay_within_the_workspace(
    reach: str, comm: MPI.Comm, backend: str, order: str, place: str, dtype: str
) -> None:
    """The size that is reported is enough, whatever the operation, and nothing beyond it is written."""
    backend_member = bindings.TransposeCommBackend[backend]
    with make_grid(comm, transpose_comm_backend=backend_member, mem_order=ORDERS[order]) as g:
        size = bindings.get_transpose_workspace_size(g.handle, g.grid)
        work = ref.Guarded(size, dtype, comm.rank, salt=3)
        edges = work.copy()
        field = ref.cell_values(g.decomposition.gdims, dtype)
        for op, (source_axis, target_axis) in ref.TRANSPOSES.items():
            source = g.decomposition.pencil(source_axis, comm.rank, HALO, PADDING)
            target = g.decomposition.pencil(target_axis, comm.rank, PADDING, HALO)
            given = ref.Guarded(max(source.size, target.size), dtype, comm.rank)
            out = given if place == "in" else ref.Guarded(target.size, dtype, comm.rank, salt=1)
            source.fill(given.array(source.shape), field)
            expected = out.copy()
            target.fill(expected.array(target.shape), field)
            getattr(bindings, f"transpose_{op}")(
                g.handle,
                g.grid,
                address(given.array(source.shape)),
                address(out.array(target.shape)),
                address(work.array((size,))),
                data_type(dtype),
                HALO,
                PADDING,
                PADDING,
                HALO,
                0,
            )
            assert out.difference(expected) is None, op
        edges.array((size,))[...] = work.array((size,))
        assert work.difference(edges) is None


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("backend", HALO_BACKENDS)
def test_halo_updates_stay_within_the_workspace(
    reach: str, comm: MPI.Comm, backend: str, order: str, dtype: str
) -> None:
    periods = (True, False, True)
    with make_grid(comm, halo_comm_backend=bindings.HaloCommBackend[backend], mem_order=ORDERS[order]) as g:
        field = ref.cell_values(g.decomposition.gdims, dtype)
        for axis in range(3):
            halo = tuple(min(h, n) for h, n in zip(HALO, g.decomposition.smallest_extents(axis), strict=True))
            size = bindings.get_halo_workspace_size(g.handle, g.grid, axis, halo)
            work = ref.Guarded(size, dtype, comm.rank, salt=3)
            edges = work.copy()
            pencils = g.decomposition.pencils(axis, halo, PADDING)
            spaces = [ref.Guarded(pencil.size, dtype, rank) for rank, pencil in enumerate(pencils)]
            arrays = [pencil.fill(s.array(pencil.shape), field) for s, pencil in zip(spaces, pencils, strict=True)]
            mine = spaces[comm.rank].copy()
            ref.update_halos(g.decomposition, axis, pencils, arrays, periods, None)
            for dim in range(3):
                getattr(bindings, f"update_halos_{'xyz'[axis]}")(
                    g.handle,
                    g.grid,
                    address(mine.array(pencils[comm.rank].shape)),
                    address(work.array((size,))) if size else 0,
                    data_type(dtype),
                    halo,
                    periods,
                    dim,
                    PADDING,
                    0,
                )
            assert mine.difference(spaces[comm.rank]) is None, axis
            edges.array((size,))[...] = work.array((size,))
            assert work.difference(edges) is None


def test_workspace_of_malloc(comm: MPI.Comm) -> None:
    with make_grid(comm) as g:
        size = bindings.get_transpose_workspace_size(g.handle, g.grid)
        work = bindings.malloc(g.handle, g.grid, max(size, 1) * 8)
        assert work % 256 == 0
        field = ref.cell_values(g.decomposition.gdims, "float64")
        source, target = (g.decomposition.pencil(axis, comm.rank) for axis in (0, 1))
        given, out = source.fill(np.empty(source.shape), field), np.empty(target.shape)
        bindings.transpose_x_to_y(
            g.handle, g.grid, address(given), address(out), work, data_type("float64"), None, None, None, None, 0
        )
        assert ref.same_bits(out, target.fill(np.empty(target.shape), field))
        bindings.free(g.handle, g.grid, work)
        bindings.free(g.handle, g.grid, 0)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_halos_beyond_the_neighbour_are_refused(comm: MPI.Comm, axis: int, dim: int) -> None:
    with make_grid(comm) as g:
        limit = g.decomposition.smallest_extents(axis)[dim]
        halo = tuple(limit + 1 if d == dim else 0 for d in range(3))
        pencil = g.decomposition.pencil(axis, comm.rank, halo)
        space = ref.Guarded(pencil.size, "float64", comm.rank)
        before = space.copy()
        assert_raises_everywhere(
            comm,
            bindings.cuDecompError,
            rf"INVALID_USAGE.*halo_extents\[{dim}\] is {limit + 1},.* along {'XYZ'[dim]} is {limit}",
            lambda: getattr(bindings, f"update_halos_{'xyz'[axis]}")(
                g.handle,
                g.grid,
                address(space.array(pencil.shape)),
                0,
                data_type("float64"),
                halo,
                (True, True, True),
                dim,
                None,
                0,
            ),
        )
        assert space.difference(before) is None


def test_arrays_that_overlap_in_part_are_refused(comm: MPI.Comm) -> None:
    with make_grid(comm) as g:
        n = max(g.decomposition.pencil(axis, comm.rank).size for axis in (0, 1))
        memory = np.zeros(2 * n)
        assert_raises_everywhere(
            comm,
            bindings.cuDecompError,
            "INVALID_USAGE.*input and output overlap in part",
            lambda: bindings.transpose_x_to_y(
                g.handle,
                g.grid,
                address(memory),
                address(memory) + 8,
                0,
                data_type("float64"),
                None,
                None,
                None,
                None,
                0,
            ),
        )


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"input": 0}, "input is null"),
        ({"output": 0}, "output is null"),
        ({"dtype": -9}, "dtype is -9, expected"),
        ({"input_halo_extents": (0, -1, 0)}, r"input_halo_extents\[1\] is -1, expected 0 or more"),
        ({"output_padding": (0, 0, -7)}, r"output_padding\[2\] is -7, expected 0 or more"),
        ({"grid_desc": 0}, "grid descriptor is null"),
        ({"handle": 0}, "handle is null"),
    ],
)
def test_wrong_arguments(comm: MPI.Comm, arguments: dict[str, object], match: str) -> None:
    with make_grid(comm) as g:
        array = np.zeros(2000)
        given = {
            "handle": g.handle,
            "grid_desc": g.grid,
            "input": address(array),
            "output": address(array),
            "work": 0,
            "dtype": data_type("float64"),
            "input_halo_extents": None,
            "output_halo_extents": None,
            "input_padding": None,
            "output_padding": None,
            "stream": 0,
        }
        assert_raises_everywhere(
            comm,
            bindings.cuDecompError,
            f"INVALID_USAGE.*{match}",
            lambda: bindings.transpose_x_to_y(**{**given, **arguments}),
        )


def test_creation_compares_ranks(comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    handle = bindings.init_f(comm.py2f())
    config = make_config(gdims=(8, 8, 8 + (comm.rank == 1)), pdims=process_grid(comm.size))
    assert_raises_everywhere(
        comm,
        bindings.cuDecompError,
        r"INVALID_USAGE.*gdims\[2\] differs between ranks: rank 0 has 8, rank 1 has 9",
        lambda: bindings.grid_desc_create(handle, config),
    )
    bad = make_config(gdims=(8, 8, 8 - 9 * (comm.rank == 1)), pdims=process_grid(comm.size))
    assert_raises_everywhere(
        comm,
        bindings.cuDecompError,
        r"INVALID_USAGE.*on rank 1: gdims",
        lambda: bindings.grid_desc_create(handle, bad),
    )
    bindings.finalize(handle)


def test_finalize_with_grids_is_refused(comm: MPI.Comm) -> None:
    with make_grid(comm) as g:
        assert_raises_everywhere(
            comm,
            bindings.cuDecompError,
            "INVALID_USAGE.*1 grid descriptor",
            lambda: bindings.finalize(g.handle),
        )
