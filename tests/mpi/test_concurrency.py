# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Ranks that are early, late or absent, messages in pieces, and several threads in a rank."""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests import reference as ref
from tests.mpi.support import make_config, reference_of, round_trip
from tests.parallel import assert_raises_everywhere, environment

TRANSPOSE_BACKENDS = ("MPI_P2P", "MPI_P2P_PL", "MPI_A2A")
HALO_BACKENDS = ("MPI", "MPI_BLOCKING")


@pytest.mark.parametrize("backend", TRANSPOSE_BACKENDS)
@pytest.mark.parametrize("rank_order", ["ROW_MAJOR", "COL_MAJOR"])
@pytest.mark.parametrize("op", ref.TRANSPOSES)
def test_transposes_need_only_their_group(
    reach: str, handle: cudecomp.Handle, comm: MPI.Comm, op: str, rank_order: str, backend: str
) -> None:
    """One column group does X <-> Y, one row group Y <-> Z, and nobody else takes part."""
    for pdims in ref.factorisations(comm.size):
        config = make_config(
            comm.size,
            pdims=pdims,
            rank_order=cudecomp.RankOrder[rank_order],
            transpose_comm_backend=cudecomp.TransposeCommBackend[backend],
        )
        decomposition = reference_of(config)
        field = ref.cell_values(decomposition.gdims, "float64")
        source, target = (decomposition.pencil(axis, comm.rank) for axis in ref.TRANSPOSES[op])
        row, col = decomposition.coords(comm.rank)
        chosen = col == pdims[1] - 1 if op in ("x_to_y", "y_to_x") else row == pdims[0] - 1
        with handle.create_grid(config) as grid:
            if chosen:
                array = source.fill(np.empty(source.shape), field)
                for _ in range(2):
                    result = getattr(grid, f"transpose_{op}")(array)
                    assert ref.same_bits(result, target.fill(np.empty(target.shape), field))
            # Destruction is collective and may wait; what was checked before it needed none of the others.


@pytest.mark.parametrize("backend", HALO_BACKENDS)
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_halos_need_only_their_group(
    reach: str, handle: cudecomp.Handle, comm: MPI.Comm, axis: int, dim: int, backend: str
) -> None:
    for pdims in ref.factorisations(comm.size):
        config = make_config(comm.size, pdims=pdims, halo_comm_backend=cudecomp.HaloCommBackend[backend])
        decomposition = reference_of(config)
        field = ref.cell_values(decomposition.gdims, "float64")
        pencils = decomposition.pencils(axis, (1, 1, 1))
        arrays = [pencil.fill(np.full(pencil.shape, -1.0), field) for pencil in pencils]
        mine = arrays[comm.rank].copy()
        ref.update_halos(decomposition, axis, pencils, arrays, (True, True, True), dim)
        which = ref.SPLIT_BY[axis][dim]
        mates = {decomposition.shifted_rank(axis, dim, i, True, 0) for i in range(comm.size)}
        assert len(mates) == (1 if which is None else pdims[which])
        with handle.create_grid(config) as grid:
            if comm.rank in mates:
                getattr(grid, f"update_halos_{'xyz'[axis]}")(mine, (1, 1, 1), (True, True, True), dim)
                assert ref.same_bits(mine, arrays[comm.rank])


@pytest.mark.parametrize("backend", TRANSPOSE_BACKENDS)
def test_ranks_out_of_step(reach: str, handle: cudecomp.Handle, comm: MPI.Comm, backend: str) -> None:
    """Ranks pause at different times, and nothing but the operations keeps them together."""
    pauses = random.Random(comm.rank)
    halo_backend = HALO_BACKENDS[TRANSPOSE_BACKENDS.index(backend) % 2]
    backends = {
        "transpose_comm_backend": cudecomp.TransposeCommBackend[backend],
        "halo_comm_backend": cudecomp.HaloCommBackend[halo_backend],
    }
    grids = [handle.create_grid(make_config(comm.size, gdims=g, **backends)) for g in ((9, 10, 11), (4, 5, 6))]
    for run in range(12):
        if pauses.random() < 0.3:
            time.sleep(0.005 * pauses.random())
        round_trip(grids[run % 2], comm, run)
    for grid in grids:
        grid.destroy()


@pytest.mark.parametrize("backend", TRANSPOSE_BACKENDS)
@pytest.mark.parametrize("elements", ["1", "2", "7", "100"])
def test_messages_in_pieces(comm: MPI.Comm, elements: str, backend: str) -> None:
    """What is beyond the longest message goes in several."""
    settings = {"CUDECOMP_BUILTIN_MAX_MESSAGE_ELEMENTS": elements, "CUDECOMP_BUILTIN_RANKS_PER_NODE": "1"}
    with environment(**settings), cudecomp.Handle(comm) as handle:
        for pdims in ref.factorisations(comm.size):
            for halo_backend in HALO_BACKENDS:
                config = make_config(
                    comm.size,
                    pdims=pdims,
                    transpose_comm_backend=cudecomp.TransposeCommBackend[backend],
                    halo_comm_backend=cudecomp.HaloCommBackend[halo_backend],
                )
                with handle.create_grid(config) as grid:
                    round_trip(grid, comm)


@pytest.mark.parametrize("backend", TRANSPOSE_BACKENDS)
def test_large_messages(reach: str, handle: cudecomp.Handle, comm: MPI.Comm, backend: str) -> None:
    """Beyond what MPI libraries send eagerly, and what fits into shared buffers at once."""
    halo_backend = HALO_BACKENDS[TRANSPOSE_BACKENDS.index(backend) % 2]
    config = make_config(
        comm.size,
        gdims=(96, 100, 104),
        transpose_comm_backend=cudecomp.TransposeCommBackend[backend],
        halo_comm_backend=cudecomp.HaloCommBackend[halo_backend],
    )
    with handle.create_grid(config) as grid:
        round_trip(grid, comm)


def copying_threads() -> int:
    """Threads of this process that the engine has started."""
    return [task.read_text() for task in Path("/proc/self/task").glob("*/comm")].count("cudecomp copies\n")


@pytest.mark.parametrize("contiguous", [False, True], ids=["kept", "permuting"])
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_threads(comm: MPI.Comm, reach: str, threads: str, contiguous: bool) -> None:
    """Copies are shared by as many threads as asked for; they come with the handle and go with it."""
    config = make_config(comm.size, gdims=(96, 100, 104), transpose_axis_contiguous=(contiguous,) * 3)
    with environment(CUDECOMP_CPU_THREADS=threads), cudecomp.Handle(comm) as handle:
        assert copying_threads() == int(threads) - 1
        with handle.create_grid(config) as grid:
            told = "one per rank" if threads == "1" else f"{threads} per rank share copies of 128 KiB or more"
            assert grid.describe().splitlines()[-1] == f"threads: {told}"
            for run in range(4):
                round_trip(grid, comm, run)
    assert copying_threads() == 0


BAD_SETTINGS = ["CUDECOMP_BUILTIN_RANKS_PER_NODE", "CUDECOMP_BUILTIN_MAX_MESSAGE_ELEMENTS", "CUDECOMP_CPU_THREADS"]


@pytest.mark.parametrize("variable", BAD_SETTINGS)
@pytest.mark.parametrize("value", ["0", "-1", "many", "", "99999999999"])
def test_bad_settings(comm: MPI.Comm, variable: str, value: str) -> None:
    with environment(**{variable: value}):
        assert_raises_everywhere(comm, ValueError, f'{variable} is "{value}", expected', lambda: cudecomp.Handle(comm))
    if comm.size > 1:
        with environment(**{variable: "1" if comm.rank == 0 else "2"}):
            assert_raises_everywhere(comm, ValueError, f"{variable}.*rank", lambda: cudecomp.Handle(comm))
    with cudecomp.Handle(comm) as handle, handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)
