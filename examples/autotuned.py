# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Lets the library choose the process grid and the backends, shows what it measured, and uses the choice again.

    mpirun -n 4 python examples/autotuned.py --grid 128 128 128 --dtype complex128 --report tuned.json

The first run measures every process grid of the ranks with every backend, prints the table and keeps it in the file
of --report. A second run with that file measures nothing and makes the same choice, as long as the problem and the
machine are the same; if they are not, the program says what has changed, measures, and writes the file anew.

What is measured is what the program below does: transposes of `dtype`, and halo updates of X-pencils, one layer deep.
"""

import sys
from pathlib import Path

from mpi4py import MPI

import cudecomp
from common import Arrays, Report, X, Y, Z, argument_parser, parse, positive

HALO, PERIODS = (1, 1, 1), (True, True, True)
DTYPES = {
    "float32": cudecomp.DataType.FLOAT,
    "float64": cudecomp.DataType.DOUBLE,
    "complex64": cudecomp.DataType.FLOAT_COMPLEX,
    "complex128": cudecomp.DataType.DOUBLE_COMPLEX,
}


def main(arguments=None):
    comm = MPI.COMM_WORLD
    parser = argument_parser(__doc__, grid=(64, 64, 64), pdims=False)
    parser.add_argument("--dtype", choices=DTYPES, default="float64")
    parser.add_argument("--trials", type=positive, default=5, help="timed trials of each candidate (%(default)s)")
    parser.add_argument("--report", type=Path, metavar="FILE", help="keep what is measured here, and use it again")
    parser.add_argument("--progress", action="store_true", help="show a progress bar; needs tqdm")
    options = parse(parser, arguments, comm)
    arrays, report = Arrays(options.device, comm), Report(comm)
    with cudecomp.Handle(comm) as handle:
        config, grid = create_grid(handle, options, arrays, report)
        with grid:
            rows, columns = config.pdims
            transposes = cudecomp.TransposeCommBackend(config.transpose_comm_backend).name
            halos = cudecomp.HaloCommBackend(config.halo_comm_backend).name
            report(f"Chosen: {rows} x {columns} ranks, {transposes} for transposes, {halos} for halos")
            report(grid.describe())
            check_operations(grid, options, arrays, comm, report)
    return report.exit_code


def create_grid(handle, options, arrays, report):
    """A configuration with the choice filled in, and its grid; with no measurement if the report in the file fits."""
    tuning = cudecomp.GridDescAutotuneOptions(
        dtype=DTYPES[options.dtype],
        n_trials=options.trials,
        autotune_transpose_backend=True,
        autotune_halo_backend=True,
        halo_axis=X,
        halo_extents=HALO,
        halo_periods=PERIODS,
        disable_mpi_backends=arrays.on_gpu,  # they need a CUDA-aware MPI there
    )
    saved = read_report(options.report, handle.comm)
    if saved:
        config = make_config(options)
        try:
            grid = handle.create_grid(config, tuning, report=saved)
        except cudecomp.InvalidUsageError as error:  # on all ranks alike
            report(f"{options.report} is not used: {error}")
        else:
            report(f"Nothing is measured: the choice comes from {options.report}")
            return config, grid
    config = make_config(options)
    grid = handle.create_grid(config, tuning, progress=options.progress)
    measured = grid.autotune_report  # None with NVIDIA's library, which does not tell what it measured
    if measured:
        report(measured.table())
        if options.report:
            write_report(options.report, measured, handle.comm)
            report(f"Kept in {options.report}")
    return config, grid


def make_config(options):
    """`pdims` stays unset, so it is chosen; each pencil has its own axis last in its array, as transforms like it."""
    return cudecomp.GridDescConfig(gdims=options.grid, transpose_axis_contiguous=(True, True, True))


def read_report(path, comm):
    """The report in a file, None if there is no file. One rank reads, since all must have the same."""
    text = path.read_text() if comm.rank == 0 and path and path.exists() else None
    text = comm.bcast(text)
    return cudecomp.AutotuneReport.from_json(text) if text else None


def write_report(path, measured, comm):
    if comm.rank == 0:
        path.write_text(measured.to_json())


def check_operations(grid, options, arrays, comm, report):
    """Transposes to Z and back, and a halo update, of a field that tells the global cell modulo a prime."""
    # In a box as long as the grid has points, the coordinates are the global indices.
    lines = grid.coordinates(X, options.grid, halo_extents=HALO)
    x, y, z = (i % n for i, n in zip(lines, options.grid, strict=True))
    expected = arrays.xp.asarray((x + 31 * y + 977 * z) % 8191, dtype=options.dtype)
    inside = grid.get_pencil_info(X, HALO).interior  # the array without its halo

    field, y_pencil, z_pencil = (grid.empty(axis, options.dtype) for axis in (X, Y, Z))
    field[...] = expected[inside]
    grid.transpose_y_to_z(grid.transpose_x_to_y(field, y_pencil), z_pencil)
    field[...] = -1
    grid.transpose_y_to_x(grid.transpose_z_to_y(z_pencil, y_pencil), field)
    wrong = int((field != expected[inside]).sum())
    report.check("wrong cells after transposes there and back", comm.allreduce(wrong), 0)

    with_halo = grid.empty(X, options.dtype, HALO)
    with_halo[inside] = field
    grid.update_halos_x(with_halo, HALO, PERIODS)
    wrong = int((with_halo != expected).sum())
    report.check("wrong cells after a halo update", comm.allreduce(wrong), 0)


if __name__ == "__main__":
    sys.exit(main())
