# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Measures which process grid and which backends are fastest for a grid on the ranks of the launcher."""

import argparse
import contextlib
import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cudecomp._autotune import AutotuneCandidate, AutotuneReport, tunes
from cudecomp._cli import arguments, heatmap
from cudecomp._cli.arrays import choose
from cudecomp._cli.extras import drawing, require
from cudecomp._cli.launch import DONE, USAGE, CommandError, on_first_rank, run_on_all_ranks
from cudecomp._cli.launchers import is_shown
from cudecomp._cli.selftest import TRANSPOSES
from cudecomp._cli.tables import Printer, Table, milliseconds
from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._core import Handle
from cudecomp._enums import AutotuneGridMode

if TYPE_CHECKING:
    from mpi4py import MPI

HELP = "which process grid and which backends are fastest"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_grid(parser, "process grid (default: it is chosen)")
    _add_candidates(parser.add_argument_group("what is chosen, and from what"))
    _add_trials(parser.add_argument_group("what is measured"))
    output = parser.add_argument_group("output")
    output.add_argument("--save", type=arguments.new_file, metavar="FILE", help="write the report as JSON")
    output.add_argument(
        "--plot", type=arguments.picture, metavar="FILE", help="draw process grid x backend, a .png, .svg or .pdf file"
    )
    output.add_argument("--json", action="store_true", help="print the report as JSON instead of text")
    output.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        help="a progress bar (default: on a terminal, where tqdm is installed)",
    )


def _add_candidates(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--mode",
        choices=("transpose", "halo"),
        default="transpose",
        help="the operations that decide the process grid (default: transpose)",
    )
    transposes, halos = arguments.transpose_backend, arguments.halo_backend
    group.add_argument("--backends", nargs="+", type=transposes, metavar="NAME", help="transpose backends to try")
    group.add_argument("--halo-backends", nargs="+", type=halos, metavar="NAME", help="halo backends to try")
    group.add_argument("--transpose-backend", type=transposes, metavar="NAME", help="take this one, choose none")
    group.add_argument("--halo-backend", type=halos, metavar="NAME", help="take this one, choose none")
    for name, things in (("rows", "rows"), ("cols", "columns")):
        group.add_argument(
            f"--{name}",
            nargs=2,
            type=arguments.positive,
            metavar=("MIN", "MAX"),
            help=f"{things} of process grids to try",
        )
    group.add_argument("--even-only", action="store_true", help="only process grids that split all axes evenly")
    families = ("mpi", "nccl", "nvshmem")
    group.add_argument("--disable", nargs="+", choices=families, default=[], help="families of backends to leave out")


def _add_trials(group: argparse._ArgumentGroup) -> None:
    arguments.add_dtype(group)
    group.add_argument("--trials", type=arguments.positive, default=5, metavar="N", help="timed trials (default: 5)")
    group.add_argument("--warmup", type=arguments.natural, default=3, metavar="N", help="untimed trials (default: 3)")
    group.add_argument(
        "--skip-threshold",
        type=float,
        default=0.0,
        metavar="F",
        help="give a candidate up whose first trial t has F * t above the best so far (default: 0, never)",
    )
    operations = " ".join(TRANSPOSES)
    group.add_argument(
        "--weights", nargs=4, type=float, metavar="W", help=f"factors of the times of {operations} (default: 1)"
    )
    group.add_argument(
        "--in-place",
        nargs="*",
        choices=TRANSPOSES,
        metavar="OP",
        help="transposes that work in place; all if none are named",
    )
    for name, what in (
        ("input-halo-extents", "halo of the input"),
        ("output-halo-extents", "halo of the output"),
        ("input-padding", "padding of the input"),
        ("output-padding", "padding of the output"),
    ):
        group.add_argument(
            f"--{name}",
            nargs="+",
            type=arguments.natural,
            metavar="N",
            help=f"{what} of transposes along X, Y, Z: three numbers, or twelve, three for each of {operations}",
        )
    extents: dict[str, Any] = {"nargs": 3, "type": arguments.natural, "metavar": ("X", "Y", "Z"), "default": [0, 0, 0]}
    group.add_argument("--halo-extents", help="halo of the halo updates; without it they are not measured", **extents)
    group.add_argument(
        "--halo-periods", nargs="*", choices=arguments.AXES, metavar="AXIS", help="periodic axes; all if none are named"
    )
    group.add_argument(
        "--halo-axis", choices=arguments.AXES, default="x", help="pencils of the halo updates (default: x)"
    )
    group.add_argument("--halo-padding", help="padding of the arrays of halo updates", **extents)


def run(options: argparse.Namespace) -> int:
    return run_on_all_ranks(lambda comm, printer: autotune(comm, printer, options))


def autotune(comm: "MPI.Intracomm", printer: Printer, options: argparse.Namespace) -> int:
    """Measures, prints, saves and draws; the exit code. Collective over `comm`."""
    config, tuning = arguments.config_of(options), tuning_of(options)
    if not tunes(config, tuning):
        raise CommandError("nothing is left to choose; leave out --pdims, or a backend", USAGE)
    if options.plot:
        on_first_rank(comm, drawing)
    arguments.set_backends(config, options, choose(comm))
    progress = shows_progress(comm, options.progress)
    with filters(options), Handle(comm) as handle, handle.create_grid(config, tuning, progress=progress) as grid:
        report, chosen = grid.autotune_report, grid.get_config()
    if report is None:
        if options.save or options.plot or options.json:
            raise CommandError("the library in use does not tell what it has measured: there is no report to write")
        printer.line(f"chosen: {chosen}")
        return DONE
    on_first_rank(comm, lambda: write(report, options))
    if options.json:
        printer.line(report.to_json())
    else:
        tell(printer, report, chosen, options)
    return DONE


def tuning_of(options: argparse.Namespace) -> GridDescAutotuneOptions:
    """How the arguments ask for it to be chosen; raises CommandError for arguments that do not go together."""
    halos = any(options.halo_extents)
    if not halos:
        for given, name in ((options.mode == "halo", "--mode halo"), (options.halo_backends, "--halo-backends")):
            if given:
                raise CommandError(f"{name} needs --halo-extents, the halo to measure with", USAGE)
    tuning = GridDescAutotuneOptions(
        n_warmup_trials=options.warmup,
        n_trials=options.trials,
        grid_mode=AutotuneGridMode[options.mode.upper()],
        dtype=arguments.DTYPES[options.dtype],
        allow_uneven_decompositions=not options.even_only,
        skip_threshold=options.skip_threshold,
        autotune_transpose_backend=options.transpose_backend is None,
        autotune_halo_backend=halos and options.halo_backend is None,
        halo_extents=options.halo_extents,
        halo_axis=arguments.AXES.index(options.halo_axis),
        halo_padding=options.halo_padding,
    )
    for family in options.disable:
        setattr(tuning, f"disable_{family}_backends", True)
    if options.weights:
        tuning.transpose_op_weights = options.weights
    if options.in_place is not None:
        tuning.transpose_use_inplace_buffers = [name in (options.in_place or TRANSPOSES) for name in TRANSPOSES]
    if options.halo_periods is not None:
        tuning.halo_periods = arguments.axes_flags(options.halo_periods or arguments.AXES)
    for name in ("input_halo_extents", "output_halo_extents", "input_padding", "output_padding"):
        if given := getattr(options, name):
            setattr(tuning, f"transpose_{name}", _for_each_transpose(given, name))
    return tuning


def _for_each_transpose(numbers: list[int], name: str) -> list[list[int]]:
    if len(numbers) not in (3, 12):
        option = f"--{name.replace('_', '-')}"
        raise CommandError(f"{option} takes 3 numbers, or 12, three for each transpose; got {len(numbers)}", USAGE)
    return [numbers[3 * index % len(numbers) :][:3] for index in range(4)]


@contextlib.contextmanager
def filters(options: argparse.Namespace) -> Iterator[None]:
    """The variables that narrow the candidates, for the duration of a block; those that no argument is about stay."""
    wanted = {
        "CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS": options.backends and ",".join(entry.name for entry in options.backends),
        "CUDECOMP_AUTOTUNE_HALO_BACKENDS": options.halo_backends
        and ",".join(entry.name for entry in options.halo_backends),
        "CUDECOMP_AUTOTUNE_P_ROW_RANGE": options.rows and ",".join(map(str, options.rows)),
        "CUDECOMP_AUTOTUNE_P_COL_RANGE": options.cols and ",".join(map(str, options.cols)),
    }
    wanted = {name: value for name, value in wanted.items() if value}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def shows_progress(comm: "MPI.Intracomm", wanted: bool | None) -> bool:
    """Whether there is to be a bar, the same on all ranks. Collective over `comm`."""
    if wanted:
        on_first_rank(comm, lambda: require("tqdm", "cli", "--progress"))
    seen = is_shown(2) and importlib.util.find_spec("tqdm") is not None
    return bool(comm.bcast(seen if wanted is None else wanted))


def write(report: AutotuneReport, options: argparse.Namespace) -> None:
    """The files that were asked for."""
    if options.save:
        options.save.write_text(report.to_json() + "\n")
    if options.plot:
        heatmap.draw(report).savefig(options.plot, dpi=150, facecolor="white")


def tell(printer: Printer, report: AutotuneReport, chosen: GridDescConfig, options: argparse.Namespace) -> None:
    """The report to be read."""
    size = " x ".join(map(str, report.config.gdims.tolist()))
    ranks = f"{report.ranks} rank{'s' * (report.ranks != 1)}"
    printer.line(
        f"{size} points of {options.dtype} on {ranks}, {report.seconds:.3g} s; milliseconds on the slowest rank"
    )
    for kind in ("transpose", "halo"):
        candidates = [candidate for candidate in report.candidates if candidate.kind == kind]
        if candidates:
            printer.line()
            printer.table(table_of(kind, candidates))
    printer.line()
    printer.line(f"chosen: {chosen}", "good")
    for path in filter(None, (options.save, options.plot)):
        printer.line(f"wrote {path}")


def table_of(kind: str, candidates: list[AutotuneCandidate]) -> Table:
    """The candidates of one kind; what was chosen is marked."""
    operations = list(dict.fromkeys(name for candidate in candidates for name in candidate.times))
    rows = []
    for candidate in candidates:
        times = [candidate.times[name].max if name in candidate.times else None for name in operations]
        figures = map(milliseconds, [candidate.total, *times])
        grid = f"{candidate.pdims[0]} x {candidate.pdims[1]}"
        mark = "chosen" if candidate.chosen else f"skipped: {candidate.skipped}" if candidate.skipped else ""
        rows.append([grid, candidate.backend.name, mark, *figures])
    return Table(
        ["grid", f"{kind} backend", "", "total", *operations],
        rows,
        text_columns=3,
        styles=["good" if entry.chosen else "quiet" if entry.skipped else "" for entry in candidates],
    )
