# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Random geometries and chains of operations for as long as wanted: mpirun -n 4 python tests/soak.py --minutes 10

Every cell of every array is compared with the reference after every operation: owned cells, halos, and everything that
must stay as it was. The first difference ends the program with exit code 1 and says how to repeat it. Grids stay small:
what is rare depends on shapes and orders of calls, not on sizes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.append(str(Path(__file__).resolve().parent.parent))
import cudecomp
from tests import reference as ref
from tests.parallel import environment, outcomes

WORLD = MPI.COMM_WORLD

#: Operations on one grid before it is destroyed, and grids of one handle before that is.
LONGEST_CHAIN = 12
MOST_GRIDS = 6

BACKENDS = ("MPI_P2P", "MPI_P2P_PL", "MPI_A2A")
HALO_BACKENDS = ("MPI", "MPI_BLOCKING")


@dataclass
class State:
    """The array of this rank, and what all ranks' arrays should hold."""

    axis: int
    pencils: list[ref.Pencil]
    expected: list[np.ndarray]
    mine: np.ndarray


class Chain:
    """Operations on one grid, one after the other. All ranks draw the same numbers."""

    def __init__(self, random_numbers: random.Random, handle: cudecomp.Handle, round_number: int) -> None:
        self.draw = random_numbers
        self.rank = handle.rank
        self.decomposition, config = self.geometry(handle.nranks)
        self.dtype = self.draw.choice(ref.DTYPES)
        self.log = [f"{self.decomposition}, {config!r}, {self.dtype}"]
        self.field = ref.cell_values(self.decomposition.gdims, self.dtype, round_number % 10)
        self.grid = handle.create_grid(config)

    def geometry(self, nranks: int) -> tuple[ref.Decomposition, cudecomp.GridDescConfig]:
        draw = self.draw
        gdims = tuple(draw.choice((1, 2, 3, 5, 8, 13, 16, 21, 40)) for _ in range(3))
        pdims = draw.choice(ref.factorisations(nranks))
        dist = tuple(draw.randint(1, n) for n in gdims) if draw.random() < 0.2 else ref.ZERO
        col_major = draw.random() < 0.5
        orders = tuple(draw.choice(ref.PERMUTATIONS) for _ in range(3))
        config = cudecomp.GridDescConfig(
            gdims=gdims,
            gdims_dist=dist,
            pdims=pdims,
            rank_order=cudecomp.RankOrder.COL_MAJOR if col_major else cudecomp.RankOrder.ROW_MAJOR,
            transpose_mem_order=orders,
            transpose_comm_backend=cudecomp.TransposeCommBackend[draw.choice(BACKENDS)],
            halo_comm_backend=cudecomp.HaloCommBackend[draw.choice(HALO_BACKENDS)],
        )
        return ref.Decomposition(gdims, pdims, dist, col_major, orders), config

    def run(self) -> tuple[int, str | None]:
        """The number of operations that were right, and what was wrong with the next one on any rank."""
        axis = self.draw.randrange(3)
        state = self.start(axis, self.extents(), self.extents())
        for done in range(self.draw.randint(1, LONGEST_CHAIN)):
            state = self.update(state) if self.draw.random() < 0.4 else self.transpose(state)
            if problem := outcomes(WORLD, self.difference(state)):
                return done, problem
        self.grid.destroy()
        return done + 1, None

    def extents(self) -> tuple[int, int, int]:
        return tuple(self.draw.choice((0, 0, 1, 2)) for _ in range(3))

    def start(self, axis: int, halo: tuple[int, ...], padding: tuple[int, ...]) -> State:
        """Poisoned arrays of all ranks with the field in their owned cells."""
        pencils = self.decomposition.pencils(axis, halo, padding)
        expected = self.poisoned(pencils)
        for pencil, array in zip(pencils, expected, strict=True):
            pencil.fill(array, self.field)
        mine = self.array(axis, pencils[self.rank])
        mine[...] = expected[self.rank]
        return State(axis, pencils, expected, mine)

    def poisoned(self, pencils: list[ref.Pencil]) -> list[np.ndarray]:
        salt = self.draw.randrange(4)
        return [ref.poison(p.size, self.dtype, rank, salt).reshape(p.shape) for rank, p in enumerate(pencils)]

    def array(self, axis: int, pencil: ref.Pencil) -> np.ndarray:
        """Memory of one kind or the other, each rank by itself."""
        if random.Random(self.draw.random() + self.rank).random() < 0.5:
            return self.grid.empty(axis, self.dtype, pencil.halo, pencil.padding)
        return np.empty(pencil.shape, self.dtype)

    def transpose(self, state: State) -> State:
        op = self.draw.choice([op for op, (source, _) in ref.TRANSPOSES.items() if source == state.axis])
        target_axis = ref.TRANSPOSES[op][1]
        halo, padding = self.extents(), self.extents()
        pencils = self.decomposition.pencils(target_axis, halo, padding)
        source, target = state.pencils[self.rank], pencils[self.rank]
        in_place = self.draw.random() < 0.3
        self.log.append(f"transpose_{op} {source.halo} {source.padding} -> {halo} {padding}, in place: {in_place}")

        expected = self.poisoned(pencils)
        before = state.mine.copy()
        if in_place:
            mine, given = self.one_buffer(source, target, state.mine, expected)
        else:
            mine, given = self.array(target_axis, target), state.mine
            mine[...] = expected[self.rank]
        for pencil, array in zip(pencils, expected, strict=True):
            pencil.fill(array, self.field)
        getattr(self.grid, f"transpose_{op}")(
            given,
            mine,
            input_halo_extents=source.halo,
            output_halo_extents=halo,
            input_padding=source.padding,
            output_padding=padding,
        )
        if not in_place and not ref.same_bits(given, before):
            raise AssertionError("the input has changed")
        return State(target_axis, pencils, expected, mine)

    def one_buffer(
        self, source: ref.Pencil, target: ref.Pencil, array: np.ndarray, expected: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Output and input as views of one buffer. What the output's halo and padding hold is what was there before."""
        buffer = ref.poison(max(source.size, target.size), self.dtype, self.rank, 1)
        given, mine = buffer[: source.size].reshape(source.shape), buffer[: target.size].reshape(target.shape)
        given[...] = array
        expected[self.rank][...] = mine
        return mine, given

    def update(self, state: State) -> State:
        """A halo update of the array as it is, as deep as its halo; left out where a part is thinner."""
        pencil = state.pencils[self.rank]
        dim = self.draw.choice((None, 0, 1, 2))
        periods = tuple(self.draw.random() < 0.5 for _ in range(3))
        smallest = self.decomposition.smallest_extents(state.axis)
        dims = range(3) if dim is None else (dim,)
        if any(pencil.halo[d] > smallest[d] for d in dims):
            return state
        self.log.append(f"update_halos_{'xyz'[state.axis]} {pencil.halo} {periods} dim {dim} {pencil.padding}")
        # In-place transposes leave halos that only their own rank knows.
        state.expected = WORLD.allgather(state.mine)
        ref.update_halos(self.decomposition, state.axis, state.pencils, state.expected, periods, dim)
        getattr(self.grid, f"update_halos_{'xyz'[state.axis]}")(
            state.mine, pencil.halo, periods, dim, padding=pencil.padding
        )
        return state

    def difference(self, state: State) -> str | None:
        expected = state.expected[self.rank]
        if ref.same_bits(state.mine, expected):
            return None
        wrong = np.argwhere(state.mine != expected)
        return f"{len(wrong)} of {expected.size} elements of {state.pencils[self.rank]} differ, first at {wrong[:1]}"


def soak(seed: int, seconds: float) -> int:
    """Returns an exit code. The time is rank 0's."""
    start, rounds, operations, chains, handles = time.monotonic(), seed, 0, 0, 0
    while WORLD.bcast(time.monotonic() - start < seconds):
        draw = random.Random(rounds)
        node = draw.choice((None, "1", "2"))
        with environment(CUDECOMP_CHECK=draw.choice(("0", "0", "1")), CUDECOMP_BUILTIN_RANKS_PER_NODE=node):
            handle = cudecomp.Handle(WORLD)
        handles += 1
        for _ in range(draw.randint(1, MOST_GRIDS)):
            chain = Chain(draw, handle, chains)
            try:
                done, problem = chain.run()
            except Exception:
                print(f"rank {WORLD.rank}, repeat with --seed {rounds}:\n", *chain.log, sep="\n")
                raise
            operations, chains = operations + done, chains + 1
            if problem:
                if WORLD.rank == 0:
                    print(f"wrong, repeat with --seed {rounds}:\n", *chain.log, problem, sep="\n")
                return 1
        handle.finalize()
        rounds += 1
    if WORLD.rank == 0:
        minutes = (time.monotonic() - start) / 60
        print(f"{operations} operations on {chains} grids of {handles} handles in {minutes:.1f} minutes, all right")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="the first random seed (default: 0)")
    options = parser.parse_args()
    try:
        return soak(options.seed, 60 * options.minutes)
    except Exception:
        traceback.print_exc()
        WORLD.Abort(1)  # the others wait for this rank
        return 1


if __name__ == "__main__":
    sys.exit(main())
