# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""A first program: a grid over ranks, its pencils, transposes around the cycle and a halo update, every cell checked.

    mpirun -n 4 python examples/basic.py --grid 32 24 40

Each cell of the field holds a number that tells which cell of the global grid it is. So it is plain to see whether a
value has come to the right place: in the Y- and Z-pencils after each transpose, and in the halo after the update, where
the cells beyond an end of the grid are those of the other end.
"""

import sys

from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, Z, argument_parser, parse, too_many_ranks

HALO = (1, 1, 1)


def main(arguments=None):
    comm = MPI.COMM_WORLD
    options = parse(argument_parser(__doc__, grid=(32, 24, 40)), arguments, comm)
    arrays, report = Arrays(options.device, comm), Report(comm)
    report(f"A grid of {' x '.join(map(str, options.grid))} on {options.pdims[0]} x {options.pdims[1]} ranks")
    if too_many_ranks(options, report):
        return 2
    config = cudecomp.GridDescConfig(
        gdims=options.grid,
        pdims=options.pdims,
        transpose_axis_contiguous=(True, True, True),  # every pencil has its own axis last in its array
        **arrays.backends,
    )
    # Handles and grids are made, and ended, by all ranks together; `with` does the ending.
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        show_pencils(grid, comm, report)
        report(grid.describe())
        transpose_around(grid, arrays, comm, report)
        update_halos(grid, arrays, comm, report)
    return report.exit_code


def show_pencils(grid, comm, report):
    """What each rank holds in the three layouts; shapes and indices come in the order of the array axes."""
    for axis in (X, Y, Z):
        info = grid.get_pencil_info(axis)
        names = "".join("XYZ"[a] for a in info.order)
        report(f"{'XYZ'[axis]}-pencils, array axes {names}:")
        for rank, (shape, lo, hi) in enumerate(comm.allgather((info.shape, info.lo, info.hi))):
            report(f"  rank {rank}: shape {shape}, global indices from {lo} to {hi}")


def cell_numbers(grid, axis, arrays, halo=None):
    """The number of each global cell of a pencil; beyond the ends the grid starts anew."""
    gdims = grid.get_config().gdims
    # In a box as long as the grid has points, the coordinates are the global indices.
    x, y, z = (i % n for i, n in zip(grid.coordinates(axis, gdims, halo_extents=halo), gdims, strict=True))
    return arrays.xp.asarray((z * gdims[Y] + y) * gdims[X] + x)


def transpose_around(grid, arrays, comm, report):
    """X -> Y -> Z -> Y -> X. There is no direct way from X to Z."""
    expected = [cell_numbers(grid, axis, arrays) for axis in (X, Y, Z)]
    # Arrays from `empty` are the fastest; any contiguous array will do, and where `out` is left out one is made.
    x_pencil, y_pencil, z_pencil = (grid.empty(axis, "float64") for axis in (X, Y, Z))
    x_pencil[...] = expected[X]

    def check(operation, pencil, axis):
        wrong = int((pencil != expected[axis]).sum())
        report.check(f"wrong cells after {operation}", comm.allreduce(wrong), 0)

    grid.transpose_x_to_y(x_pencil, out=y_pencil)
    check("transpose_x_to_y", y_pencil, Y)
    grid.transpose_y_to_z(y_pencil, out=z_pencil)
    check("transpose_y_to_z", z_pencil, Z)
    y_pencil[...], x_pencil[...] = -1, -1  # so that old values do not pass for new ones
    grid.transpose_z_to_y(z_pencil, out=y_pencil)
    check("transpose_z_to_y", y_pencil, Y)
    grid.transpose_y_to_x(y_pencil, out=x_pencil)
    check("transpose_y_to_x", x_pencil, X)


def update_halos(grid, arrays, comm, report):
    """One layer of the neighbours' cells around an X-pencil, edges and corners included, periodic along all axes."""
    expected = cell_numbers(grid, X, arrays, HALO)
    pencil = grid.empty(X, "float64", HALO)
    pencil[...] = -1
    inside = grid.get_pencil_info(X, HALO).interior  # the array without its halo
    pencil[inside] = expected[inside]
    grid.update_halos_x(pencil, HALO, (True, True, True))
    wrong = int((pencil != expected).sum())
    report.check("wrong cells after update_halos_x, halo included", comm.allreduce(wrong), 0)


if __name__ == "__main__":
    sys.exit(main())
