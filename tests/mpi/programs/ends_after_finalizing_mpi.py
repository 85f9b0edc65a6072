# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Ends MPI by itself while a handle and a grid are still alive."""

import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.append(str(Path(__file__).resolve().parents[3]))
import cudecomp
from tests import reference as ref

comm = MPI.COMM_WORLD
handle = cudecomp.Handle(comm)
grid = handle.create_grid(cudecomp.GridDescConfig(gdims=(9, 10, 11), pdims=(1, comm.size)))
decomposition = ref.Decomposition((9, 10, 11), (1, comm.size))
field = ref.cell_values((9, 10, 11), "float64")
source, target = (decomposition.pencil(axis, comm.rank) for axis in (0, 1))
result = grid.transpose_x_to_y(source.fill(np.empty(source.shape), field))
assert ref.same_bits(result, target.fill(np.empty(target.shape), field))
MPI.Finalize()
