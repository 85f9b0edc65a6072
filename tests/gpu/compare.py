# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Random operations whose results must be the same bits with either library.

One process has one library, so this runs once with each and compares what was kept:

    CUDECOMP_LIBRARY=builtin mpirun -n 2 python -m tests.gpu.compare --device host --write results
    mpirun -n 2 python -m tests.gpu.compare --device gpu --against results

The seed decides everything: decompositions, orders, extents, types, and the data, halo and padding included.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import cudecomp
from tests import devices
from tests import reference as ref

COMPONENTS = {"float32": "float32", "float64": "float64", "complex64": "float32", "complex128": "float64"}


def random_array(rng: np.random.Generator, size: int, dtype: str, numbers: bool) -> np.ndarray:
    """Numbers of all magnitudes with random bits; or just bits, NaNs, infinities and denormals among them."""
    part = np.dtype(COMPONENTS[dtype])
    count = size * np.dtype(dtype).itemsize // part.itemsize
    if not numbers:
        return np.frombuffer(rng.bytes(count * part.itemsize), dtype)
    magnitudes = np.ldexp(rng.uniform(0.5, 1, count), rng.integers(-100, 100, count))
    return (magnitudes * rng.choice([-1.0, 1.0], count)).astype(part).view(dtype)


class Comparison:
    """Runs the operations of one seed and takes a digest of each result, halo, padding and guards included."""

    def __init__(self, handle: cudecomp.Handle, device: Any, seed: int, numbers: bool = True) -> None:
        self.handle, self.device, self.numbers = handle, device, numbers
        self.draw = random.Random(seed)  # the same on all ranks
        self.data = np.random.default_rng([seed, handle.rank])

    def extents(self, most: int) -> tuple[int, int, int]:
        return tuple(self.draw.choice([0, 0, 1, most]) for _ in range(3))  # type: ignore[return-value]

    def config(self) -> cudecomp.GridDescConfig:
        draw, ranks = self.draw, self.handle.nranks
        gdims = tuple(draw.randint(2 * ranks, 33) for _ in range(3))
        config = cudecomp.GridDescConfig(gdims=gdims, pdims=draw.choice(ref.factorisations(ranks)))
        if draw.random() < 0.3:
            config.gdims_dist = tuple(n - draw.randint(0, n // 3) for n in gdims)
        config.transpose_mem_order = [draw.choice(ref.PERMUTATIONS) for _ in range(3)]
        config.rank_order = draw.choice([cudecomp.RankOrder.ROW_MAJOR, cudecomp.RankOrder.COL_MAJOR])
        pipelined = draw.random() < 0.5
        if self.device.name == "gpu":
            names = ("NCCL_PL" if pipelined else "NCCL", "NCCL")
        else:
            names = ("MPI_P2P_PL" if pipelined else "MPI_P2P", "MPI")
        config.transpose_comm_backend = cudecomp.TransposeCommBackend[names[0]]
        config.halo_comm_backend = cudecomp.HaloCommBackend[names[1]]
        return config

    def run(self, operations: int) -> list[str]:
        with self.handle.create_grid(self.config()) as grid:
            return [self.update(grid) if self.draw.random() < 0.4 else self.transpose(grid) for _ in range(operations)]

    def transpose(self, grid: cudecomp.GridDesc) -> str:
        name = self.draw.choice(list(ref.TRANSPOSES))
        dtype = self.draw.choice(ref.DTYPES)
        halos, paddings = [self.extents(2) for _ in range(2)], [self.extents(3) for _ in range(2)]
        infos = [
            grid.get_pencil_info(axis, halo, padding)
            for axis, halo, padding in zip(ref.TRANSPOSES[name], halos, paddings, strict=True)
        ]
        in_place = self.draw.random() < 0.3
        sizes = [max(info.size for info in infos)] if in_place else [info.size for info in infos]
        spaces = [ref.Guarded(size, dtype, 0) for size in sizes]
        for space in spaces:
            space.memory[...] = random_array(self.data, space.memory.size, dtype, self.numbers)
        with self.device.copies(*spaces) as there:
            getattr(grid, f"transpose_{name}")(
                there[0].array(infos[0].shape),
                there[-1].array(infos[1].shape),
                input_halo_extents=halos[0],
                output_halo_extents=halos[1],
                input_padding=paddings[0],
                output_padding=paddings[1],
            )
        if not in_place:
            return digest(*spaces)
        # Where nothing is written in place, the remains of the input are not defined to stay or to go.
        return digest_of_owned(spaces[0].array(infos[1].shape), infos[1])

    def update(self, grid: cudecomp.GridDesc) -> str:
        axis, dtype = self.draw.randrange(3), self.draw.choice(ref.DTYPES)
        halo, padding = self.extents(1), self.extents(2)
        info = grid.get_pencil_info(axis, halo, padding)
        space = ref.Guarded(info.size, dtype, 0)
        space.memory[...] = random_array(self.data, space.memory.size, dtype, self.numbers)
        periods = tuple(self.draw.random() < 0.5 for _ in range(3))
        dim = self.draw.choice([0, 1, 2, None])
        with self.device.copies(space) as (there,):
            update = getattr(grid, f"update_halos_{'xyz'[axis]}")
            update(there.array(info.shape), halo, periods, dim, padding=padding)
        return digest(space)


def digest(*spaces: ref.Guarded) -> str:
    return hashlib.blake2b(b"".join(space.memory.tobytes() for space in spaces), digest_size=16).hexdigest()


def digest_of_owned(array: np.ndarray, info: cudecomp.PencilInfo) -> str:
    return hashlib.blake2b(np.ascontiguousarray(array[info.interior]).tobytes(), digest_size=16).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="host", choices=["host", "gpu", "fake"])
    parser.add_argument("--seeds", type=int, default=40, help="grids (default: 40)")
    parser.add_argument("--operations", type=int, default=25, help="operations on each grid (default: 25)")
    parser.add_argument(
        "--bits", action="store_true", help="any bits as data; NVIDIA's library keeps numbers, but not all NaNs"
    )
    parser.add_argument("--write", type=Path, metavar="PREFIX", help="keeps the digests, a file for each rank")
    parser.add_argument("--against", type=Path, metavar="PREFIX", help="compares with digests that were kept")
    options = parser.parse_args()

    world = MPI.COMM_WORLD
    device = devices.make(options.device, world.rank)
    with cudecomp.Handle(world) as handle:
        keeper = cudecomp.GridDescConfig(gdims=(8, 8, 8), pdims=(1, world.size))
        if options.device == "gpu":  # NCCL's communicators live as long as a grid that uses them
            keeper.transpose_comm_backend = cudecomp.TransposeCommBackend.NCCL
        with handle.create_grid(keeper):
            seen = [
                Comparison(handle, device, seed, not options.bits).run(options.operations)
                for seed in range(options.seeds)
            ]
    if options.write:
        Path(f"{options.write}.{world.rank}.json").write_text(json.dumps(seen))
    wrong = 0
    if options.against:
        kept = json.loads(Path(f"{options.against}.{world.rank}.json").read_text())
        pairs = zip(itertools.chain(*seen), itertools.chain(*kept), strict=True)
        wrong = sum(mine != theirs for mine, theirs in pairs)
    wrong = world.allreduce(wrong)
    if world.rank == 0:
        compared = f", {wrong} differ from {options.against}" if options.against else ""
        print(
            f"{options.seeds * options.operations} operations on {world.size} ranks, device {options.device}{compared}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
