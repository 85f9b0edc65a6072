# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The heat equation by finite differences of order 2, 4 or 6, with halo updates, and any mix of boundaries.

    mpirun -n 4 python examples/heat.py --grid 32 32 32 --order 6 --boundaries periodic fixed insulated
    mpirun -n 4 python examples/heat.py --grid 16 16 16 --order 2 --serial

∂u/∂t = ∇²u in a box; along each axis the solution is periodic, or zero at the walls (fixed), or has no flux through
them (insulated). Differences of order p reach p/2 points to either side, so the X-pencils have a halo of p/2 layers.
Where a neighbour holds those points, or the far end of a periodic axis does, a halo update brings them; at walls, the
rank fills the halo itself, with the mirror image of its points: negative for fixed walls, positive for insulated ones.
Points are at the middle of cells, so the wall lies half way between a point and its image.

Runge-Kutta steps of fourth order, as long as is stable, have an error of order h⁸, since dt ~ h²: what is left to see
is the error of the differences. The program solves on the grid and on one of half the points, compares with the
analytic solution, a product of sines and cosines that decays, and checks the order. With --serial it checks also that
the result is, bit for bit, that of each rank alone on the whole grid.
"""

import sys

import numpy as np
from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, argument_parser, parse

# Of the second derivative, times h²: the point itself, then its neighbours one, two, three steps away on either side.
COEFFICIENTS = {2: (-2, 1), 4: (-5 / 2, 4 / 3, -1 / 12), 6: (-49 / 18, 3 / 2, -3 / 20, 1 / 90)}
# The mirror image at a wall has this sign.
SIGNS = {"fixed": -1, "insulated": 1}
# The wave along X, Y and Z: not two alike, so that no mix-up of axes can go unseen.
WAVES = (1, 2, 3)
END = 0.05


class HeatSolver:
    """The temperature on one grid, in X-pencils with a halo; on the grid of a single rank it is the serial program."""

    def __init__(self, grid, order, boundaries, arrays):
        self.grid, self.boundaries, self._xp = grid, boundaries, arrays.xp
        self.halo = (order // 2,) * 3
        self.periods = tuple(boundary == "periodic" for boundary in boundaries)
        self.gdims = tuple(grid.get_config().gdims.tolist())
        self.info = grid.get_pencil_info(X, self.halo)
        self.inside = self.info.interior
        # A periodic axis is 2π long, one between walls π.
        lengths = [2 * np.pi if periodic else np.pi for periodic in self.periods]
        spacing = [length / n for length, n in zip(lengths, self.gdims, strict=True)]
        self._points = grid.coordinates(X, lengths, origin=[h / 2 for h in spacing])
        self._weights = [[c / h**2 for c in COEFFICIENTS[order]] for h in spacing]
        self.u, self._stage = (grid.empty(X, "float64", self.halo) for _ in range(2))
        self.u[self.inside] = arrays.xp.asarray(self.exact(0))

    def exact(self, time):
        """The temperature at the points that this rank owns."""
        u = 1
        for x, wave, boundary in zip(self._points, WAVES, self.boundaries, strict=True):
            shape = {"periodic": np.sin(wave * x + 0.4), "fixed": np.sin(wave * x), "insulated": np.cos(wave * x)}
            u = u * np.exp(-(wave**2) * time) * shape[boundary]
        return u

    def longest_step(self):
        """The classical Runge-Kutta scheme is stable up to 2.78 over the fastest decay, that of the zigzag modes."""
        fastest = sum(abs(w[0]) + 2 * sum(abs(c) for c in w[1:]) for w in self._weights)
        return 2.7 / fastest

    def advance(self, end):
        steps = int(np.ceil(end / self.longest_step()))
        for _ in range(steps):
            self._step(end / steps)
        return steps

    def _step(self, dt):
        u, stage = self.u, self._stage
        total = 0
        rate = self._rate(u)
        for weight, ahead in ((1, 1 / 2), (2, 1 / 2), (2, 1)):
            total = total + weight * rate
            stage[self.inside] = u[self.inside] + (ahead * dt) * rate
            rate = self._rate(stage)
        u[self.inside] += (dt / 6) * (total + rate)

    def _rate(self, u):
        """∇²u at the points that this rank owns."""
        self.grid.update_halos_x(u, self.halo, self.periods)
        self._fill_at_walls(u)
        rate = 0
        for array_axis, axis in enumerate(self.info.order):
            center, *others = self._weights[axis]
            rate = rate + center * u[self.inside]
            for distance, weight in enumerate(others, 1):
                rate = rate + weight * (
                    self._shifted(u, array_axis, -distance) + self._shifted(u, array_axis, distance)
                )
        return rate

    def _shifted(self, u, array_axis, distance):
        cut = list(self.inside)
        cut[array_axis] = slice(cut[array_axis].start + distance, cut[array_axis].stop + distance)
        return u[tuple(cut)]

    def _fill_at_walls(self, u):
        """Mirror images in the halo, where the pencil ends at a wall; `update_halos_x` leaves that as it is."""
        for array_axis, axis in enumerate(self.info.order):
            sign, halo = SIGNS.get(self.boundaries[axis]), self.halo[axis]
            lines = self._xp.moveaxis(u, array_axis, 0)  # a view
            if sign and self.info.lo[array_axis] == 0:
                lines[:halo] = sign * lines[halo : 2 * halo][::-1]
            if sign and self.info.hi[array_axis] == self.gdims[axis] - 1:
                lines[-halo:] = sign * lines[-2 * halo : -halo][::-1]


def create_grid(handle, gdims, pdims, arrays):
    return handle.create_grid(cudecomp.GridDescConfig(gdims=gdims, pdims=pdims, **arrays.backends))


def solve(handle, gdims, options, arrays, report):
    """The largest error at the end."""
    with create_grid(handle, gdims, options.pdims, arrays) as grid:
        solver = HeatSolver(grid, options.order, options.boundaries, arrays)
        steps = solver.advance(END)
        error = grid.max_difference(solver.u[solver.inside], solver.exact(END), X)
        report(f"  {' x '.join(map(str, gdims))}, {steps} steps: largest error {error:.2e}")
        if options.serial:
            compare_with_serial(solver, options, arrays, report)
    return error


def compare_with_serial(solver, options, arrays, report):
    """Each rank solves on the whole grid, by a handle of its own, and compares its part."""
    with cudecomp.Handle(MPI.COMM_SELF) as handle, create_grid(handle, solver.gdims, (1, 1), arrays) as grid:
        alone = HeatSolver(grid, options.order, options.boundaries, arrays)
        alone.advance(END)
    wrong = (solver.u[solver.inside] != alone.u[alone.inside][solver.info.global_slices]).sum()
    total = solver.grid.handle.comm.allreduce(int(wrong))
    report.check("points that are not bit for bit those of the serial program", total, 0)


def main(arguments=None):
    comm = MPI.COMM_WORLD
    parser = argument_parser(__doc__, grid=(32, 32, 32))
    parser.add_argument("--order", type=int, choices=COEFFICIENTS, default=4, help="of the differences (%(default)s)")
    parser.add_argument(
        "--boundaries",
        nargs=3,
        choices=["periodic", *SIGNS],
        default=("periodic", "fixed", "insulated"),
        help="along X, Y and Z (%(default)s)",
    )
    parser.add_argument("--serial", action="store_true", help="compare with the same program on one rank; small grids")
    options = parse(parser, arguments, comm)
    arrays, report = Arrays(options.device, comm), Report(comm)
    if any(n % 2 for n in options.grid):
        report("--grid takes even numbers, since the coarse grid has half the points")
        return 2
    fewest = min(n // 2 // parts for n, parts in zip(options.grid, (1, *options.pdims), strict=True))
    if fewest < options.order // 2:
        needed = f"{options.order // 2} points along each axis on each rank, also on the coarse grid,"
        report(f"order {options.order} needs {needed}")
        report(f"which has {fewest} here; use a larger --grid or fewer ranks")
        return 2
    report(f"Heat equation, order {options.order}, boundaries along X, Y, Z: {', '.join(options.boundaries)}")
    with cudecomp.Handle(comm) as handle:
        coarse, fine = (
            solve(handle, tuple(n // divisor for n in options.grid), options, arrays, report) for divisor in (2, 1)
        )
    order = np.log2(coarse / fine)
    report.check(f"order of convergence {order:.2f}, off {options.order}", abs(order - options.order), 0.25)
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
