# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Times the transposes and halo updates of a configuration, against plain copies of as many bytes in the same run."""

import argparse
import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cudecomp import _geometry as geometry
from cudecomp._cli import arguments, barchart
from cudecomp._cli.arrays import Arrays, choose
from cudecomp._cli.cells import Decomposition, Pencil, difference
from cudecomp._cli.extras import drawing
from cudecomp._cli.launch import DONE, CommandError, on_first_rank, run_on_all_ranks
from cudecomp._cli.plot import is_col_major
from cudecomp._cli.selftest import TRANSPOSES
from cudecomp._cli.tables import Printer, Table, milliseconds
from cudecomp._cli.timing import Timing, in_turns
from cudecomp._config import GridDescConfig
from cudecomp._core import GridDesc, Handle

if TYPE_CHECKING:
    from mpi4py import MPI

HELP = "how fast transposes and halo updates are, against plain copies"

#: Cells that are made or compared at a time: checking must not need more memory than the benchmark.
AT_A_TIME = 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_grid(parser, "process grid (default: the one closest to a square)")
    parser.add_argument(
        "--transpose-backend", type=arguments.transpose_backend, metavar="NAME", help="default: MPI_P2P, on GPUs NCCL"
    )
    parser.add_argument(
        "--halo-backend", type=arguments.halo_backend, metavar="NAME", help="default: MPI, on GPUs NCCL"
    )
    arguments.add_dtype(parser)
    parser.add_argument(
        "--halo-extents",
        nargs=3,
        type=arguments.natural,
        default=[1, 1, 1],
        metavar=("X", "Y", "Z"),
        help="halo of the halo updates (default: 1 1 1); 0 0 0 leaves them out",
    )
    parser.add_argument(
        "--halo-periods",
        nargs="*",
        choices=arguments.AXES,
        default=list(arguments.AXES),
        metavar="AXIS",
        help="periodic axes (default: all)",
    )
    parser.add_argument("--repeat", type=arguments.positive, default=10, metavar="N", help="repetitions (default: 10)")
    parser.add_argument(
        "--warmup", type=arguments.natural, default=2, metavar="N", help="repetitions before them (default: 2)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument(
        "--plot", type=arguments.picture, metavar="FILE", help="draw the table, a .png, .svg or .pdf file"
    )


def run(options: argparse.Namespace) -> int:
    return run_on_all_ranks(lambda comm, printer: bench(comm, printer, options))


@dataclass(frozen=True)
class Result:
    """The times of one operation, or of a copy.

    Attributes:
        operation: ``"x_to_y"`` ..., ``"halos of x-pencils"`` ..., ``"copy"``.
        arrays: What the arrays were made with.
        timing: Seconds of each repetition, from the first rank's begin to the last rank's end.
        moved: Bytes that all ranks together read and write.
        limit: Seconds that the fastest copy of as many bytes takes; None for the copies themselves.
    """

    operation: str
    arrays: str
    timing: Timing
    moved: int
    limit: float | None = None

    @property
    def bandwidth(self) -> float:
        """Bytes per second, of the median."""
        return self.moved / self.timing.median

    @property
    def fraction(self) -> float | None:
        """Of the speed of the copy."""
        return None if self.limit is None else self.limit / self.timing.median

    def as_document(self) -> dict[str, Any]:
        derived = {
            "median": self.timing.median,
            "minimum": self.timing.minimum,
            "bandwidth": self.bandwidth,
            "fraction": self.fraction,
        }
        return {**asdict(self), "timing": list(self.timing.seconds), **derived}


def bench(comm: "MPI.Intracomm", printer: Printer, options: argparse.Namespace) -> int:
    """Times, prints and draws; the exit code. Collective over `comm`."""
    if options.plot:
        on_first_rank(comm, drawing)
    arrays = choose(comm)
    config = config_of(options, comm.size, arrays)
    with (
        Handle(comm) as handle,
        handle.create_grid(config) as grid,
        Benchmark(grid, arrays, config, options) as benchmark,
    ):
        results = benchmark.transposes()
        if any(options.halo_extents):
            results += benchmark.halos()
    title = title_of(config, options.dtype, comm.size)
    if options.plot:
        on_first_rank(comm, lambda: barchart.draw(title, results).savefig(options.plot, dpi=150, facecolor="white"))
    if options.json:
        printer.line(json.dumps(as_document(config, options, comm.size, results), indent=2))
        return DONE
    printer.line(title)
    printer.line()
    printer.table(table_of(results))
    printer.line()
    printer.line(
        f"medians and minima of {options.repeat} repetitions, first begin to last end; GB/s: read and written by all\n"
        "ranks together; of the copy: speed against the fastest plain copy of as many bytes, all ranks at once"
    )
    if options.plot:
        printer.line(f"wrote {options.plot}")
    return DONE


def config_of(options: argparse.Namespace, ranks: int, arrays: Arrays) -> GridDescConfig:
    config = arguments.config_of(options)
    if options.pdims is None:
        config.pdims = geometry.squarest(ranks)
    arguments.set_backends(config, options, arrays)
    return config


@dataclass
class Call:
    """Something to time, with what the table says of it."""

    operation: str
    arrays: str
    moved: int
    make: Callable[[], object] = field(repr=False)


class Benchmark:
    """The operations of one grid. Collective over the ranks of its handle, as are all its methods."""

    def __init__(self, grid: GridDesc, arrays: Arrays, config: GridDescConfig, options: argparse.Namespace) -> None:
        self._grid, self._arrays, self._options = grid, arrays, options
        self._handle = grid.handle
        self._comm: MPI.Intracomm = self._handle.comm
        self._dtype = np.dtype(options.dtype)
        self._decomposition = decomposition_of(config)
        self._points = int(np.prod(config.gdims.astype(np.int64)))
        self._stack = contextlib.ExitStack()
        self._alone: Handle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()  # also after an error: these handles have one rank, nobody waits for others

    def transposes(self) -> list[Result]:
        """All four between private arrays, then between arrays that ranks share, and copies of the same bytes."""
        results = []
        for made_with in self._makers():
            pencils = [self._pencil(axis) for axis in range(3)]
            arrays = [self._make(made_with, axis) for axis in range(3)]
            self._check_transposes(pencils, arrays)
            calls = [
                Call(
                    name,
                    made_with,
                    2 * self._points * self._dtype.itemsize,
                    self._transpose(name, arrays[a], arrays[b]),
                )
                for name, (a, b) in TRANSPOSES.items()
            ]
            results += self._timed(calls, max(arrays, key=lambda array: array.size))
        return results

    def halos(self) -> list[Result]:
        """Of the pencils along each axis, all dims in turn, and copies of as many bytes as a halo has."""
        results = []
        halo, periods = tuple(self._options.halo_extents), arguments.axes_flags(self._options.halo_periods)
        for made_with in self._makers():
            for axis in range(3):
                pencil = self._pencil(axis, halo)
                array = self._make(made_with, axis, halo)
                update = self._update(axis, array, halo, periods)
                self._check_halos(axis, pencil, array, update, periods)
                cells = pencil.halo_cells(periods)
                everywhere = self._comm.allreduce(cells)
                if everywhere == 0:  # neither periodic nor cut
                    continue
                name = f"halos of {'xyz'[axis]}-pencils"
                call = Call(name, made_with, 2 * everywhere * self._dtype.itemsize, update)
                results += self._timed([call], self._arrays.flat(cells, self._dtype))[:1]
        return results

    def _makers(self) -> list[str]:
        """How arrays are made: as a program makes its own, and by the grid, in memory that ranks share."""
        return [self._arrays.name] if self._arrays.on_gpu else [self._arrays.name, "GridDesc.empty"]

    def _make(self, made_with: str, axis: int, halo: tuple[int, ...] = (0, 0, 0)) -> Any:
        if made_with == "GridDesc.empty":
            return self._grid.empty(axis, self._dtype, halo)
        info = self._grid.get_pencil_info(axis, halo)
        return self._arrays.flat(info.size, self._dtype).reshape(info.shape)

    def _pencil(self, axis: int, halo: tuple[int, ...] = (0, 0, 0)) -> Pencil:
        return self._decomposition.pencil(axis, self._handle.rank, halo)

    def _transpose(self, name: str, source: Any, target: Any) -> Callable[[], object]:
        transpose = getattr(self._grid, f"transpose_{name}")
        return lambda: transpose(source, target)

    def _update(
        self, axis: int, array: Any, halo: tuple[int, ...], periods: tuple[bool, bool, bool]
    ) -> Callable[[], object]:
        update = getattr(self._grid, f"update_halos_{'xyz'[axis]}")
        return lambda: update(array, halo, periods)

    def _check_transposes(self, pencils: list[Pencil], arrays: list[Any]) -> None:
        """Each step out of a right pencil into a poisoned one: wrong results are not worth a time."""
        self._fill(pencils[0], arrays[0])
        for name, (before, after) in TRANSPOSES.items():
            arrays[after].fill(-2)
            self._transpose(name, arrays[before], arrays[after])()
            self._require(name, self._compare(pencils[after], arrays[after]))

    def _check_halos(
        self, axis: int, pencil: Pencil, array: Any, update: Callable[[], object], periods: tuple[bool, bool, bool]
    ) -> None:
        self._fill(pencil, array)
        update()
        filled = {"filled": range(3), "periods": periods}
        self._require(f"halos of {'xyz'[axis]}-pencils", self._compare(pencil, array, **filled))

    def _fill(self, pencil: Pencil, array: Any) -> None:
        for rows in _slabs(pencil.shape):
            self._arrays.put(array[rows], pencil.values(self._dtype, rows=rows))

    def _compare(self, pencil: Pencil, array: Any, **filled: Any) -> str | None:
        for rows in _slabs(pencil.shape):
            found = difference(self._arrays.get(array[rows]), pencil.values(self._dtype, rows=rows, **filled))
            if found:
                return f"from index {rows.start} of its first axis: {found}"
        return None

    def _require(self, what: str, problem: str | None) -> None:
        """Raises the same CommandError on all ranks if one has a problem."""
        for rank, text in enumerate(self._comm.allgather(problem)):
            if text:
                raise CommandError(f"{what}: the result is wrong on rank {rank}, {text}; see python -m cudecomp check")

    def _timed(self, calls: list[Call], example: Any) -> list[Result]:
        """The calls and copies of an array like the example, all in turns; the copies are the last."""
        copies = self._copies(example)
        timings = in_turns(
            self._comm,
            [call.make for call in [*calls, *copies]],
            self._arrays.synchronize,
            self._options.repeat,
            self._options.warmup,
        )
        limit = min(timing.median for timing in timings[len(calls) :])
        operations = zip(calls, timings, strict=False)
        return [
            *(Result(call.operation, call.arrays, timing, call.moved, limit) for call, timing in operations),
            *(
                Result(copy.operation, copy.arrays, timing, copy.moved)
                for copy, timing in zip(copies, timings[len(calls) :], strict=True)
            ),
        ]

    def _engine_copy(self, source: Any, target: Any) -> Callable[[], object]:
        """A transpose that stays on the rank and keeps the order in memory: the engine's own way to copy."""
        from mpi4py import MPI

        if self._alone is None:
            self._alone = self._stack.enter_context(Handle(MPI.COMM_SELF))
        shape = [1] * (3 - source.ndim) + [max(1, length) for length in source.shape]
        config = GridDescConfig(gdims=shape[::-1], pdims=(1, 1))
        grid = self._stack.enter_context(self._alone.create_grid(config))
        if source.size == 0:
            return lambda: None
        views = source.reshape(shape), target.reshape(shape)
        return lambda: grid.transpose_x_to_y(*views)

    def _copies(self, example: Any) -> list[Call]:
        """Copies on every rank at once, without communication, between arrays of the same kind."""
        xp = self._arrays.xp
        # Written to: pages that never were are all the same page of zeros, which is in the cache.
        source, target = (xp.ones(example.shape, self._dtype) for _ in range(2))
        moved = 2 * self._comm.allreduce(example.size) * self._dtype.itemsize
        copies = [Call("copy", self._arrays.name, moved, lambda: xp.copyto(target, source))]
        if not self._arrays.on_gpu:
            copies.append(Call("copy", "the engine's kernels", moved, self._engine_copy(source, target)))
        return copies


def decomposition_of(config: GridDescConfig) -> Decomposition:
    """The decomposition of a configuration whose every field is set."""
    (x, y, z), (rows, cols) = config.gdims.tolist(), config.pdims.tolist()
    contiguous, explicit = config.transpose_axis_contiguous.tolist(), config.transpose_mem_order.tolist()
    orders = tuple(geometry.memory_order(axis, contiguous, explicit) for axis in range(3))
    distributed = tuple(geometry.split_points((x, y, z), config.gdims_dist.tolist()))
    return Decomposition((x, y, z), (rows, cols), orders, is_col_major(config), distributed)


def title_of(config: GridDescConfig, dtype: str, ranks: int) -> str:
    size = " x ".join(map(str, config.gdims.tolist()))
    rows, cols = config.pdims.tolist()
    return (
        f"{size} points of {dtype} on {rows} x {cols} rank{'s' * (ranks != 1)}, transposes "
        f"{config.transpose_comm_backend.name}, halos {config.halo_comm_backend.name}"
    )


def table_of(results: list[Result]) -> Table:
    rows = [
        [
            result.operation,
            result.arrays,
            milliseconds(result.timing.median),
            milliseconds(result.timing.minimum),
            f"{result.bandwidth / 1e9:.2f}",
            "" if result.fraction is None else f"{result.fraction:.2f}",
        ]
        for result in results
    ]
    styles = ["quiet" if result.fraction is None else "" for result in results]
    return Table(
        ["operation", "arrays", "median ms", "min ms", "GB/s", "of the copy"], rows, text_columns=2, styles=styles
    )


def as_document(
    config: GridDescConfig, options: argparse.Namespace, ranks: int, results: list[Result]
) -> dict[str, Any]:
    return {
        "config": config._plain(),
        "dtype": options.dtype,
        "halo_extents": options.halo_extents,
        "halo_periods": arguments.axes_flags(options.halo_periods),
        "ranks": ranks,
        "results": [result.as_document() for result in results],
    }


def _slabs(shape: tuple[int, ...]) -> list[slice]:
    """Parts of the first axis with not many more cells than `AT_A_TIME`."""
    step = max(1, AT_A_TIME // max(1, shape[1] * shape[2]))
    return [slice(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]
