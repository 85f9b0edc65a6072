# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the example programs share: the choice between NumPy and CuPy, their arguments, and what they report."""

import argparse
import contextlib
import functools
import importlib
import os
from pathlib import Path

import numpy as np
from mpi4py import MPI

import cudecomp

X, Y, Z = range(3)


class Arrays:
    """NumPy on the CPU, or CuPy with one GPU for each rank; to be made before the first `Handle`.

    `xp` is the package that makes the arrays, `fft` the one that transforms them; names in them are alike on both.
    """

    def __init__(self, device, comm):
        self.on_gpu = device == "gpu"
        if self.on_gpu:
            self.xp = importlib.import_module("cupy")
            self._take_a_gpu(comm)
        else:
            self.xp = np
            # NumPy arrays are for the built-in engine, also where NVIDIA's library is installed.
            os.environ.setdefault("CUDECOMP_LIBRARY", "builtin")

    def _take_a_gpu(self, comm):
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.xp.cuda.Device(node.rank % self.xp.cuda.runtime.getDeviceCount()).use()
        node.Free()

    @functools.cached_property
    def fft(self):
        return importlib.import_module("cupyx.scipy.fft" if self.on_gpu else "scipy.fft")

    @property
    def backends(self):
        """Fields of a configuration: on GPUs NCCL, which works with any MPI; the MPI backends need a CUDA-aware one."""
        if not self.on_gpu:
            return {}
        return {
            "transpose_comm_backend": cudecomp.TransposeCommBackend.NCCL,
            "halo_comm_backend": cudecomp.HaloCommBackend.NCCL,
        }

    def to_host(self, array):
        return self.xp.asnumpy(array) if self.on_gpu else array

    def synchronize(self):
        """Waits for the GPU, before a clock is read."""
        if self.on_gpu:
            self.xp.cuda.get_current_stream().synchronize()


class Report:
    """Prints on rank 0, and remembers whether a check failed."""

    def __init__(self, comm):
        self._comm = comm
        self._failed = False

    def __call__(self, text):
        if self._comm.rank == 0:
            print(text)

    def check(self, what, error, at_most):
        """Prints an error, the same on all ranks, and fails the program if it is too large, or not a number."""
        good = error <= at_most
        self._failed = self._failed or not good
        self(f"  {what:<62} {error:8.2g}, at most {at_most:.2g}{'' if good else '  TOO LARGE'}")

    @property
    def exit_code(self):
        return 1 if self._failed else 0


def argument_parser(doc, grid, pdims=True, device=True):
    """A parser with the arguments that the programs share; `grid` is the default of --grid."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--grid",
        nargs=3,
        type=positive,
        default=grid,
        metavar=("NX", "NY", "NZ"),
        help=f"points (default: {' '.join(map(str, grid))})",
    )
    if pdims:
        parser.add_argument(
            "--pdims", nargs=2, type=positive, metavar=("ROWS", "COLS"), help="process grid (near square)"
        )
    if not device:
        return parser
    parser.add_argument(
        "--device", choices=["cpu", "gpu"], default="cpu", help="NumPy with the built-in engine, or CuPy (%(default)s)"
    )
    return parser


def parse(parser, arguments, comm):
    """The arguments, `pdims` made to fit the ranks where it is one of them; rank 0 alone prints help or complaints."""
    with Path(os.devnull).open("w") as nowhere, contextlib.ExitStack() as stack:
        if comm.rank:
            stack.enter_context(contextlib.redirect_stdout(nowhere))
            stack.enter_context(contextlib.redirect_stderr(nowhere))
        options = parser.parse_args(arguments)
        options.grid = tuple(options.grid)
        if hasattr(options, "pdims"):
            options.pdims = rows, columns = tuple(options.pdims or MPI.Compute_dims(comm.size, 2))
            if rows * columns != comm.size:
                parser.error(f"--pdims {rows} {columns} is for {rows * columns} ranks, this run has {comm.size}")
    return options


def too_many_ranks(options, report):
    """Whether a rank has no point of an X-pencil that could be a neighbour's halo; tells so."""
    too_many = any(n < parts for n, parts in zip(options.grid[Y:], options.pdims, strict=True))
    if too_many:
        rows, columns = options.pdims
        report(f"a halo needs {rows} points or more along Y and {columns} along Z: use a larger --grid or fewer ranks")
    return too_many


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
    return value


def above_zero(text):
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be above 0 and finite, got {text}")
    return value
