# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""All configurations of the CPU targets, and whether they are met: ``python benchmarks/cpu_suite.py``.

Starts ``benchmarks/cpu.py`` once for each number of ranks, grid and dtype (with this environment's ``mpirun``,
oversubscribed where there are fewer cores), and holds the geometric mean of each ratio against its target. No single
configuration may be worse than its target by more than a quarter. What has no figures, such as a peer that is not
installed, is told as not measured and fails nothing. The exit code is 1 when a target is missed.

The whole of it takes more than an hour on two cores, `--quick` about a quarter of one: fewer repetitions, nothing by
hand with NumPy, which no target names, halo updates on the smallest grid only, and dtFFT's best backend is looked for
on the smallest grid of each number of ranks and dtype only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks.cpu_parts.table import ratio, table

HERE = Path(__file__).resolve().parent
# For a single configuration a target counts with this much tolerance.
TOLERANCE = 1.25
REPEATS = {128: 31, 256: 15, 384: 9}
QUICK_REPEATS = {128: 11, 256: 7, 384: 5}


@dataclass(frozen=True)
class Figure:
    """One ratio of one configuration."""

    where: str
    value: float


@dataclass(frozen=True)
class Target:
    """A ratio of times, ours over another's, or (`of_limit`) the fraction of the copy limit that is reached."""

    what: str
    bound: float
    figures: Callable[[list[dict]], Iterator[Figure]]
    of_limit: bool = False

    def met(self, value: float, tolerance: float = 1.0) -> bool:
        return value >= self.bound / tolerance if self.of_limit else value <= self.bound * tolerance

    def worst(self, figures: list[Figure]) -> Figure:
        return (min if self.of_limit else max)(figures, key=lambda figure: figure.value)


def median(record: dict, name: str, layout: str = "", arrays: str = "") -> float | None:
    """The best median of those whose name begins so."""
    return min(
        (
            timing["median"]
            for timing in record["timings"]
            if timing["name"].startswith(name) and timing["layout"] == layout and timing["arrays"] == arrays
        ),
        default=None,
    )


def place(record: dict) -> str:
    grid, pdims = "x".join(map(str, record["grid"])), "x".join(map(str, record["pdims"]))
    text = f"{grid} {record['dtype']} {pdims}"
    return text if record["kind"] == "transpose" else f"{text} {'XYZ'[record['axis']]} width {record['width']}"


def compare(
    layout: str,
    arrays: str,
    peer: tuple[str, str, str],
    kind: str = "transpose",
    where: Callable[[dict], bool] = lambda record: record["ranks"] > 1,
    of_limit: bool = False,
) -> Callable[[list[dict]], Iterator[Figure]]:
    def figures(records: list[dict]) -> Iterator[Figure]:
        for record in records:
            if record["kind"] != kind or not where(record):
                continue
            ours, other = median(record, "cudecomp", layout, arrays), median(record, *peer)
            if ours and other:
                yield Figure(place(record), other / ours if of_limit else ours / other)

    return figures


def at_256_float64(record: dict) -> bool:
    return record["ranks"] > 1 and list(record["grid"]) == [256] * 3 and record["dtype"] == "float64"


def one_rank(record: dict) -> bool:
    return record["ranks"] == 1


LIMIT = ("copy, streaming stores", "", "")
FFT = ("mpi4py-fft", "kept", "numpy")
DTFFT = ("dtFFT", "permuting", "numpy")
SENDRECV = ("mpi4py Sendrecv", "kept", "numpy")

TARGETS = [
    Target("any arrays, kept / mpi4py-fft", 0.65, compare("kept", "numpy", FFT)),
    Target("any arrays, permuting / best dtFFT", 0.45, compare("permuting", "numpy", DTFFT)),
    Target(
        "any arrays, permuting / best dtFFT, 256^3 float64",
        0.35,
        compare("permuting", "numpy", DTFFT, where=at_256_float64),
    ),
    Target("from empty, kept, of copy limit", 0.8, compare("kept", "empty", LIMIT, of_limit=True), of_limit=True),
    Target(
        "from empty, permuting, of copy limit", 0.5, compare("permuting", "empty", LIMIT, of_limit=True), of_limit=True
    ),
    Target("from empty, permuting / best dtFFT", 0.3, compare("permuting", "empty", DTFFT)),
    Target(
        "from empty, permuting / best dtFFT, 256^3 float64",
        0.25,
        compare("permuting", "empty", DTFFT, where=at_256_float64),
    ),
    Target("halo update, any arrays / Sendrecv", 1.0, compare("kept", "numpy", SENDRECV, kind="halo")),
    Target("halo update, from empty / Sendrecv", 0.75, compare("kept", "empty", SENDRECV, kind="halo")),
    Target(
        "one rank, kept, of copy limit",
        0.85,
        compare("kept", "numpy", LIMIT, where=one_rank, of_limit=True),
        of_limit=True,
    ),
    Target(
        "one rank, permuting, of copy limit",
        0.55,
        compare("permuting", "numpy", LIMIT, where=one_rank, of_limit=True),
        of_limit=True,
    ),
]


def verdicts(records: list[dict]) -> tuple[str, bool]:
    """The table of targets, and whether none is missed."""
    rows, good = [], True
    for target in TARGETS:
        figures = list(target.figures(records))
        sign = ">=" if target.of_limit else "<="
        bound = f"{sign} {target.bound}"
        if not figures:
            rows.append([target.what, "not measured", "", bound, "", "", "0"])
            continue
        mean, worst = geometric_mean(figure.value for figure in figures), target.worst(figures)
        met = target.met(mean) and target.met(worst.value, TOLERANCE)
        good = good and met
        values = [bound, ratio(mean), ratio(worst.value), str(len(figures))]
        rows.append([target.what, "pass" if met else "FAIL", worst.where, *values])
    head = ["target", "verdict", "worst configuration", "bound", "mean", "worst", "configurations"]
    return table(head, rows, 3), good


def start(options: argparse.Namespace, ranks: int, size: int, dtype: str, dtfft: str) -> dict:
    repeats = options.repeats or (QUICK_REPEATS if options.quick else REPEATS).get(size, 5 if options.quick else 9)
    arguments = ["--grid", *[str(size)] * 3, "--dtype", dtype, "--repeats", str(repeats), "--backends"]
    arguments += [options.backends, "--dtfft", dtfft]
    if ranks == 1:
        arguments.append("--local")
    elif not options.quick or size == min(options.sizes):
        arguments.append("--halos")
    if options.quick:
        arguments.append("--no-hand-written")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, str(HERE / "cpu.py"), *arguments, "--json", str(report)]
        command = [*shlex.split(options.mpirun), "-n", str(ranks), *command]
        print(f"\n$ {shlex.join(command)}", flush=True)
        try:
            done = subprocess.run(command, env=variables(), timeout=options.timeout, check=False)
        except subprocess.TimeoutExpired:
            return {"records": [], "failures": [f"{ranks} ranks, {size}^3 {dtype}: not done in {options.timeout} s"]}
        if not report.exists():
            return {"records": [], "failures": [f"{ranks} ranks, {size}^3 {dtype}: exit code {done.returncode}"]}
        return json.loads(report.read_text())


def memory_speed(report: dict) -> float | None:
    """GB/s, read and written, of the slowest copy limit among the transposes of a report."""
    speeds = []
    for record in report["records"]:
        seconds = median(record, *LIMIT) if record["kind"] == "transpose" else None
        if seconds:  # four copies, each of which reads and writes the field
            speeds.append(8 * math.prod(record["grid"]) * np.dtype(record["dtype"]).itemsize / seconds / 1e9)
    return min(speeds, default=None)


def start_with_memory(options: argparse.Namespace, ranks: int, size: int, dtype: str, dtfft: str) -> dict:
    """As `start`, again and again while memory is slower than asked for; the fastest of `--tries` if it stays so."""
    reports = []
    for _ in range(options.tries):
        report = start(options, ranks, size, dtype, dtfft)
        speed = memory_speed(report)
        # What went wrong is told, however fast.
        if ranks == 1 or report["failures"] or speed is None or speed >= options.memory_at_least:
            return report
        print(f"Copies reach {speed:.0f} GB/s, less than {options.memory_at_least:g}: once more", flush=True)
        reports.append(report)
    print(f"Still less after {options.tries} times: the fastest counts", flush=True)
    return max(reports, key=memory_speed)


def fastest_dtfft(report: dict) -> str | None:
    """Which backend of dtFFT was the fastest in a report, the other factors of a process grid taken together."""
    times: dict[str, list[float]] = {}
    for record in report["records"]:
        for timing in record["timings"]:
            if timing["name"].startswith("dtFFT "):
                times.setdefault(timing["name"].removeprefix("dtFFT "), []).append(timing["median"])
    return min(times, key=lambda name: geometric_mean(times[name]), default=None)


def run_all(options: argparse.Namespace) -> list[dict]:
    reports = []
    for ranks, dtype in itertools.product(options.ranks, options.dtypes):
        # A target about one rank names dtFFT nowhere.
        dtfft = "none" if options.quick and ranks == 1 else options.dtfft
        for size in sorted(options.sizes):
            reports.append(start_with_memory(options, ranks, size, dtype, dtfft))
            if options.quick and dtfft == "best":
                dtfft = fastest_dtfft(reports[-1]) or dtfft
            if options.json:  # each time, so that a run that is broken off leaves something
                options.json.write_text(json.dumps(reports, indent=1))
    return reports


def variables() -> dict[str, str]:
    """What more ranks than cores, or root in a container, want from the environment; one thread per rank."""
    defaults = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
        "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI 4
        "OMP_NUM_THREADS": "1",
    }
    return {**defaults, **os.environ}


def find_mpirun() -> str:
    beside = Path(sys.executable).parent / "mpirun"
    return shlex.quote(str(beside)) if beside.exists() else shutil.which("mpirun") or "mpirun"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ranks", type=int, nargs="+", default=[1, 2, 4], help="default: 1 2 4")
    add("--sizes", type=int, nargs="+", default=[128, 256, 384], help="points in each dimension (128 256 384)")
    add("--dtypes", nargs="+", default=["float64", "complex128"], help="default: float64 complex128")
    add("--backends", default="MPI_P2P", help="of cudecomp; the best of several counts (default: MPI_P2P, its default)")
    add("--dtfft", default="best", help="as in cpu.py (default: best)")
    add("--quick", action="store_true", help="about a quarter of an hour instead of more than one")
    add("--repeats", type=int, help="default: 31, 15, 9 with growing size; 11, 7, 5 with --quick")
    add(
        "--memory-at-least",
        type=float,
        default=0,
        metavar="GB/S",
        help="measures again what several ranks do while their copies, read and written bytes together, are slower: "
        "for machines that others share, or whose cores move (default: 0)",
    )
    add("--tries", type=int, default=20, help="how often, before the fastest counts as it is (default: 20)")
    add("--timeout", type=float, default=3600, help="seconds for one start of cpu.py (default: 3600)")
    add("--mpirun", default=find_mpirun(), help="default: %(default)s")
    add("--json", type=Path, metavar="FILE", help="writes all times")
    add("--from-json", type=Path, metavar="FILE", help="runs nothing, judges the times of an earlier run")
    options = parser.parse_args()
    if options.tries < 1:
        parser.error("--tries must be at least 1")
    return options


def main() -> int:
    options = parse_arguments()
    reports = json.loads(options.from_json.read_text()) if options.from_json else run_all(options)
    text, good = verdicts([record for report in reports for record in report["records"]])
    print(f"\n# Targets\n\n{text}\n")
    for name, reason in sorted({item for report in reports for item in report.get("absent", {}).items()}):
        print(f"Left out: {name} ({reason})")
    failures = [failure for report in reports for failure in report["failures"]]
    for failure in failures:
        print(f"FAILED: {failure}")
    return 0 if good and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
