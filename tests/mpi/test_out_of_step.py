# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Ranks of a node that do different things, without CUDECOMP_CHECK: nobody waits for ever, nothing is wrong later.

What they share memory for carries a number of the operation. Who sees another one raises, and so does every rank that
waits, or begins an operation afterwards: what is left in the shared memory would be taken for the next operation's.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Callable

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config, round_trip
from tests.parallel import environment

#: Points per dim: enough for one rank of eight to have a part as deep as the halos.
GDIMS = (16, 16, 16)
WIDE, NONE = (1, 1, 1), (0, 0, 0)
PERIODIC = (True, True, True)

DIFFERENT = r"^rank \d+ calls another operation than this rank, or the same on another grid or with another dtype, halo"
LATER = (
    r"^the ranks of this node are out of step, since an operation has failed on rank \d+ while data moved: "
    r"finalize the handle on all ranks, and make a new one$"
)


def ones(grid: cudecomp.GridDesc, axis: int, dtype: str = "float64", halo: tuple[int, ...] = NONE) -> np.ndarray:
    return np.ones(grid.get_pencil_info(axis, halo).shape, dtype)


def shared(grid: cudecomp.GridDesc, axis: int, halo: tuple[int, ...] = NONE) -> np.ndarray:
    return grid.zeros(axis, "float64", halo)


#: What the first rank does otherwise (`odd`) than the others.
CASES: dict[str, Callable[[cudecomp.GridDesc, bool], object]] = {
    "dtype": lambda grid, odd: grid.transpose_y_to_z(ones(grid, 1, "float32" if odd else "float64")),
    "dtype of the same size": lambda grid, odd: grid.transpose_y_to_z(ones(grid, 1, "complex64" if odd else "float64")),
    "operation": lambda grid, odd: (
        grid.transpose_z_to_y(ones(grid, 2)) if odd else grid.transpose_y_to_z(ones(grid, 1))
    ),
    "halos of a transpose": lambda grid, odd: grid.transpose_y_to_z(
        ones(grid, 1, halo=WIDE if odd else NONE), input_halo_extents=WIDE if odd else NONE
    ),
    "halos of a transpose, shared arrays": lambda grid, odd: grid.transpose_y_to_z(
        shared(grid, 1, WIDE if odd else NONE), shared(grid, 2), input_halo_extents=WIDE if odd else NONE
    ),
    "padding": lambda grid, odd: grid.transpose_y_to_z(
        np.ones(grid.get_pencil_info(1, None, (0, 0, int(odd))).shape), input_padding=(0, 0, int(odd))
    ),
    "depth of halos": lambda grid, odd: grid.update_halos_x(
        ones(grid, 0, halo=(1, 1, 2) if odd else WIDE), (1, 1, 2) if odd else WIDE, PERIODIC, 2
    ),
    "halos, shared arrays": lambda grid, odd: grid.update_halos_x(
        shared(grid, 0, (1, 2, 1) if odd else WIDE), (1, 2, 1) if odd else WIDE, PERIODIC, 2
    ),
}


def outcome(function: Callable[[], object]) -> str:
    try:
        function()
    except cudecomp.CudecompError as error:
        return f"{type(error).__name__}: {error}"
    return "returned"


def check_broken(comm: MPI.Comm, handle: cudecomp.Handle, grid: cudecomp.GridDesc, seen: list[str], first: str) -> None:
    """Asserts that ranks have raised `first` or that they are out of step, all are from now on, and can start anew."""
    texts = [text.split(": ", 1)[1] for text in seen if text != "returned"]
    assert any(re.search(first, text) for text in texts), seen
    assert all(re.search(f"{first}|{LATER}", text) for text in texts), seen
    for _ in range(2):
        later = comm.allgather(outcome(lambda: grid.transpose_y_to_z(ones(grid, 1))))
        assert all(re.search(LATER.replace("^", "^InvalidUsageError: "), text) for text in later), later
    grid.destroy()
    handle.finalize()
    with cudecomp.Handle(comm) as fresh, fresh.create_grid(make_config(comm.size, gdims=GDIMS)) as other:
        round_trip(other, comm)


@pytest.fixture
def broken(comm: MPI.Comm) -> cudecomp.Handle:
    """A handle of ranks that share memory, for a test that finalizes it."""
    if comm.size == 1:
        pytest.skip("one rank is in step with itself")
    with environment(CUDECOMP_CHECK=None):
        return cudecomp.Handle(comm)


@pytest.mark.parametrize("case", CASES)
def test_one_rank_does_something_else(broken: cudecomp.Handle, comm: MPI.Comm, case: str) -> None:
    grid = broken.create_grid(make_config(comm.size, gdims=GDIMS, pdims=(1, comm.size)))
    seen = comm.allgather(outcome(lambda: CASES[case](grid, comm.rank == 0)))
    assert seen[0] != "returned", seen
    assert seen.count("returned") <= comm.size - 2, seen
    check_broken(comm, broken, grid, seen, DIFFERENT)


def test_another_grid_of_the_same_size(broken: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = make_config(comm.size, gdims=GDIMS, pdims=(1, comm.size))
    grid, other = broken.create_grid(config), broken.create_grid(config)
    mine = other if comm.rank == 0 else grid
    seen = comm.allgather(outcome(lambda: mine.transpose_y_to_z(ones(mine, 1))))
    other.destroy()
    check_broken(comm, broken, grid, seen, DIFFERENT)


def test_one_rank_has_no_file_descriptors_left(broken: cudecomp.Handle, comm: MPI.Comm) -> None:
    """It cannot map the arrays of the others, who wait for that to happen."""
    grid = broken.create_grid(make_config(comm.size, gdims=GDIMS, pdims=(1, comm.size)))
    source, target = shared(grid, 1), shared(grid, 2)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    comm.Barrier()
    if comm.rank == 0:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        seen = outcome(lambda: grid.transpose_y_to_z(source, target))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    check_broken(comm, broken, grid, comm.allgather(seen), "^cannot map a shared array of another rank of this node")


def test_a_forked_process_leaves_shared_arrays_alone(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """It has them too, and drops them; the memory is its parent's to give back."""
    with handle.create_grid(make_config(comm.size, gdims=GDIMS)) as grid:
        array = grid.zeros(0, "float64")
        array[...] = comm.rank + 1
        child = os.fork()
        if child == 0:
            del array
            os._exit(0)
        assert os.waitpid(child, 0) == (child, 0)
        assert (array == comm.rank + 1).all()
        target = grid.transpose_x_to_y(array, grid.empty(1, "float64"))
        assert target.size > 0
        comm.Barrier()
