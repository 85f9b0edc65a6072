# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Small helpers of the parallel tests."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from mpi4py import MPI

import cudecomp
from tests import reference as ref

GDIMS = (9, 10, 11)


def process_grid(nranks: int) -> tuple[int, int]:
    """The process grid that is closest to a square."""
    return min(ref.factorisations(nranks), key=lambda pdims: abs(pdims[0] - pdims[1]))


def make_config(nranks: int, **fields: object) -> cudecomp.GridDescConfig:
    """A valid configuration, apart from what `fields` say."""
    return cudecomp.GridDescConfig(**{"gdims": GDIMS, "pdims": process_grid(nranks), **fields})


def reference_of(config: cudecomp.GridDescConfig) -> ref.Decomposition:
    """The reference for a configuration without explicit memory orders."""
    col_major = config.rank_order == cudecomp.RankOrder.COL_MAJOR
    gdims, pdims, dist = (tuple(field.tolist()) for field in (config.gdims, config.pdims, config.gdims_dist))
    mem_order = ref.mem_order_of(tuple(config.transpose_axis_contiguous.tolist()))
    return ref.Decomposition(gdims, pdims, dist, col_major, mem_order)


def round_trip(grid: cudecomp.GridDesc, comm: MPI.Comm, run: int = 0) -> None:
    """Checks all four transposes and a halo update of a grid without explicit memory orders. Collective over `comm`."""
    decomposition = reference_of(grid.get_config())
    field = ref.cell_values(decomposition.gdims, "float64", run)
    pencils = [decomposition.pencil(axis, comm.rank) for axis in range(3)]
    array = pencils[0].fill(np.empty(pencils[0].shape), field)
    for op, (_, target) in ref.TRANSPOSES.items():
        out = grid.empty(target, "float64") if run % 2 else None
        array = getattr(grid, f"transpose_{op}")(array, out)
        assert ref.same_bits(array, pencils[target].fill(np.empty(pencils[target].shape), field)), op

    halo = tuple(min(1, n) for n in decomposition.smallest_extents(2))
    wide = decomposition.pencils(2, halo)
    arrays = [pencil.fill(np.full(pencil.shape, -1.0), field) for pencil in wide]
    mine = arrays[comm.rank].copy()
    grid.update_halos_z(mine, halo, (True, True, True))
    ref.update_halos(decomposition, 2, wide, arrays, (True, True, True), None)
    assert ref.same_bits(mine, arrays[comm.rank])


def load_example(name: str) -> ModuleType:
    """A program of examples/ as a module, which finds its neighbours as it does when it is run."""
    folder = str(Path(__file__).resolve().parents[2] / "examples")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


#: Programs of examples/ that take --device, with arguments that make them quick.
EXAMPLE_RUNS = [
    ("basic", "--grid 9 10 11"),
    ("poisson", "--grid 12 16 20 --dtype float32 --repeats 1"),
    ("poisson", "--grid 12 16 20 --dtype complex128 --repeats 1"),
    ("taylor_green", "--grid 12 10 15 --end 0.12 --dt 0.04 --serial"),
    ("heat", "--order 2 --grid 16 28 36 --boundaries periodic fixed insulated --serial"),
    ("particle_mesh", "--grid 8 9 10 --particles 500 --steps 2"),
]
