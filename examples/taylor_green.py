# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The Taylor-Green vortex: direct numerical simulation of an incompressible flow that breaks up into small eddies.

    mpirun -n 4 python examples/taylor_green.py --grid 64 64 64 --end 10 --dt 0.02
    mpirun -n 2 python examples/taylor_green.py --grid 24 24 24 --end 0.5 --serial

The Navier-Stokes equations on [0, 2π)³, periodic, from u = (sin x cos y cos z, -cos x sin y cos z, 0):

    ∂u/∂t = u × ω - ∇p + ν ∇²u,   ∇·u = 0,   ω = ∇ × u,   ν = 1/Re

The flow is held as Fourier modes in Z-pencils. Each step takes velocity and vorticity to points in X-pencils,
multiplies there, and comes back; modes beyond 2/3 of the highest are cut off, so that products are free of aliases. A
real field has only half the modes along X: so there are two grids, of NX x NY x NZ points and (NX/2 + 1) x NY x NZ
modes, split alike. A Runge-Kutta scheme of third order that needs only two copies of the flow goes forward in time.

Checked are: energy 1/8 and enstrophy 3/8 at the start; that energy falls by what viscosity dissipates, 2ν times the
enstrophy; the growth of enstrophy at early times, for which Taylor and Green (1937) found a series in t; and with
--serial the whole flow, against a program for one rank that transforms the global grid at once. At Re = 1600 the
dissipation is known to peak near t = 9, on 512³ points at 0.01286; 64³ points come close, and that is checked too.
"""

import sys

import numpy as np
from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, Z, above_zero, argument_parser, parse

AXES = (X, Y, Z)
BOX = (2 * np.pi, 2 * np.pi, 2 * np.pi)
# Williamson's Runge-Kutta scheme: change = a * change + dt * rate(flow), flow += b * change.
STAGES = ((0, 1 / 3), (-5 / 9, 15 / 16), (-153 / 128, 8 / 15))


class SpectralBox:
    """Real fields on [0, 2π)³: values at points in X-pencils, modes in Z-pencils, and the ways between."""

    def __init__(self, handle, gdims, pdims, arrays):
        self.comm, self.gdims = handle.comm, gdims
        self._fft = arrays.fft
        layout = {"pdims": pdims, "transpose_axis_contiguous": (True, True, True), **arrays.backends}
        self.points = handle.create_grid(cudecomp.GridDescConfig(gdims=gdims, **layout))
        self.modes = handle.create_grid(cudecomp.GridDescConfig(gdims=(gdims[X] // 2 + 1, *gdims[1:]), **layout))
        # All transforms go through these three; what a transform makes moves in one copy, since its target is here.
        self._x, self._y, self._z = (self.modes.empty(axis, "complex128") for axis in AXES)
        self.k = [arrays.xp.asarray(k) for k in self.modes.wavenumbers(Z, BOX, real_axis=X)]
        self.k2 = sum(k**2 for k in self.k)
        self.kept = sum(abs(k) >= n / 3 for k, n in zip(self.k, gdims, strict=True)) == 0
        # A mode that is not on the plane k_x = 0 stands also for its conjugate, which is not stored.
        self.weight = arrays.xp.where(self.k[X] == 0, 1, 2)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.modes.destroy()
        self.points.destroy()

    def to_modes(self, values):
        """Modes of a field, cut off at 2/3; the array is lent until the next call."""
        spectrum = self._fft.rfft(values, axis=-1, norm="forward")
        spectrum = self._in_place(self._fft.fft, self.modes.transpose_x_to_y(spectrum, self._y))
        spectrum = self._in_place(self._fft.fft, self.modes.transpose_y_to_z(spectrum, self._z))
        spectrum *= self.kept
        return spectrum

    def to_values(self, modes):
        """The field at the points, a new array."""
        self._z[...] = modes
        spectrum = self._in_place(self._fft.ifft, self._z)
        spectrum = self._in_place(self._fft.ifft, self.modes.transpose_z_to_y(spectrum, self._y))
        spectrum = self.modes.transpose_y_to_x(spectrum, self._x)
        return self._fft.irfft(spectrum, n=self.gdims[X], axis=-1, norm="forward")

    @staticmethod
    def _in_place(transform, pencil):
        return transform(pencil, axis=-1, norm="forward", overwrite_x=True)

    def curl(self, field, axis):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        return 1j * (self.k[a] * field[b] - self.k[b] * field[a])

    def divergence(self, field):
        return 1j * sum(k * component for k, component in zip(self.k, field, strict=True))

    def remove_divergence(self, field):
        """Takes away the gradient part, which is what the pressure does."""
        potential = self.divergence(field) / np.maximum(self.k2, 1)
        for axis in AXES:
            field[axis] += 1j * self.k[axis] * potential

    def mean_square(self, field, factor=1):
        """The mean over the grid of the square of a vector field, each mode times a factor."""
        local = sum(((abs(component) ** 2) * (self.weight * factor)).sum() for component in field)
        return self.comm.allreduce(float(local))


class Flow:
    """The modes of the velocity, and how they change."""

    def __init__(self, box, viscosity, arrays):
        self.box, self.viscosity, self.time = box, viscosity, 0.0
        x, y, z = (arrays.xp.asarray(points) for points in box.points.coordinates(X, BOX))
        sin, cos = arrays.xp.sin, arrays.xp.cos
        start = (sin(x) * cos(y) * cos(z), -cos(x) * sin(y) * cos(z), 0 * (x + y + z))
        self.velocity = [box.to_modes(component).copy() for component in start]
        self._change = [arrays.xp.zeros_like(component) for component in self.velocity]

    def step(self, dt):
        for a, b in STAGES:
            self._add_rate(a, dt)
            for velocity, change in zip(self.velocity, self._change, strict=True):
                velocity += b * change
        self.time += dt

    def _add_rate(self, a, dt):
        """change = a * change + dt * rate, with the rate of the present velocity."""
        box = self.box
        u = [box.to_values(component) for component in self.velocity]
        w = [box.to_values(box.curl(self.velocity, axis)) for axis in AXES]
        for axis, change in enumerate(self._change):
            i, j = (axis + 1) % 3, (axis + 2) % 3
            change *= a
            change += dt * box.to_modes(u[i] * w[j] - u[j] * w[i])
            change -= dt * self.viscosity * box.k2 * self.velocity[axis]
        box.remove_divergence(self._change)

    def energy(self):
        return self.box.mean_square(self.velocity) / 2

    def enstrophy(self):
        return self.box.mean_square(self.velocity, self.box.k2) / 2

    def palinstrophy(self):
        return self.box.mean_square(self.velocity, self.box.k2**2) / 2


def serial_velocity(gdims, viscosity, dt, steps):
    """The velocity [component, x, y, z] by the same scheme with NumPy alone, on the global grid at once."""
    axes = (1, 2, 3)
    points = [np.arange(n) * (2 * np.pi / n) for n in gdims]
    x, y, z = np.meshgrid(*points, indexing="ij")
    # rfftn halves the last axis, here Z; which one is halved makes no difference to the flow.
    frequencies = [*(np.fft.fftfreq(n, 1 / n) for n in gdims[:Z]), np.fft.rfftfreq(gdims[Z], 1 / gdims[Z])]
    k = np.array(np.meshgrid(*frequencies, indexing="ij"))
    kept = np.all([abs(k[a]) < gdims[a] / 3 for a in AXES], axis=0)
    k2 = (k**2).sum(axis=0)

    def modes(values):
        return np.fft.rfftn(values, axes=axes, norm="forward") * kept

    def values(modes):
        return np.fft.irfftn(modes, s=gdims, axes=axes, norm="forward")

    u = modes(np.array([np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), np.zeros(gdims)]))
    change = np.zeros_like(u)
    for _ in range(steps):
        for a, b in STAGES:
            rate = modes(np.cross(values(u), values(1j * np.cross(k, u, axis=0)), axis=0)) - viscosity * k2 * u
            rate -= k * ((k * rate).sum(axis=0) / np.maximum(k2, 1))
            change = a * change + dt * rate
            u += b * change
    return values(u)


def early_enstrophy(t, reynolds):
    """Enstrophy by the series of Taylor and Green, and its last term, which tells how far that reaches."""
    r = reynolds
    terms = [1, -6 * t / r, (5 / 48 + 18 / r**2) * t**2, -(5 / 3 + 36 / r**2) * t**3 / r]
    terms.append((50 / (99 * 64) + 1835 / (9 * 16 * r**2) + 54 / r**4) * t**4)
    return 3 / 8 * sum(terms), 3 / 8 * terms[-1]


def simulate(flow, dt, steps, every, report):
    """Goes forward; the times, energies, enstrophies and palinstrophies of all steps, and some of them printed."""
    report(f"  {'time':>8} {'energy':>10} {'enstrophy':>10} {'dissipation':>12}")
    history = []
    for step in range(steps + 1):
        if step:
            flow.step(dt)
        t, energy, enstrophy = flow.time, flow.energy(), flow.enstrophy()
        history.append((t, energy, enstrophy, flow.palinstrophy()))
        if step % every == 0 or step == steps:
            report(f"  {t:8.3f} {energy:10.7f} {enstrophy:10.6f} {2 * flow.viscosity * enstrophy:12.4e}")
    return np.array(history).T


def check(flow, history, reynolds, dt, report):
    """What is known about every such flow."""
    times, energies, enstrophies, palinstrophies = history
    dissipation = 2 * flow.viscosity * enstrophies
    peak = dissipation.argmax()
    report(f"Dissipation is highest at t = {times[peak]:g}: {dissipation[peak]:.3e}")
    report.check("energy at the start, off 1/8", abs(energies[0] - 1 / 8), 1e-14)
    report.check("enstrophy at the start, off 3/8", abs(enstrophies[0] - 3 / 8), 1e-14)
    lost = np.concatenate([[0], np.cumsum((dissipation[1:] + dissipation[:-1]) / 2 * dt)])
    budget = np.abs(energies + lost - energies[0]).max()
    # That sum of trapezoids has an error, and a step takes (k u dt)⁴/12 from a mode that is swept along at the speed u.
    trapezoids = dt**2 / 12 * np.ptp(np.gradient(dissipation, dt))
    damped = dt**4 / 12 * np.sum((2 * energies) ** 2 * 2 * palinstrophies)
    report.check("energy: start - now - dissipated, largest", budget, 2 * trapezoids + damped + 1e-12)
    early = np.flatnonzero(times < 0.2 + dt / 2)[-1]
    series, last_term = early_enstrophy(times[early], reynolds)
    if min(flow.box.gdims) > 9:  # the series needs modes up to 3, of which 2/3 of 9 points or fewer have none
        report.check(
            f"enstrophy at t = {times[early]:g}, off the series", abs(enstrophies[early] - series), last_term / 2
        )
    if reynolds == 1600 and times[-1] > 9.9 and min(flow.box.gdims) >= 64:
        report.check(
            "highest dissipation, off that on 512³ points, relative", abs(dissipation[peak] / 0.01286 - 1), 0.05
        )
        report.check("its time, off that on 512³ points", abs(times[peak] - 8.97), 0.3)
    divergence = flow.box.modes.max_difference(flow.box.divergence(flow.velocity), 0, Z)
    report.check("largest mode of the divergence", divergence, 1e-13)


def compare_with_serial(flow, dt, steps, report):
    points, is_first = flow.box.points, flow.box.comm.rank == 0
    serial = serial_velocity(flow.box.gdims, flow.viscosity, dt, steps) if is_first else (None, None, None)
    differences = [
        points.max_difference(flow.box.to_values(component), points.scatter(expected, X), X)
        for component, expected in zip(flow.velocity, serial, strict=True)
    ]
    report.check("velocity, largest difference to the serial program", max(differences), 1e-12)


def main(arguments=None):
    comm = MPI.COMM_WORLD
    parser = argument_parser(__doc__, grid=(32, 32, 32))
    parser.add_argument("--reynolds", type=above_zero, default=1600.0, help="Reynolds number (%(default)g)")
    parser.add_argument("--end", type=above_zero, default=2.0, help="time to stop at (%(default)g)")
    parser.add_argument("--dt", type=above_zero, default=0.02, help="time step (%(default)g)")
    parser.add_argument("--serial", action="store_true", help="compare with the serial program; for small grids")
    options = parse(parser, arguments, comm)
    arrays, report = Arrays(options.device, comm), Report(comm)
    if min(options.grid) < 4:
        report("--grid takes 4 points or more along each axis: fewer do not hold the modes of the vortex")
        return 2
    steps = max(1, round(options.end / options.dt))
    report(f"Taylor-Green vortex, Re = {options.reynolds:g}, {' x '.join(map(str, options.grid))}, {steps} steps")
    with cudecomp.Handle(comm) as handle, SpectralBox(handle, options.grid, options.pdims, arrays) as box:
        flow = Flow(box, 1 / options.reynolds, arrays)
        history = simulate(flow, options.dt, steps, max(1, steps // 10), report)
        check(flow, history, options.reynolds, options.dt, report)
        if options.serial:
            compare_with_serial(flow, options.dt, steps, report)
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
