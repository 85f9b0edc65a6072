# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel of one's own between two transposes, all on one stream of cuda.core; needs a GPU for each rank.

    mpirun -n 2 python examples/gpu_cuda_core.py --grid 256 256 256

X-pencils go to Y-pencils, where a kernel takes the second difference along Y, which is periodic; the result goes back
to X-pencils. Nothing waits on the host in between: transposes and kernel are enqueued on the same stream, in order.
The field is sin(y) times something along X and Z, of which the difference is known.
"""

import sys

import numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, argument_parser, parse

SECOND_DIFFERENCE = r"""
// out[line][i] = in[line][i-1] - 2 in[line][i] + in[line][i+1], around the ends of each line of n points.
extern "C" __global__ void second_difference(const double* in, double* out, long lines, long n) {
  const long first = blockIdx.x * (long)blockDim.x + threadIdx.x, step = gridDim.x * (long)blockDim.x;
  for (long cell = first; cell < lines * n; cell += step) {
    const long start = cell / n * n, i = cell - start;
    out[cell] = in[start + (i ? i - 1 : n - 1)] - 2 * in[cell] + in[start + (i + 1 < n ? i + 1 : 0)];
  }
}
"""


def main(arguments=None):
    comm = MPI.COMM_WORLD
    options = parse(argument_parser(__doc__, grid=(64, 64, 64), device=False), arguments, comm)
    arrays, report = Arrays("gpu", comm), Report(comm)
    device = Device(arrays.xp.cuda.Device().id)
    device.set_current()  # before the Handle, which takes the current device
    stream = device.create_stream()
    kernel = compile_kernel(device)

    config = cudecomp.GridDescConfig(
        gdims=options.grid, pdims=options.pdims, transpose_axis_contiguous=(True, True, True), **arrays.backends
    )
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        x_pencil, y_pencil, difference, result = (grid.empty(axis, "float64") for axis in (X, Y, Y, X))
        x_pencil[...] = arrays.xp.asarray(field(grid, options.grid))
        arrays.synchronize()  # CuPy has filled the array on a stream of its own

        grid.transpose_x_to_y(x_pencil, y_pencil, stream=stream)
        lines, n = y_pencil.size // options.grid[Y], options.grid[Y]
        launch(
            stream, LaunchConfig(grid=1024, block=256), kernel,
            y_pencil.data.ptr, difference.data.ptr, np.int64(lines), np.int64(n),
        )  # fmt: skip
        grid.transpose_y_to_x(difference, result, stream=stream)
        stream.sync()

        factor = 2 * np.cos(2 * np.pi / n) - 2
        error = float(abs(result - factor * x_pencil).max()) if result.size else 0.0
        report.check("largest error of the second difference along Y", comm.allreduce(error, MPI.MAX), 1e-13)
    return report.exit_code


def compile_kernel(device):
    options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
    program = Program(SECOND_DIFFERENCE, code_type="c++", options=options)
    return program.compile("cubin").get_kernel("second_difference")


def field(grid, gdims):
    """sin(y) (1 + cos(x) sin(z)) on this rank's X-pencil; each axis is a full period."""
    x, y, z = grid.coordinates(X, (2 * np.pi,) * 3)
    return np.sin(y) * (1 + np.cos(x) * np.sin(z))


if __name__ == "__main__":
    sys.exit(main())
