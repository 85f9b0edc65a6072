# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What comes and goes leaves nothing behind: memory, mappings, file descriptors, communicators.

Each case repeats one round until everything that is kept on purpose is there, and then many times more, thousands of
times on one or two ranks. Counts and memory may then grow by what comes by chance, but by far less than one object per
round.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.mpi.support import make_config

HALO = (1, 1, 1)

#: Rounds before the first look. MPI libraries and allocators keep what they have once needed.
WARM_UP = 60

#: Growth per round that is called a leak. The smallest communicator or plan is larger.
BYTES_PER_ROUND = 256

#: What allocators and MPI libraries may take at any time, whatever happens.
SLACK = 512 << 10


@dataclass(frozen=True)
class Usage:
    """What a process holds."""

    descriptors: int
    mappings: int
    shared: int
    resident: int
    communicators: int

    @classmethod
    def now(cls, comm: MPI.Comm) -> Usage:
        """Collective over `comm`."""
        gc.collect()
        maps = Path("/proc/self/maps").read_text().splitlines()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            len(list(Path("/proc/self/fd").iterdir())),
            len(maps),
            sum("memfd:cudecomp" in line for line in maps),
            pages * os.sysconf("SC_PAGE_SIZE"),
            next_number(comm),
        )


def next_number(comm: MPI.Comm) -> int:
    """The place of a new communicator in the table of its library, where the lowest free ones are taken first."""
    made = comm.Dup()
    number = made.py2f() & 0x03FFFFFF  # MPICH keeps the kind of an object in the upper bits
    made.Free()
    return number


def rounds_for(comm: MPI.Comm, rounds: int) -> int:
    """Fewer where ranks share cores."""
    return rounds if comm.size <= 2 else rounds // (20 if comm.size <= 4 else 40)


def check_flat(comm: MPI.Comm, rounds: int, one_round: Callable[[], object], warm_up: int = WARM_UP) -> None:
    """Asserts that usage on every rank is the same after many rounds as after few. Collective over `comm`."""

    def look() -> Usage:
        # A rank lets go of another's block when it next has to do with it: one round that starts when all have dropped
        # what they had leaves every rank with the blocks of that round.
        comm.Barrier()
        one_round()
        comm.Barrier()
        return Usage.now(comm)

    for _ in range(warm_up):
        one_round()
    before = look()
    for _ in range(rounds):
        one_round()
    after = look()
    grown = {
        "file descriptors": after.descriptors - before.descriptors,
        # Arrays that die within a round are let go of in it, or in the next, as it happens: few, however many rounds.
        "shared blocks": after.shared - before.shared - min(rounds // 20, 2 * (comm.size - 1)),
        # Allocators map and unmap arenas of their own.
        "mappings": after.mappings - before.mappings - rounds // 20,
        # MPICH gives numbers back when it pleases. A round that leaves a communicator takes a number each time.
        "communicators": after.communicators - before.communicators - rounds // 2,
        "bytes": after.resident - before.resident - SLACK - rounds * BYTES_PER_ROUND,
    }
    assert not {name: n for name, n in grown.items() if n > 0}, f"{grown} in {rounds} rounds: {before} -> {after}"


@contextlib.contextmanager
def a_grid(handle: cudecomp.Handle, **fields: object) -> Iterator[cudecomp.GridDesc]:
    with handle.create_grid(make_config(handle.nranks, gdims=(16, 16, 16), **fields)) as grid:
        yield grid


def test_handles(comm: MPI.Comm) -> None:
    check_flat(comm, rounds_for(comm, 3000), lambda: cudecomp.Handle(comm).finalize())


def test_grids(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = make_config(comm.size)
    check_flat(comm, rounds_for(comm, 5000), lambda: handle.create_grid(config).destroy())


def test_grids_that_were_used(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    def one_round() -> None:
        with a_grid(handle) as grid:
            y = grid.transpose_x_to_y(grid.zeros(0, "float64"))
            grid.transpose_y_to_z(y, grid.empty(2, "float64"))
            grid.update_halos_x(grid.zeros(0, "float32", HALO), HALO, (True, True, True))

    check_flat(comm, rounds_for(comm, 1000), one_round)


def test_failed_creations(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Refused in Python, on one rank only, and by the engine after it has been called."""
    configs = [
        make_config(comm.size, gdims=(0, 1, 1)),
        make_config(comm.size, gdims=(8, 8, 8 + comm.rank)) if comm.size > 1 else make_config(1, pdims=(2, 2)),
        make_config(comm.size, transpose_comm_backend=cudecomp.TransposeCommBackend.NCCL),
        make_config(comm.size, halo_comm_backend=99),
    ]

    def one_round() -> None:
        for config in configs:
            with pytest.raises((ValueError, NotImplementedError)):
                handle.create_grid(config)

    check_flat(comm, rounds_for(comm, 2000), one_round)


def quick_options(**fields: object) -> cudecomp.GridDescAutotuneOptions:
    """Autotuning of everything, as briefly as can be."""
    return cudecomp.GridDescAutotuneOptions(
        **{
            "n_warmup_trials": 0,
            "n_trials": 1,
            "autotune_transpose_backend": True,
            "autotune_halo_backend": True,
            "halo_extents": HALO,
            **fields,
        }
    )


def test_autotuned_grids(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Every candidate has communicators, plans and datatypes of its own, the trials have arrays and workspaces."""
    options = quick_options()

    def one_round() -> None:
        handle.create_grid(make_config(comm.size, pdims=(0, 0)), options).destroy()

    check_flat(comm, rounds_for(comm, 1000), one_round)


def test_failed_autotuning(handle: cudecomp.Handle, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused before any trial, after candidates have been made, and by the environment."""
    config = make_config(comm.size, pdims=(0, 0))

    def refused(options: cudecomp.GridDescAutotuneOptions, text: str) -> None:
        with pytest.raises((ValueError, NotImplementedError), match=text):
            handle.create_grid(config, options)

    def one_round() -> None:
        refused(quick_options(disable_mpi_backends=True), "disable_mpi_backends")
        refused(quick_options(halo_extents=(99, 99, 99), halo_periods=(True, True, True)), "no valid candidate")
        with monkeypatch.context() as patch:
            patch.setenv("CUDECOMP_AUTOTUNE_P_ROW_RANGE", "1000,2000")
            refused(quick_options(), "1000,2000")

    check_flat(comm, rounds_for(comm, 1000), one_round)


def test_failed_handles(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused by all ranks after the communicator has been duplicated."""
    monkeypatch.setenv("CUDECOMP_CHECK", "neither 0 nor 1")

    def one_round() -> None:
        with pytest.raises(cudecomp.InvalidUsageError):
            cudecomp.Handle(comm)

    check_flat(comm, rounds_for(comm, 3000), one_round)


def test_shared_arrays(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Made, used by neighbours who map them, and dropped: the mappings of the others must go as well."""
    with a_grid(handle) as grid:

        def one_round() -> None:
            x, y = grid.zeros(0, "float64"), grid.empty(1, "float64")
            grid.transpose_x_to_y(x, y)
            grid.transpose_y_to_z(y, grid.empty(2, "float64"))
            grid.update_halos_y(grid.zeros(1, "float64", HALO), HALO, (True, True, True))

        check_flat(comm, rounds_for(comm, 2000), one_round)


def test_large_shared_arrays(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Large enough for huge pages, and not a multiple of them."""
    gdims = (128, 40 * comm.size, 64)
    with handle.create_grid(make_config(handle.nranks, gdims=gdims, pdims=(comm.size, 1))) as grid:

        def one_round() -> None:
            x = grid.empty(0, "float64")
            assert x.nbytes == 2621440
            grid.transpose_x_to_y(x, grid.empty(1, "float64"))

        check_flat(comm, rounds_for(comm, 200), one_round, warm_up=10)


def test_shared_arrays_of_others_are_let_go(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Many at once, which leave room for as many mappings, are unmapped by the others in the next operation."""
    with a_grid(handle) as grid:

        def use(count: int) -> int:
            """Transposes between some arrays that are alive together; how many blocks are mapped then."""
            arrays = [(grid.zeros(1, "float64"), grid.empty(2, "float64")) for _ in range(count)]
            for y, z in arrays:
                grid.transpose_z_to_y(grid.transpose_y_to_z(y, z), y)
            comm.Barrier()
            return Usage.now(comm).shared

        few = use(2)
        assert use(40) >= few + (76 if comm.size > 1 else 0)
        assert use(2) <= few


def test_shared_arrays_nobody_uses(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    with a_grid(handle) as grid:
        check_flat(comm, rounds_for(comm, 20000), lambda: grid.empty(0, "complex128"))


def test_operations(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """With arrays of the program's own, other ones each time, and outputs that the library makes."""
    with a_grid(handle) as grid:
        shapes = [grid.get_pencil_info(axis).shape for axis in range(3)]
        wide = grid.get_pencil_info(2, HALO).shape

        def one_round() -> None:
            y = grid.transpose_x_to_y(np.ones(shapes[0], "float32"))
            z = grid.transpose_y_to_z(y)
            grid.transpose_z_to_y(z, y)
            grid.transpose_y_to_x(y)
            grid.update_halos_z(np.ones(wide), HALO)

        check_flat(comm, rounds_for(comm, 5000), one_round)


def test_many_geometries_of_one_grid(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """What is kept per geometry is bounded, or small."""
    with a_grid(handle) as grid:
        paddings = itertools.cycle(itertools.product(range(11), repeat=3))

        def one_round() -> None:
            padding = next(paddings)
            y = np.ones(grid.get_pencil_info(1, None, padding).shape)
            grid.transpose_y_to_z(y, input_padding=padding)

        check_flat(comm, rounds_for(comm, 5000), one_round, warm_up=300)


def test_failed_operations(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    with a_grid(handle) as grid:
        x, out = np.ones(grid.get_pencil_info(0).shape), np.ones(grid.get_pencil_info(1).shape)
        out.flags.writeable = False

        def one_round() -> None:
            with pytest.raises(ValueError, match="shape"):
                grid.transpose_x_to_y(np.ones((2, 2, 2)))
            with pytest.raises(ValueError, match="read-only"):
                grid.transpose_x_to_y(x, out)
            with pytest.raises(ValueError, match="halo_extents"):
                grid.update_halos_x(x, (999, 999, 999), (True, True, True), 0)

        check_flat(comm, rounds_for(comm, 5000), one_round)


def test_nothing_of_it_has_a_name(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Shared memory is in no folder, so that a process that is killed leaves no file behind."""
    with a_grid(handle) as grid:
        arrays = [grid.zeros(axis, "float64") for axis in range(3)]
        grid.transpose_x_to_y(arrays[0], arrays[1])
        maps = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
        ours = [fields[5] for fields in maps if len(fields) == 6 and "cudecomp" in fields[5] and "s" in fields[1]]
        assert all(name.startswith("/memfd:cudecomp") and name.endswith("(deleted)") for name in ours), ours
        assert not list(Path("/dev/shm").glob("*cudecomp*"))
