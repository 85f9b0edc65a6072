# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What docs/faq.md says, where no other test shows it."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp


def make_grid(handle: cudecomp.Handle) -> cudecomp.GridDesc:
    pdims = MPI.Compute_dims(handle.nranks, 2)
    return handle.create_grid(cudecomp.GridDescConfig(gdims=(12, 10, 8), pdims=pdims))


def test_two_handles_in_two_threads(comm: MPI.Comm) -> None:
    if MPI.Query_thread() != MPI.THREAD_MULTIPLE:
        pytest.skip("this MPI allows one thread")
    other = comm.Dup()
    failures: list[BaseException] = []

    def work(grid: cudecomp.GridDesc, start: float) -> None:
        try:
            x = np.arange(grid.get_pencil_info(0).size, dtype=np.float64).reshape(grid.get_pencil_info(0).shape) + start
            for _ in range(20):
                assert np.array_equal(grid.transpose_y_to_x(grid.transpose_x_to_y(x)), x)
        except BaseException as error:
            failures.append(error)

    with (
        cudecomp.Handle(comm) as first,
        cudecomp.Handle(other) as second,
        make_grid(first) as one,
        make_grid(second) as two,
    ):
        threads = [threading.Thread(target=work, args=(one, 1.0)), threading.Thread(target=work, args=(two, 2.0))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    other.Free()
    assert not failures


# Newer Pythons warn of what this test is about.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_writes_to_the_parents_shared_arrays(comm: MPI.Comm) -> None:
    with cudecomp.Handle(comm) as handle, make_grid(handle) as grid:
        shared = grid.zeros(0, "float64")
        private = np.zeros(shared.shape)
        child = os.fork()
        if child == 0:
            shared[...] = private[...] = 1.0
            os._exit(0)
        os.waitpid(child, 0)
        assert (private == 0).all()
        # On a node of its own a rank has no one to share with.
        assert (shared == (0.0 if handle.nranks == 1 else 1.0)).all()


def test_arrays_outlive_grid_and_handle(comm: MPI.Comm) -> None:
    with cudecomp.Handle(comm) as handle, make_grid(handle) as grid:
        array = grid.empty(0, "float64")
        array[...] = comm.rank
    assert (array == comm.rank).all()


@pytest.mark.parametrize("colors", [2, 3])
def test_parts_of_the_ranks_have_grids_of_their_own(comm: MPI.Comm, colors: int) -> None:
    part = comm.Split(comm.rank % colors, comm.rank)
    with cudecomp.Handle(part) as handle, make_grid(handle) as grid:
        x = np.full(grid.get_pencil_info(0).shape, float(comm.rank))
        assert np.array_equal(grid.transpose_y_to_x(grid.transpose_x_to_y(x)), x)
    part.Free()
