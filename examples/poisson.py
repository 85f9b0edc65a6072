# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Solves the Poisson equation on a periodic box and checks the answer.

    mpirun -n 4 python examples/poisson.py --grid 96 96 96 --dtype float32

The equation is ∇²u = f on [0, 2π)³. Fourier transforms turn it into a division by -|k|², and a transform along an axis
needs the whole axis on one rank: so each one runs in the pencil layout of its axis, with a transpose in between.

    f (X-pencils) ─fft x─▶ ─x_to_y─▶ ─fft y─▶ ─y_to_z─▶ ─fft z─▶  ÷ -|k|²  ─▶ and all the way back to u (X-pencils)

A known u, smooth but with infinitely many modes, gives f; so the error falls exponentially as the grid is refined,
until rounding is all that is left. The program exits with 1 if the error is larger than theory allows on a grid.
"""

import argparse
import sys
import time
from contextlib import contextmanager

import numpy as np
import scipy.fft
import scipy.special
from mpi4py import MPI

import cudecomp

X, Y, Z = range(3)

# u = exp(s(x) + s(y) + s(z)) with s(t) = amplitude * sin(wavenumber * t + phase); no two axes are alike, so that no
# mix-up of axes can go unseen.
AMPLITUDES = {"real": (1.0, 0.8, 0.5), "complex": (1.0 + 0.5j, 0.8 - 0.3j, 0.5 + 0.6j)}
WAVENUMBERS = (1, 1, 2)
PHASES = (0.3, 1.1, 0.7)


class PoissonSolver:
    """Solves ∇²u = f for one grid, process grid and type; fields are X-pencils of shape `shape`."""

    def __init__(self, handle, gdims, dtype, pdims):
        self.gdims = tuple(gdims)
        self.dtype = np.dtype(dtype)
        self.is_real = self.dtype.kind == "f"
        self.seconds = {"FFT": 0.0, "transposes": 0.0}
        # A real field has a spectrum of half the length along X. Y and Z are the same, and so is their split: what one
        # rank holds of the field in X-pencils is what it holds of the spectrum.
        spectrum = (self.gdims[X] // 2 + 1, *self.gdims[1:]) if self.is_real else self.gdims
        self._field_grid = self._create_grid(handle, self.gdims, pdims)
        self._grid = self._create_grid(handle, spectrum, pdims)
        self.info = self._field_grid.get_pencil_info(X)
        self.shape = self.info.shape
        self._inverse_laplacian = self._make_inverse_laplacian()

    @staticmethod
    def _create_grid(handle, gdims, pdims):
        # Each pencil is stored with its own axis fastest, which is the last axis of its array.
        config = cudecomp.GridDescConfig(gdims=gdims, pdims=pdims, transpose_axis_contiguous=(True, True, True))
        return handle.create_grid(config)

    def _make_inverse_laplacian(self):
        """-1/|k|² for the modes that this rank holds in Z-pencils; 0 for the constant, which f does not determine."""
        info = self._grid.get_pencil_info(Z)
        squares = np.zeros(info.shape)
        for array_axis, axis in enumerate(info.order):
            modes = scipy.fft.fftfreq(self.gdims[axis], 1 / self.gdims[axis])
            local = modes[info.lo[array_axis] : info.hi[array_axis] + 1]
            squares += along(array_axis, local**2)
        inverse = np.divide(-1.0, squares, out=np.zeros(info.shape), where=squares > 0)
        return inverse.astype(np.finfo(self.dtype).dtype)

    def destroy(self):
        self._grid.destroy()
        self._field_grid.destroy()

    def solve(self, f):
        """u for a right-hand side; both are X-pencils, u has no constant part."""
        forward, backward = (scipy.fft.rfft, scipy.fft.irfft) if self.is_real else (scipy.fft.fft, scipy.fft.ifft)
        spectrum = self._fft(forward, f)
        spectrum = self._fft(scipy.fft.fft, self._transpose(self._grid.transpose_x_to_y, spectrum))
        spectrum = self._fft(scipy.fft.fft, self._transpose(self._grid.transpose_y_to_z, spectrum))
        spectrum *= self._inverse_laplacian
        spectrum = self._transpose(self._grid.transpose_z_to_y, self._fft(scipy.fft.ifft, spectrum))
        spectrum = self._transpose(self._grid.transpose_y_to_x, self._fft(scipy.fft.ifft, spectrum))
        return self._fft(backward, spectrum, n=self.gdims[X])

    def _fft(self, transform, pencil, **options):
        with self._timed("FFT"):
            return np.ascontiguousarray(transform(pencil, axis=-1, **options))

    def _transpose(self, operation, pencil):
        with self._timed("transposes"):
            return operation(pencil)

    @contextmanager
    def _timed(self, part):
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    def exact(self):
        """u and f = ∇²u on this rank's X-pencil, straight from the formula."""
        amplitudes = AMPLITUDES["real" if self.is_real else "complex"]
        exponent, factor = 0.0, 0.0
        for array_axis, axis in enumerate(self.info.order):
            points = np.arange(self.info.lo[array_axis], self.info.hi[array_axis] + 1) * (2 * np.pi / self.gdims[axis])
            a, k, angle = amplitudes[axis], WAVENUMBERS[axis], WAVENUMBERS[axis] * points + PHASES[axis]
            exponent = exponent + along(array_axis, a * np.sin(angle))
            factor = factor + along(array_axis, (a * k * np.cos(angle)) ** 2 - a * k**2 * np.sin(angle))
        u = np.exp(exponent)
        return u.astype(self.dtype), (factor * u).astype(self.dtype)


def along(array_axis, values):
    """Values along one axis of a 3-D array, ready for broadcasting."""
    shape = [1, 1, 1]
    shape[array_axis] = -1
    return np.reshape(values, shape)


def relative_error(comm, gdims, u, exact):
    """Largest deviation over all ranks, the constant parts left out, relative to the largest value."""
    constants = comm.allreduce(np.array([u.sum(dtype=complex), exact.sum(dtype=complex)])) / np.prod(gdims, dtype=float)
    deviation = np.abs((u - constants[0]) - (exact - constants[1]))
    largest = np.array([deviation.max(initial=0.0), np.abs(exact).max(initial=0.0)], float)
    comm.Allreduce(MPI.IN_PLACE, largest, MPI.MAX)
    return float(largest[0] / largest[1])


def error_bound(gdims, dtype):
    """What the error may be on this grid: modes that the grid cannot tell from lower ones, and rounding.

    exp(a sin(kt)) has the mode nk with the weight I_n(|a|), a Bessel function that falls faster than exponentially.
    On N points a mode m from N/2 on is taken for its alias N - m, and the solver divides by the square of that one.
    """
    dtype = np.dtype(dtype)
    amplitudes = AMPLITUDES["real" if dtype.kind == "f" else "complex"]
    bound = 100 * float(np.finfo(dtype).eps)
    for points, a, k in zip(gdims, amplitudes, WAVENUMBERS, strict=True):
        n = np.arange(1, points + 100)
        m = n * k
        amplification = (m / np.maximum(points - m, 1)) ** 2
        bound += float(np.sum(2 * scipy.special.iv(n, abs(a)) * amplification, where=2 * m >= points))
    return bound


def run(comm, gdims, dtype, pdims, repeats=1):
    """Solves once to warm up, then `repeats` times; returns the relative error, and the seconds per solve by part."""
    with cudecomp.Handle(comm) as handle:
        solver = PoissonSolver(handle, gdims, dtype, pdims)
        exact, f = solver.exact()
        u = solver.solve(f)
        error = relative_error(comm, gdims, u, exact)
        solver.seconds = dict.fromkeys(solver.seconds, 0.0)
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(repeats):
            solver.solve(f)
        total = time.perf_counter() - start
        solver.destroy()
    parts = {**solver.seconds, "rest": total - sum(solver.seconds.values()), "total": total}
    return error, {part: seconds / repeats for part, seconds in parts.items()}


def report_times(comm, seconds):
    """Prints, on rank 0, the milliseconds of each part over the ranks."""
    table = comm.gather(list(seconds.values()))
    if comm.rank:
        return
    milliseconds = 1e3 * np.array(table)
    whole = milliseconds[:, -1].mean()
    print(f"  {'where the time went':<20} {'min':>9} {'mean':>9} {'max':>9}  ms per solve, over the ranks")
    for part, column in zip(seconds, milliseconds.T, strict=True):
        print(f"  {part:<20} {column.min():9.3f} {column.mean():9.3f} {column.max():9.3f} {column.mean() / whole:6.0%}")


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", nargs=3, type=positive, default=(64, 64, 64), metavar=("NX", "NY", "NZ"))
    parser.add_argument("--dtype", choices=["float32", "float64", "complex64", "complex128"], default="float64")
    parser.add_argument("--pdims", nargs=2, type=positive, metavar=("ROWS", "COLS"), help="process grid (near square)")
    parser.add_argument("--repeats", type=positive, default=5, help="timed solves (%(default)s)")
    return parser.parse_args(arguments)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {value}")
    return value


def main(arguments=None):
    comm = MPI.COMM_WORLD
    options = parse_arguments(arguments)
    pdims = tuple(options.pdims or MPI.Compute_dims(comm.size, 2))
    gdims = tuple(options.grid)
    if pdims[0] * pdims[1] != comm.size:
        if comm.rank == 0:
            print(f"--pdims {pdims[0]} {pdims[1]} is for {pdims[0] * pdims[1]} ranks, this run has {comm.size}")
        return 2
    if comm.rank == 0:
        print(f"Poisson equation, {options.dtype}, {comm.size} ranks as {pdims[0]} x {pdims[1]}")
        print(f"  {'grid':<20} {'error':>9} {'at most':>9}  largest deviation from the analytic solution, relative")
    passed = True
    # The coarser grids show how the error falls; the last one is the one that was asked for.
    for grid in [tuple(max(1, n // divisor) for n in gdims) for divisor in (4, 2, 1)]:
        error, seconds = run(comm, grid, options.dtype, pdims, options.repeats)
        bound = error_bound(grid, options.dtype)
        passed = passed and error <= bound
        if comm.rank == 0:
            verdict = "" if error <= bound else "TOO LARGE"
            print(f"  {' x '.join(map(str, grid)):<20} {error:9.1e} {bound:9.1e}  {verdict}".rstrip())
    report_times(comm, seconds)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
