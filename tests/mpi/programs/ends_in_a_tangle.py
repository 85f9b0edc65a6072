# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Ends with everything still alive and tied together: cycles, exceptions, generators, arrays that outlive their grid.

Ranks differ in what they have dropped by then, so that anything collective at the end would hang.
"""

import atexit
import gc
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path

from mpi4py import MPI

sys.path.append(str(Path(__file__).resolve().parents[3]))
import cudecomp

comm = MPI.COMM_WORLD


def config() -> cudecomp.GridDescConfig:
    return cudecomp.GridDescConfig(gdims=(9, 10, 11), pdims=(comm.size, 1))


def transpose(grid: cudecomp.GridDesc) -> None:
    grid.transpose_x_to_y(grid.zeros(0, "float64"))


def suspended() -> Iterator[cudecomp.GridDesc]:
    with cudecomp.Handle(comm) as handle, handle.create_grid(config()) as grid:
        yield grid


# Memory that neighbours have mapped outlives its grid and its handle.
with cudecomp.Handle(comm) as first, first.create_grid(config()) as grid:
    survivor, target = grid.zeros(0, "float64"), grid.zeros(1, "float64")
    grid.transpose_x_to_y(survivor, target)
if comm.rank % 2:
    del survivor

# A cycle through a module, collected early on some ranks.
handle = cudecomp.Handle(comm)
knot = types.ModuleType("knot")
knot.itself, knot.handle, knot.grid = knot, handle, handle.create_grid(config())
transpose(knot.grid)
sys.modules["knot"] = knot
if comm.rank % 2:
    del sys.modules["knot"], knot, handle
    gc.collect()

# An exception that keeps the frame of the blocks it has left.
try:
    with cudecomp.Handle(comm) as second, second.create_grid(config()) as other:
        transpose(other)
        raise KeyError
except KeyError as error:
    kept = error

generator = suspended()
transpose(next(generator))
if comm.rank % 3 == 1:
    generator.close()

third = cudecomp.Handle(comm)
late = third.create_grid(config())
atexit.register(transpose, late)
threading.Thread(target=threading.Event().wait, daemon=True).start()
comm.Barrier()
