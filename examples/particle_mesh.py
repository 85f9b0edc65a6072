# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Particles and a mesh: mass is deposited on a periodic grid, and the gravitational potential solved from it.

    mpirun -n 4 python examples/particle_mesh.py --grid 32 32 32 --particles 100000 --steps 5

Particles drift through a periodic box. After each step they go to the rank whose X-pencil has the cell that they are
in. Cloud-in-cell gives a particle's mass to the 8 grid points around it, so it reaches one point beyond the pencil: the
array has a halo of one layer, and what falls there belongs to a neighbour, who must *add* it to his own.

Halo updates copy: a rank's outermost layer into the neighbour's halo. They add with one trick, in `fold`. A rank puts
what fell into its upper halo in the place of its own uppermost layer, which it keeps aside; the update then takes it to
the neighbour's lower halo, where it is added to the lowest layer. One axis after the other, so that what fell beyond an
edge or a corner gets home in two or three steps. Only layers are copied, no ghost particles are sent, and it works
on any library and on GPUs, where particles would have to be duplicated and sent by other means.

Checked are: the mass on the grid, the density against a deposit of all particles on one rank, that every particle is
where it belongs, and the potential against a serial solver.
"""

import math
import sys

import numpy as np
from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, Z, argument_parser, parse, positive, too_many_ranks
from poisson import PoissonSolver

HALO, PERIODS = (1, 1, 1), (True, True, True)


class Particles:
    """Those of this rank: rows of position in cells, velocity in cells for a step, and mass, on the CPU or a GPU."""

    COLUMNS = 7
    SEED = 1

    def __init__(self, comm, gdims, count, arrays):
        self._comm, self._arrays = comm, arrays
        self._gdims = arrays.xp.asarray(gdims, dtype="float64")
        first, last = (count * r // comm.size for r in (comm.rank, comm.rank + 1))
        # One sequence of numbers for all ranks, each beginning where the one before ends: the same particles always.
        generator = np.random.Generator(np.random.PCG64(self.SEED).advance(first * self.COLUMNS))
        self.rows = arrays.xp.asarray(generator.random((last - first, self.COLUMNS)))
        self.position[...] = self.position**2 * self._gdims  # more of them near the origin: ranks get unequal numbers
        self.velocity[...] = 4 * self.velocity - 2
        self._wrap()

    @property
    def position(self):
        return self.rows[:, 0:3]

    @property
    def velocity(self):
        return self.rows[:, 3:6]

    @property
    def mass(self):
        return self.rows[:, 6]

    def drift(self):
        self.position[...] += self.velocity
        self._wrap()

    def _wrap(self):
        self.position[...] %= self._gdims
        # Just below 0 the remainder rounds to the length itself, which is cell 0 again.
        self.position[...] = self._arrays.xp.where(self.position >= self._gdims, 0, self.position)

    def home(self, owners):
        """The rank that owns the cell of each particle, where `owners[z, y]` tells that of a line of cells."""
        cell = self.position.astype(np.int64)
        return owners[cell[:, Z], cell[:, Y]]

    def migrate(self, owners):
        """Sends each particle to the rank that owns its cell."""
        target = self._arrays.to_host(self.home(owners))
        # MPI moves host memory everywhere; particles of a rank go out side by side.
        rows = self._arrays.to_host(self.rows)[np.argsort(target, kind="stable")]
        outgoing = np.bincount(target, minlength=self._comm.size)
        incoming = np.empty_like(outgoing)
        self._comm.Alltoall(outgoing, incoming)
        received = np.empty((incoming.sum(), self.COLUMNS))
        self._comm.Alltoallv(
            [rows, outgoing * self.COLUMNS, MPI.DOUBLE], [received, incoming * self.COLUMNS, MPI.DOUBLE]
        )
        self.rows = self._arrays.xp.asarray(received)


class Mesh:
    """The density on X-pencils with a halo of one layer."""

    def __init__(self, grid, comm, arrays):
        self.grid, self._arrays = grid, arrays
        self.gdims = tuple(grid.get_config().gdims.tolist())
        self.info = grid.get_pencil_info(X, HALO)  # array axes Z, Y, X
        self.inside = self.info.interior
        self.density = grid.empty(X, "float64", HALO)
        self.owners = arrays.xp.asarray(self._owners(comm))

    def _owners(self, comm):
        """The rank that has the line [z, y]; asking all ranks needs to know nothing of how the grid is split."""
        owners = np.empty((self.gdims[Z], self.gdims[Y]), np.int64)
        for rank, part in enumerate(comm.allgather(self.info.global_slices)):
            owners[part[:2]] = rank
        return owners

    def deposit(self, particles):
        """Sets the density to the mass of the particles of all ranks; what is in its halo then means nothing."""
        self.density[...] = cloud_in_cell(particles, self.info, self._arrays.xp)
        for array_axis, axis in enumerate(self.info.order):
            self.fold(array_axis, axis)

    def fold(self, array_axis, axis):
        """Adds what is in the upper halo along an axis to the neighbour's lowest layer."""
        layers = self._arrays.xp.moveaxis(self.density, array_axis, 0)  # a view
        kept = layers[-2].copy()
        layers[-2] = layers[-1]
        self.grid.update_halos_x(self.density, HALO, PERIODS, axis)
        layers[-2] = kept
        layers[1] += layers[0]


def cloud_in_cell(particles, info, xp):
    """The mass on an array with a halo above, of particles that are in cells which the pencil owns."""
    # Cell and fraction in the order of the array axes; index 1 is the first point after the halo below.
    position = particles.position[:, list(info.order)]
    cell = position.astype(np.int64)
    fraction = position - cell
    cell += xp.asarray([1 - lo for lo in info.lo])
    total = xp.zeros(math.prod(info.shape))
    for corner in np.ndindex(2, 2, 2):
        weight = xp.where(xp.asarray(corner, dtype=bool), fraction, 1 - fraction).prod(axis=1)
        z, y, x = (cell + xp.asarray(corner)).T
        point = (z * info.shape[1] + y) * info.shape[2] + x
        total += xp.bincount(point, particles.mass * weight, minlength=total.size)
    return total.reshape(info.shape)


def check(mesh, particles, potential, count, comm, arrays, report):
    """Against what is known, and against one rank that has all particles and the whole grid."""
    density = arrays.xp.ascontiguousarray(mesh.density[mesh.inside])
    masses = [comm.allreduce(float(values.sum())) for values in (density, particles.mass)]
    report.check("mass on the grid, off that of the particles, relative", abs(masses[0] / masses[1] - 1), 1e-12)
    strays = comm.allreduce(int((particles.home(mesh.owners) != comm.rank).sum()))
    report.check("particles on a rank that does not own their cell", strays, 0)
    rows = comm.gather(arrays.to_host(particles.rows))
    everyone = np.concatenate(rows) if comm.rank == 0 else None
    report.check("particles lost or doubled", abs(comm.allreduce(len(particles.rows)) - count), 0)
    serial_density = serial_deposit(everyone, mesh.gdims) if comm.rank == 0 else None
    serial_phi = serial_potential(serial_density) if comm.rank == 0 else None
    for name, ours, serial in (("density", density, serial_density), ("potential", potential, serial_phi)):
        expected = mesh.grid.scatter(serial, X)
        scale = mesh.grid.max_difference(expected, 0, X)
        off = mesh.grid.max_difference(ours, expected, X) / scale
        report.check(f"{name}, off the serial one, relative", off, 1e-12)


def serial_deposit(rows, gdims):
    """The density [x, y, z] of all particles, with NumPy alone and the grid in one piece."""
    density = np.zeros(gdims)
    cell = rows[:, :3].astype(np.int64)
    fraction = rows[:, :3] - cell
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, fraction, 1 - fraction), axis=1)
        np.add.at(density, tuple(((cell + corner) % gdims).T), rows[:, 6] * weight)
    return density


def serial_potential(density):
    k = np.meshgrid(*(np.fft.fftfreq(n, 1 / n) for n in density.shape), indexing="ij")
    squares = sum(component**2 for component in k)
    inverse = np.divide(-1, squares, out=np.zeros(density.shape), where=squares > 0)
    return np.fft.ifftn(np.fft.fftn(density) * inverse).real


def main(arguments=None):
    comm = MPI.COMM_WORLD
    parser = argument_parser(__doc__, grid=(32, 32, 32))
    parser.add_argument("--particles", type=positive, default=100_000, help="on all ranks together (%(default)s)")
    parser.add_argument("--steps", type=positive, default=5, help="in each they drift by up to 2 cells (%(default)s)")
    options = parse(parser, arguments, comm)
    arrays, report = Arrays(options.device, comm), Report(comm)
    if too_many_ranks(options, report):
        return 2
    report(f"{options.particles} particles on {' x '.join(map(str, options.grid))} points and {comm.size} ranks")
    config = cudecomp.GridDescConfig(gdims=options.grid, pdims=options.pdims, **arrays.backends)
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        mesh = Mesh(grid, comm, arrays)
        particles = Particles(comm, options.grid, options.particles, arrays)
        for step in range(options.steps):
            particles.drift()
            particles.migrate(mesh.owners)
            mesh.deposit(particles)
            numbers = comm.allgather(len(particles.rows))
            report(f"  step {step + 1}: from {min(numbers)} to {max(numbers)} particles on a rank")
        # The box is [0, 2π)³ for the solver; the density without its halo is the right-hand side.
        with PoissonSolver(handle, options.grid, "float64", options.pdims, arrays) as solver:
            potential = solver.solve(arrays.xp.ascontiguousarray(mesh.density[mesh.inside]))
        check(mesh, particles, potential, options.particles, comm, arrays, report)
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
