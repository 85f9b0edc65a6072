# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Handles and grids come and go, and share a communicator with the rest of the program."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config, reference_of, round_trip
from tests.parallel import COMMUNICATORS, assert_raises_everywhere, communicator


def test_handle_knows_its_communicator(comm: MPI.Comm) -> None:
    with cudecomp.Handle(comm) as handle:
        assert (handle.rank, handle.nranks) == (comm.rank, comm.size)
        assert handle.comm == comm


@pytest.mark.parametrize("kind", COMMUNICATORS)
def test_communicators(world: MPI.Comm, kind: str) -> None:
    with communicator(world, kind) as comm:
        if comm == MPI.COMM_NULL:
            return
        with cudecomp.Handle(comm) as handle, handle.create_grid(make_config(comm.size)) as grid:
            assert (handle.rank, handle.nranks) == (comm.rank, comm.size)
            round_trip(grid, comm)


def test_intercommunicators_are_refused(world: MPI.Comm) -> None:
    if world.size < 2:
        pytest.skip("needs two groups")
    half = world.Split(world.rank % 2, world.rank)
    inter = half.Create_intercomm(0, world, 1 - world.rank % 2)
    assert_raises_everywhere(world, TypeError, "(?i)intercomm", lambda: cudecomp.Handle(inter))
    inter.Free()
    half.Free()


def test_null_communicator_is_refused(world: MPI.Comm) -> None:
    assert_raises_everywhere(world, ValueError, "COMM_NULL", lambda: cudecomp.Handle(MPI.COMM_NULL))


def test_many_handles_and_grids(comm: MPI.Comm) -> None:
    """What a handle or a grid duplicates, it frees. Two ranks go on until MPICH would run out of communicators."""
    config = make_config(comm.size)
    for _ in range(2100 if comm.size == 2 else 10):
        with cudecomp.Handle(comm) as handle:
            handle.create_grid(config).destroy()
            handle.create_grid(config).destroy()


def test_many_grids_of_one_handle(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    grids = [handle.create_grid(make_config(comm.size, gdims=(n, 4, 5))) for n in range(1, 40)]
    for grid in grids[::2]:
        grid.destroy()
    for run, grid in enumerate(grids[1::2]):
        round_trip(grid, comm, run)
        grid.destroy()


def test_two_handles_take_turns(reach: str, comm: MPI.Comm) -> None:
    with cudecomp.Handle(comm) as one, cudecomp.Handle(comm) as two:
        a = one.create_grid(make_config(comm.size))
        b = two.create_grid(make_config(comm.size, gdims=(4, 5, 6)))
        for run in range(3):
            round_trip(a, comm, run)
            round_trip(b, comm, run)
        a.destroy()
        b.destroy()


def test_destroy_and_finalize_twice(comm: MPI.Comm) -> None:
    handle = cudecomp.Handle(comm)
    grid = handle.create_grid(make_config(comm.size))
    grid.destroy()
    grid.destroy()
    handle.finalize()
    handle.finalize()


def test_use_after_the_end(comm: MPI.Comm) -> None:
    handle = cudecomp.Handle(comm)
    grid = handle.create_grid(make_config(comm.size))
    array = np.zeros(grid.get_pencil_info(0).shape)
    grid.destroy()
    assert_raises_everywhere(comm, ValueError, "destroyed", lambda: grid.transpose_x_to_y(array))
    assert_raises_everywhere(comm, ValueError, "destroyed", lambda: grid.update_halos_x(array, (0, 0, 0)))
    assert_raises_everywhere(comm, ValueError, "destroyed", lambda: grid.get_pencil_info(0))
    handle.finalize()
    assert_raises_everywhere(comm, ValueError, "finalized", lambda: handle.create_grid(make_config(comm.size)))


def test_finalize_before_destroy_is_refused(comm: MPI.Comm) -> None:
    handle = cudecomp.Handle(comm)
    grid = handle.create_grid(make_config(comm.size))
    assert_raises_everywhere(comm, ValueError, "grid", handle.finalize)
    round_trip(grid, comm)  # the refusal broke nothing
    grid.destroy()
    handle.finalize()


def test_users_communicator_may_go_first(world: MPI.Comm) -> None:
    comm = world.Dup()
    handle = cudecomp.Handle(comm)
    grid = handle.create_grid(make_config(world.size))
    comm.Free()
    round_trip(grid, world)
    later = handle.create_grid(make_config(world.size, gdims=(5, 4, 3)))
    round_trip(later, world)
    later.destroy()
    grid.destroy()
    handle.finalize()


def drop(objects: list[object]) -> None:
    """Loses the last references."""
    objects.clear()
    gc.collect()


def test_garbage_collection_warns_and_does_not_communicate(comm: MPI.Comm) -> None:
    handle = [cudecomp.Handle(comm)]
    grid = [handle[0].create_grid(make_config(comm.size))]
    for turn in range(comm.size):  # alone: would it communicate, it would hang
        comm.Barrier()
        if turn == comm.rank:
            with pytest.warns(ResourceWarning, match=r"GridDesc.*destroy"):
                drop(grid)
            with pytest.warns(ResourceWarning, match=r"Handle.*finalize"):
                drop(handle)


def test_grid_keeps_its_handle(comm: MPI.Comm) -> None:
    grid = cudecomp.Handle(comm).create_grid(make_config(comm.size))
    gc.collect()
    round_trip(grid, comm)
    handle = grid.handle
    grid.destroy()
    handle.finalize()


def test_users_own_traffic_is_left_alone(reach: str, comm: MPI.Comm) -> None:
    """Pending receives from anybody with any tag, on the very communicator, see only the user's messages."""
    pending = np.full(4, -1)
    request = comm.Irecv(pending, MPI.ANY_SOURCE, MPI.ANY_TAG)
    with cudecomp.Handle(comm) as handle, handle.create_grid(make_config(comm.size)) as grid:
        for run in range(3):
            round_trip(grid, comm, run)
    untouched = not request.Test() and bool((pending == -1).all())
    assert all(comm.allgather(untouched))  # looked at by all before anybody sends
    comm.Send(np.full(4, comm.rank), (comm.rank + 1) % comm.size, tag=comm.rank)
    status = MPI.Status()
    request.Wait(status)
    before = (comm.rank - 1) % comm.size
    assert (status.source, status.tag) == (before, before)
    assert (pending == before).all()


def test_users_messages_in_flight(reach: str, comm: MPI.Comm) -> None:
    """Messages of the user that nobody has received yet are not mistaken for the library's."""
    sent = np.full(4, comm.rank)
    request = comm.Isend(sent, (comm.rank + 1) % comm.size, tag=0)
    with cudecomp.Handle(comm) as handle, handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)
        received = np.empty(4, int)
        comm.Recv(received, MPI.ANY_SOURCE, MPI.ANY_TAG)
        request.Wait()
        round_trip(grid, comm, 1)
    assert (received == (comm.rank - 1) % comm.size).all()


def test_default_reference_matches_the_library(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """The configuration comes back as it went in."""
    config = make_config(comm.size, gdims_dist=(8, 8, 8), rank_order=cudecomp.RankOrder.COL_MAJOR)
    with handle.create_grid(config.copy()) as grid:
        assert grid.get_config() == config
        assert grid.get_pencil_info(1).shape == reference_of(config).pencil(1, comm.rank).shape
