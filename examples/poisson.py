# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Solves the Poisson equation on a periodic box and checks the answer.

    mpirun -n 4 python examples/poisson.py --grid 96 96 96 --dtype float32
    mpirun -n 4 python examples/poisson.py --grid 512 512 512 --dtype complex128 --device gpu

The equation is ∇²u = f on [0, 2π)³. Fourier transforms turn it into a division by -|k|², and a transform along an axis
needs the whole axis on one rank: so each one runs in the pencil layout of its axis, with a transpose in between.

    f (X-pencils) ─fft x─▶ ─x_to_y─▶ ─fft y─▶ ─y_to_z─▶ ─fft z─▶  ÷ -|k|²  ─▶ and all the way back to u (X-pencils)

A known u, smooth but with infinitely many modes, gives f; so the error falls exponentially as the grid is refined,
until rounding is all that is left. The program exits with 1 if the error is larger than theory allows on a grid.
"""

import math
import sys
import time
from contextlib import contextmanager

import numpy as np
import scipy.special
from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, Z, argument_parser, parse, positive

# u = exp(s(x) + s(y) + s(z)) with s(t) = amplitude * sin(wavenumber * t + phase); no two axes are alike, so that no
# mix-up of axes can go unseen.
AMPLITUDES = {"real": (1.0, 0.8, 0.5), "complex": (1.0 + 0.5j, 0.8 - 0.3j, 0.5 + 0.6j)}
WAVENUMBERS = (1, 1, 2)
PHASES = (0.3, 1.1, 0.7)
BOX = (2 * np.pi, 2 * np.pi, 2 * np.pi)


class PoissonSolver:
    """Solves ∇²u = f for one grid, process grid and type; fields are X-pencils of shape `info.shape`."""

    def __init__(self, handle, gdims, dtype, pdims, arrays):
        self.gdims = tuple(gdims)
        self.dtype = np.dtype(dtype)
        self.is_real = self.dtype.kind == "f"
        self.seconds = {"FFT": 0.0, "transposes": 0.0}
        self._arrays = arrays
        # A real field has a spectrum of half the length along X. Y and Z are the same, and so is their split: what one
        # rank holds of the field in X-pencils is what it holds of the spectrum.
        spectrum = (self.gdims[X] // 2 + 1, *self.gdims[1:]) if self.is_real else self.gdims
        self._field_grid = self._create_grid(handle, self.gdims, pdims)
        self._grid = self._create_grid(handle, spectrum, pdims)
        self.info = self._field_grid.get_pencil_info(X)
        self._spectrum = [self._grid.empty(axis, np.result_type(dtype, np.complex64)) for axis in (X, Y, Z)]
        self._inverse_laplacian = self._make_inverse_laplacian()

    def _create_grid(self, handle, gdims, pdims):
        # Each pencil is stored with its own axis fastest, which is the last axis of its array.
        config = cudecomp.GridDescConfig(
            gdims=gdims, pdims=pdims, transpose_axis_contiguous=(True, True, True), **self._arrays.backends
        )
        return handle.create_grid(config)

    def _make_inverse_laplacian(self):
        """-1/|k|² for the modes that this rank holds in Z-pencils; 0 for the constant, which f does not determine."""
        wavenumbers = self._grid.wavenumbers(Z, BOX, real_axis=X if self.is_real else None)
        squares = sum(k**2 for k in wavenumbers)
        inverse = np.divide(-1.0, squares, out=np.zeros(squares.shape), where=squares > 0)
        return self._arrays.xp.asarray(inverse, dtype=np.finfo(self.dtype).dtype)

    def destroy(self):
        self._grid.destroy()
        self._field_grid.destroy()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.destroy()

    def solve(self, f):
        """u for a right-hand side; both are X-pencils, u has no constant part."""
        fft, grid, (x, y, z) = self._arrays.fft, self._grid, self._spectrum
        forward, backward = (fft.rfft, fft.irfft) if self.is_real else (fft.fft, fft.ifft)
        spectrum = self._transform(forward, f)
        spectrum = self._transform(fft.fft, self._transpose(grid.transpose_x_to_y, spectrum, y), overwrite_x=True)
        spectrum = self._transform(fft.fft, self._transpose(grid.transpose_y_to_z, spectrum, z), overwrite_x=True)
        spectrum *= self._inverse_laplacian
        spectrum = self._transform(fft.ifft, spectrum, overwrite_x=True)
        spectrum = self._transform(fft.ifft, self._transpose(grid.transpose_z_to_y, spectrum, y), overwrite_x=True)
        return self._transform(backward, self._transpose(grid.transpose_y_to_x, spectrum, x), n=self.gdims[X])

    def _transform(self, function, pencil, **options):
        with self._timed("FFT"):
            return self._arrays.xp.ascontiguousarray(function(pencil, axis=-1, **options))

    def _transpose(self, operation, pencil, out):
        with self._timed("transposes"):
            return operation(pencil, out)

    @contextmanager
    def _timed(self, part):
        self._arrays.synchronize()
        start = time.perf_counter()
        yield
        self._arrays.synchronize()
        self.seconds[part] += time.perf_counter() - start

    def exact(self):
        """u and f = ∇²u on this rank's X-pencil, straight from the formula."""
        amplitudes = AMPLITUDES["real" if self.is_real else "complex"]
        exponent, factor = 0.0, 0.0
        points = self._field_grid.coordinates(X, BOX)
        for x, a, k, phase in zip(points, amplitudes, WAVENUMBERS, PHASES, strict=True):
            angle = k * x + phase
            exponent = exponent + a * np.sin(angle)
            factor = factor + (a * k * np.cos(angle)) ** 2 - a * k**2 * np.sin(angle)
        u = np.exp(exponent)
        return [self._arrays.xp.asarray(field, dtype=self.dtype) for field in (u, factor * u)]

    def relative_error(self, u, exact):
        """Largest deviation over all ranks, the constant parts left out, relative to the largest value."""
        comm, points = self._grid.handle.comm, math.prod(self.gdims)
        constant = [comm.allreduce(complex(field.sum(dtype=complex))) / points for field in (u, exact)]
        deviation = self._field_grid.max_difference(u - constant[0], exact - constant[1], X)
        return deviation / self._field_grid.max_difference(exact, 0, X)


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


def run(comm, gdims, dtype, pdims, arrays, repeats=1):
    """Solves once to warm up, then `repeats` times; returns the relative error, and the seconds per solve by part."""
    with cudecomp.Handle(comm) as handle, PoissonSolver(handle, gdims, dtype, pdims, arrays) as solver:
        exact, f = solver.exact()
        u = solver.solve(f)
        error = solver.relative_error(u, exact)
        solver.seconds = dict.fromkeys(solver.seconds, 0.0)
        comm.Barrier()
        start = time.perf_counter()
        for _ in range(repeats):
            solver.solve(f)
        total = time.perf_counter() - start
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


def main(arguments=None):
    comm = MPI.COMM_WORLD
    parser = argument_parser(__doc__, grid=(64, 64, 64))
    parser.add_argument("--dtype", choices=["float32", "float64", "complex64", "complex128"], default="float64")
    parser.add_argument("--repeats", type=positive, default=5, help="timed solves (%(default)s)")
    options = parse(parser, arguments, comm)
    arrays, report = Arrays(options.device, comm), Report(comm)
    report(f"Poisson equation, {options.dtype}, {comm.size} ranks as {options.pdims[0]} x {options.pdims[1]}")
    report("Largest deviation from the analytic solution, relative to its largest value, and what theory allows:")
    # The coarser grids show how the error falls; the last one is the one that was asked for.
    for gdims in [tuple(max(1, n // divisor) for n in options.grid) for divisor in (4, 2, 1)]:
        error, seconds = run(comm, gdims, options.dtype, options.pdims, arrays, options.repeats)
        report.check(" x ".join(map(str, gdims)), error, error_bound(gdims, options.dtype))
    report_times(comm, seconds)
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
