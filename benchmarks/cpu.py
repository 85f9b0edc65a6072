# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Transposes and halo updates on the CPU: this package, others and the copy limit in one interleaved run.

    mpirun -n 2 python benchmarks/cpu.py --grid 256 256 256
    mpirun -n 4 python benchmarks/cpu.py --grid 128 128 128 --dtype complex128 --pdims all --halos
    python benchmarks/cpu.py --local

What is timed is the cycle X -> Y -> Z -> Y -> X, and with --halos the update of all six faces. Every participant's
result is checked to the last element first. In each repetition every participant runs once, in rotating order, each
after a barrier; a time goes from the first rank's begin to the last one's end. The copy limit is four copies of the
local pencil with streaming stores, on all ranks at once. README.md beside this file says more.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from mpi4py import MPI

# Last, so that an installed package is not hidden by a source tree without compiled modules.
sys.path.append(str(Path(__file__).resolve().parent.parent))

import cudecomp
from benchmarks.cpu_parts.halos import OurUpdate, Sendrecv, Update
from benchmarks.cpu_parts.measure import Participant, Timing, checked, interleaved
from benchmarks.cpu_parts.problem import LAYOUTS, STEPS, Buffers, Problem, factorisations
from benchmarks.cpu_parts.streaming import StreamingCopy, copy_numpy
from benchmarks.cpu_parts.table import milliseconds, ratio, table
from benchmarks.cpu_parts.transposes import (
    DTFFT_BACKENDS,
    CopyLimit,
    Cycle,
    HandWritten,
    Mpi4pyFft,
    Ours,
    best_dtfft,
)

COPY_LIMIT = "copy, streaming stores"
PEERS = {"mpi4py_fft.pencil": "mpi4py-fft", "dtfft": "dtFFT"}


class Run:
    """One start of the benchmark: what was asked for, what is there, what came out."""

    def __init__(self, options: argparse.Namespace, comm: MPI.Intracomm) -> None:
        self.options, self.comm = options, comm
        self.dtype = np.dtype(options.dtype)
        self.copy = StreamingCopy(comm)
        self.failures: list[str] = []
        self._told: set[str] = set()
        self.absent = {}
        for module, name in PEERS.items():
            reason = next(filter(None, comm.allgather(_why_absent(module))), None)
            if reason:
                self.absent[name] = reason
        self.has_empty = hasattr(cudecomp.GridDesc, "empty")
        if not self.has_empty and options.arrays != "numpy":
            self.absent["arrays from GridDesc.empty"] = "this version of cudecomp has none"

    def tell(self, text: str = "") -> None:
        if self.comm.rank == 0:
            print(text, flush=True)

    def complain(self, text: str) -> None:
        """A result that is wrong fails the run; what is only missing does not, and is told once."""
        if "WRONG" in text:
            self.failures.append(text)
        elif text in self._told:
            return
        self._told.add(text)
        self.tell(f"note: {text}\n")

    def uses(self, arrays: str) -> bool:
        return self.options.arrays in (arrays, "both") and (arrays == "numpy" or self.has_empty)

    def environment(self) -> dict:
        versions = {}
        for name in ("numpy", "mpi4py", "mpi4py-fft", "dtfft", "dtfft-openmpi", "dtfft-mpich"):
            try:
                versions[name] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
        return {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": _processor(),
            "cpus": os.cpu_count(),
            "mpi": MPI.Get_library_version().split("\n")[0].split(",")[0].strip("\0"),
            "python": platform.python_version(),
            "cudecomp": cudecomp.__version__,
            "versions": versions,
            "copy": self.copy.kind,
        }

    # The cycle.

    def transposes(self, pdims: tuple[int, int]) -> dict:
        problem = Problem(self.comm, tuple(self.options.grid), pdims, self.dtype)
        self.tell(f"\n## {problem}: cycle X -> Y -> Z -> Y -> X\n")
        with cudecomp.Handle(self.comm) as handle:
            participants = checked(self.comm, self._cycles(problem, handle), self.complain)
            timings = interleaved(self.comm, participants, self.options.repeats)
            steps = self._steps(participants) if self.options.local else []
            for participant in participants:
                participant.close()
        self.tell(cycle_table(timings))
        for text in steps:
            self.tell(text)
        return self._record("transpose", problem, timings)

    def _cycles(self, problem: Problem, handle: cudecomp.Handle) -> list[Participant]:
        infos = {layout: _infos(handle, problem, layout) for layout in LAYOUTS}
        buffers = Buffers(infos["kept"], self.dtype)
        layouts = LAYOUTS if self.options.layout == "both" else (self.options.layout,)
        cycles: list[Cycle] = []
        # dtFFT first: it may enlarge the buffers.
        if "permuting" in layouts and "dtFFT" not in self.absent and self.options.dtfft:
            keep = 2 if self.options.dtfft == ["best"] else len(self.options.dtfft)
            names = DTFFT_BACKENDS if self.options.dtfft == ["best"] else self.options.dtfft
            cycles += best_dtfft(problem, infos["permuting"], buffers, names, keep, self.complain)
        limit = CopyLimit(problem, infos["kept"], buffers, COPY_LIMIT, self.copy)
        cycles = [limit, CopyLimit(problem, infos["kept"], buffers, "copy, NumPy", copy_numpy), *cycles]
        for layout in layouts:
            for arrays in filter(self.uses, ("numpy", "empty")):
                own = buffers if arrays == "numpy" else None
                cycles += [Ours(problem, handle, layout, backend, own) for backend in self.options.backends]
            if layout == "kept" and "mpi4py-fft" not in self.absent:
                cycles.append(Mpi4pyFft(problem, infos[layout], buffers))
            if self.options.hand_written:
                cycles.append(HandWritten(problem, infos[layout], buffers, layout))
        return list(cycles)

    def _steps(self, participants: Sequence[Participant]) -> list[str]:
        """The four transposes of each participant by themselves."""
        steps = [
            _Step(participant, index)
            for participant in participants
            if isinstance(participant, Cycle)
            for index in range(len(STEPS))
        ]
        medians = [timing.median for timing in interleaved(self.comm, steps, self.options.repeats)]
        limits, rows = medians[: len(STEPS)], []
        for start in range(0, len(medians), len(STEPS)):
            step, own = steps[start], medians[start : start + len(STEPS)]
            cells = [f"{milliseconds(time)} ({limit / time:.2f})" for time, limit in zip(own, limits, strict=True)]
            rows.append([step.name, step.layout, step.arrays, *cells])
        names = [f"{'XYZ'[source]} -> {'XYZ'[target]}" for source, target in STEPS]
        head = ["median ms (of copy limit)", "layout", "arrays", *names]
        return ["\nEach transpose by itself\n", table(head, rows, 3)]

    # Halos.

    def halos(self, pdims: tuple[int, int]) -> list[dict]:
        problem = Problem(self.comm, tuple(self.options.grid), pdims, self.dtype)
        self.tell(f"\n## {problem}: halo updates, periodic, dims 0, 1 and 2 in turn\n")
        records, rows = [], []
        with cudecomp.Handle(self.comm) as handle:
            for axis in range(3):
                for width in self.options.widths:
                    updates = checked(self.comm, self._updates(problem, handle, axis, width), self.complain)
                    timings = interleaved(self.comm, updates, self.options.repeats * 2)
                    for update in updates:
                        update.close()
                    rows += halo_rows(axis, width, timings)
                    records.append({**self._record("halo", problem, timings), "axis": axis, "width": width})
        self.tell(table(["pencil", "width", "who", "arrays", "median ms", "min ms", "of Sendrecv"], rows, 4))
        return records

    def _updates(self, problem: Problem, handle: cudecomp.Handle, axis: int, width: int) -> list[Update]:
        with handle.create_grid(problem.config()) as grid:
            info = grid.get_pencil_info(axis, (width,) * 3)
        # Each has an array of its own: one that two work on in turn would be warmer in the caches than another's.
        updates: list[Update] = [Sendrecv(problem, info, np.empty(info.shape, self.dtype), axis)]
        for arrays in filter(self.uses, ("numpy", "empty")):
            for name in self.options.halo_backends:
                array = np.empty(info.shape, self.dtype) if arrays == "numpy" else None
                updates.append(OurUpdate(problem, handle, axis, width, name, array))
        return updates

    def _record(self, kind: str, problem: Problem, timings: Sequence[Timing]) -> dict:
        return {
            "kind": kind,
            "grid": problem.gdims,
            "dtype": str(problem.dtype),
            "ranks": self.comm.size,
            "pdims": problem.pdims,
            "timings": [timing.as_dict() for timing in timings],
        }


class _Step(Participant):
    def __init__(self, cycle: Cycle, index: int) -> None:
        self.name, self.layout, self.arrays = cycle.name, cycle.layout, cycle.arrays
        self._cycle, self._index = cycle, index

    def run(self) -> None:
        self._cycle.step(self._index)

    def check(self) -> bool:
        return self._cycle.check()


def cycle_table(timings: Sequence[Timing]) -> str:
    """Times, the fraction of the copy limit reached, and the ratios to the peers in the same layout."""

    def median_of(start: str, layout: str) -> float | None:
        return min((t.median for t in timings if t.name.startswith(start) and t.layout == layout), default=None)

    limit = median_of(COPY_LIMIT, "")
    rows = []
    for timing in timings:
        peers = [median_of(name, timing.layout or "-") for name in ("mpi4py-fft", "dtFFT", "mpi4py + NumPy")]
        rows.append(
            [
                timing.name,
                timing.layout,
                timing.arrays,
                milliseconds(timing.median),
                milliseconds(timing.minimum),
                ratio(limit / timing.median if limit else None),
                *(ratio(timing.median / peer if peer else None) for peer in peers),
            ]
        )
    head = ["who", "layout", "arrays", "median ms", "min ms", "of copy limit"]
    return table([*head, "/ mpi4py-fft", "/ best dtFFT", "/ mpi4py + NumPy"], rows, 3)


def halo_rows(axis: int, width: int, timings: Sequence[Timing]) -> list[list[str]]:
    peer = next((t.median for t in timings if t.name == Sendrecv.name), None)
    return [
        [
            "XYZ"[axis],
            str(width),
            timing.name,
            timing.arrays,
            milliseconds(timing.median),
            milliseconds(timing.minimum),
            ratio(timing.median / peer if peer else None),
        ]
        for timing in timings
    ]


def _infos(handle: cudecomp.Handle, problem: Problem, layout: str) -> list[cudecomp.PencilInfo]:
    with handle.create_grid(problem.config(layout)) as grid:
        return [grid.get_pencil_info(axis) for axis in range(3)]


def _why_absent(module: str) -> str | None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return str(error)
    return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith(("model name", "CPU part")))
    return next(names, platform.processor() or platform.machine())


def _names(known: Callable[[], Sequence[str]]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        wrong = [name for name in names if name not in known()]
        if wrong:
            raise argparse.ArgumentTypeError(f"{wrong[0]!r} is not one of {', '.join(known())}")
        return names

    return parse


def parse_arguments(comm: MPI.Comm) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/cpu.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--grid", type=int, nargs=3, default=[256, 256, 256], metavar=("X", "Y", "Z"), help="default: 256 256 256")
    add("--dtype", default="float64", choices=["float32", "float64", "complex64", "complex128"])
    add("--pdims", nargs="+", default=["all"], metavar="R C", help="rows and columns, or all factorisations (default)")
    add("--layout", default="both", choices=[*LAYOUTS, "both"], help="order of axes kept, or own axis fastest")
    add("--arrays", default="both", choices=["numpy", "empty", "both"], help="np.empty, or GridDesc.empty")
    transpose = _names(lambda: [b.name for b in cudecomp.TransposeCommBackend if b.name.startswith("MPI_")])
    halo = _names(lambda: [b.name for b in cudecomp.HaloCommBackend if b.name.startswith("MPI")])
    dtfft = _names(lambda: ["best", "none", *DTFFT_BACKENDS])
    add("--backends", type=transpose, default="MPI_P2P", help="of cudecomp, separated by commas (default: MPI_P2P)")
    add("--halo-backends", type=halo, default="MPI", help="of cudecomp, separated by commas (default: MPI)")
    add("--dtfft", type=dtfft, default="best", help="its backends, none, or best: the fastest two of a trial (default)")
    add("--no-hand-written", dest="hand_written", action="store_false", help="leaves out mpi4py + NumPy, which is slow")
    add("--repeats", type=int, default=11, help="timed repetitions (default: 11; halo updates twice as many)")
    add("--halos", action="store_true", help="halo updates too")
    add("--no-transposes", action="store_true", help="halo updates only")
    add("--widths", type=int, nargs="+", default=[1, 2, 3], help="halo widths (default: 1 2 3)")
    add("--local", action="store_true", help="one rank: each transpose by itself too, against its copy limit")
    add("--json", type=Path, metavar="FILE", help="writes all times")

    # All ranks parse alike; only one says what is wrong.
    if comm.rank:
        parser._print_message = lambda *_: None  # type: ignore[method-assign]
    options = parser.parse_args()
    options.dtfft = [] if options.dtfft == ["none"] else options.dtfft
    options.halos = options.halos or options.no_transposes
    if options.local and comm.size != 1:
        parser.error(f"--local is for one rank, and there are {comm.size}; start it without mpirun")
    if options.repeats < 1 or min(options.grid) < comm.size:
        parser.error(f"--repeats must be at least 1, each of --grid at least the number of ranks, {comm.size}")
    if options.pdims == ["all"]:
        options.pdims = factorisations(comm.size)
        return options
    try:
        rows, columns = map(int, options.pdims)
    except ValueError:
        parser.error(f"--pdims takes two numbers or all, got {' '.join(options.pdims)}")
    if rows * columns != comm.size:
        parser.error(f"--pdims {rows} {columns} makes {rows * columns} ranks, and there are {comm.size}")
    options.pdims = [(rows, columns)]
    return options


def main() -> int:
    comm = MPI.COMM_WORLD
    run = Run(parse_arguments(comm), comm)
    environment = run.environment()
    run.tell(f"# {environment['machine']}, {environment['cpus']} CPUs, {environment['mpi']}, {comm.size} ranks")
    run.tell(f"Copy limit: {run.copy.kind}")
    for name, reason in run.absent.items():
        run.tell(f"Left out: {name} ({reason})")
    records = []
    for pdims in run.options.pdims:
        if not run.options.no_transposes:
            records.append(run.transposes(pdims))
        if run.options.halos:
            records += run.halos(pdims)
    if run.options.json and comm.rank == 0:
        report = {"environment": environment, "absent": run.absent, "failures": run.failures, "records": records}
        run.options.json.write_text(json.dumps(report, indent=1))
    return 1 if run.failures else 0


if __name__ == "__main__":
    try:
        code = main()
    except Exception:  # the other ranks may be waiting for this one
        traceback.print_exc()
        MPI.COMM_WORLD.Abort(1)
    sys.exit(code)
