# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""How good the choices of autotuning are: mpirun -n 4 python benchmarks/autotune.py --grid 128 128 128

Autotunes the same problem several times; then times all candidates by itself, whole cycles X -> Y -> Z -> Y -> X in
turns; and prints what each choice costs beside the fastest candidate. "at least" is what can be said with 95 %
confidence (bootstrap over the repetitions): on one node all backends move data the same way, so that only noise is
between them.
A choice is good when it is the best, or when it cannot be told that it is slower by more than --tolerance.
Exit code 1 when a choice was not good.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from mpi4py import MPI

sys.path.append(str(Path(__file__).resolve().parent.parent))
import cudecomp
from benchmarks.cpu_parts.measure import Participant, Timing, interleaved
from benchmarks.cpu_parts.problem import STEPS, Buffers, Problem, factorisations

STEP_NAMES = ("x_to_y", "y_to_z", "z_to_y", "y_to_x")
TRANSPOSE_BACKENDS = ("MPI_P2P", "MPI_P2P_PL", "MPI_A2A")


def label(pdims: tuple[int, int], backend: str) -> str:
    return f"{pdims[0]} x {pdims[1]} {backend}"


class Candidate(Participant):
    """A cycle on one process grid with one backend."""

    def __init__(self, handle: cudecomp.Handle, problem: Problem, backend: str, layout: str) -> None:
        self.name, self.layout = label(problem.pdims, backend), layout
        config = problem.config(layout)
        config.transpose_comm_backend = cudecomp.TransposeCommBackend[backend]
        self.grid = handle.create_grid(config)
        infos = [self.grid.get_pencil_info(axis) for axis in range(3)]
        self.arrays_of_axes = Buffers(infos, problem.dtype).arrays(infos)
        self.arrays_of_axes[0].fill(1)

    def run(self) -> None:
        arrays = self.arrays_of_axes
        for name, (source, target) in zip(STEP_NAMES, STEPS, strict=True):
            getattr(self.grid, f"transpose_{name}")(arrays[source], arrays[target])

    def check(self) -> bool:
        self.run()
        return bool((self.arrays_of_axes[0] == 1).all())

    def close(self) -> None:
        self.grid.destroy()


def tune(handle: cudecomp.Handle, arguments: argparse.Namespace) -> cudecomp.AutotuneReport:
    """What autotuning finds out in one go."""
    dtype = {"float32": "FLOAT", "float64": "DOUBLE", "complex64": "FLOAT_COMPLEX", "complex128": "DOUBLE_COMPLEX"}
    options = cudecomp.GridDescAutotuneOptions(
        autotune_transpose_backend=True,
        n_trials=arguments.trials,
        dtype=cudecomp.DataType[dtype[arguments.dtype]],
    )
    config = Problem(handle.comm, arguments.grid, (0, 0), np.dtype(arguments.dtype)).config(arguments.layout)
    with handle.create_grid(config, options) as grid:
        return grid.autotune_report


def truth(handle: cudecomp.Handle, arguments: argparse.Namespace) -> list[Timing]:
    """The times of all candidates, in turns."""
    candidates = [
        Candidate(
            handle, Problem(handle.comm, arguments.grid, pdims, np.dtype(arguments.dtype)), name, arguments.layout
        )
        for pdims in factorisations(handle.nranks)
        for name in TRANSPOSE_BACKENDS
    ]
    assert all(handle.comm.allgather(all(candidate.check() for candidate in candidates)))
    timings = interleaved(handle.comm, candidates, arguments.repeats)
    for candidate in candidates:
        candidate.close()
    return timings


def costs_of(timings: list[Timing]) -> list[tuple[float, float]]:
    """Of each candidate the median over the lowest one, and what that ratio is at least."""
    seconds = np.array([timing.seconds for timing in timings])
    medians = np.median(seconds, axis=1)
    draws = np.random.default_rng(0).integers(seconds.shape[1], size=(1000, seconds.shape[1]))
    drawn = np.array([np.median(seconds[:, draw], axis=1) for draw in draws])
    ratios = drawn / drawn[:, [medians.argmin()]]
    return list(zip(medians / medians.min(), np.quantile(ratios, 0.05, axis=0), strict=True))


def show(arguments: argparse.Namespace, ranks: int, timings: list[Timing], choices: list[str], seconds: float) -> bool:
    """Prints the table; whether all choices were good."""
    costs = {timing.name: cost for timing, cost in zip(timings, costs_of(timings), strict=True)}
    chosen = Counter(choices)
    print(
        f"{'x'.join(map(str, arguments.grid))} {arguments.dtype}, {arguments.layout}, {ranks} ranks: "
        f"{len(choices)} tunings of {arguments.trials} trials, {seconds / len(choices):.2f} s each; "
        f"then {arguments.repeats} cycles of each candidate"
    )
    print(f"  {'candidate':<20} {'median ms':>10} {'minimum ms':>11} {'of best':>8} {'at least':>9} {'chosen':>7}")
    for timing in sorted(timings, key=lambda timing: timing.median):
        times = chosen[timing.name]
        print(
            f"  {timing.name:<20} {1e3 * timing.median:>10.3f} {1e3 * timing.minimum:>11.3f} "
            f"{costs[timing.name][0]:>8.2f} {costs[timing.name][1]:>9.2f} {times or '':>7}"
        )
    good = sum(costs[choice][1] <= 1 + arguments.tolerance for choice in choices)
    near = sum(costs[choice][0] <= 1 + arguments.tolerance for choice in choices)
    print(
        f"  {good} of {len(choices)} choices are good, {near} of them within {arguments.tolerance:.0%} of the lowest "
        f"median; the worst takes {max(costs[choice][0] for choice in choices):.2f} of its time",
        flush=True,
    )
    return good == len(choices)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", type=int, nargs=3, default=(128, 128, 128), metavar=("X", "Y", "Z"))
    parser.add_argument("--dtype", choices=["float32", "float64", "complex64", "complex128"], default="float64")
    parser.add_argument("--layout", choices=["kept", "permuting"], default="kept")
    parser.add_argument("--tunings", type=int, default=10, help="how often to autotune (default: 10)")
    parser.add_argument("--trials", type=int, default=5, help="n_trials of the options (default: 5, as in the library)")
    parser.add_argument("--repeats", type=int, default=100, help="cycles of each candidate (default: 100)")
    parser.add_argument("--tolerance", type=float, default=0.1, help="of a good choice (default: 0.1)")
    parser.add_argument("--json", type=Path, help="write all times and choices to this file")
    arguments = parser.parse_args()
    arguments.grid = tuple(arguments.grid)

    comm = MPI.COMM_WORLD
    with cudecomp.Handle(comm) as handle:
        reports = [tune(handle, arguments) for _ in range(arguments.tunings)]
        timings = truth(handle, arguments)
    choices = [label(report.chosen.pdims, report.chosen.transpose_comm_backend.name) for report in reports]
    good = True
    if comm.rank == 0:
        good = show(arguments, comm.size, timings, choices, sum(report.seconds for report in reports))
        if arguments.json:
            content = {"choices": choices, "timings": [timing.as_dict() for timing in timings]}
            arguments.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if comm.bcast(good) else 1


if __name__ == "__main__":
    sys.exit(main())
