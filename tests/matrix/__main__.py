# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""mpirun -n 4 python -m tests.matrix --filter "transpose what=x_to_y/* backend=MPI_A2A|MPI_P2P"

Prints on rank 0 only. Exits with 1 if any case fails on any rank, with 86 (and the job aborted) if one takes too long.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time

from mpi4py import MPI

from tests.matrix.cases import Case, parse, select
from tests.parallel import Watchdog


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="mpirun -n N python -m tests.matrix", description="Runs every operation under every setting."
    )
    parser.add_argument(
        "--filter",
        default="",
        metavar="TERMS",
        help='cases where all terms hold: a kind, or factor=level with wildcards and "|", e.g. "halo grid=8x8x8"',
    )
    parser.add_argument("--case", metavar="NAME", help="run just this case, as printed by --list or by a failure")
    parser.add_argument(
        "--device", default="host", choices=["host", "gpu", "fake"],
        help="gpu: CuPy arrays on NVIDIA's library; fake: the same calls over a GPU that is not there (default: host)",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the cases instead of running them")
    parser.add_argument("--max-cases", type=int, metavar="N", help="run a sample of N of the cases")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other combinations (default: 0)")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a case may take (default: 60)")
    parser.add_argument("--keep-going", type=int, default=10, metavar="N", help="stop after N failures (default: 10)")
    return parser.parse_args()


def main() -> int:
    world = MPI.COMM_WORLD
    say = print if world.rank == 0 else lambda *args, **kwargs: None
    try:
        options = arguments() if world.rank == 0 else None
    except SystemExit as stop:
        options = stop.code
    options = world.bcast(options)
    if not isinstance(options, argparse.Namespace):
        return int(options or 0)

    try:
        chosen = (
            [parse(options.case)]
            if options.case
            else select(world.size, options.seed, options.filter, options.max_cases, options.device)
        )
    except ValueError as error:
        say(error, file=sys.stderr)
        return 2
    if options.list:
        for case in chosen:
            say(case)
        return 0
    if not chosen:
        say("no case matches the filter", file=sys.stderr)
        return 2
    return run_all(world, chosen, options, say)


def run_all(world: MPI.Comm, chosen: list[Case], options: argparse.Namespace, say: object) -> int:
    from tests import devices
    from tests.matrix.runner import Runner

    watchdog = Watchdog(world, options.timeout)
    runner = Runner(world, devices.make(options.device, world.rank))
    start = time.monotonic()
    done: collections.Counter[str] = collections.Counter()
    failed = 0
    for case in chosen:
        watchdog.start(str(case))
        problem = runner.run(case)
        done[case.kind] += 1
        if problem:
            failed += 1
            say(f"FAILED {case}\n{problem}", flush=True)
            if failed >= options.keep_going:
                say(f"stopped after {failed} failures")
                break
    watchdog.start("closing handles")
    runner.close()
    watchdog.stop()
    kinds = ", ".join(f"{count} {kind}" for kind, count in done.items())
    say(
        f"matrix on {world.size} ranks: {sum(done.values()) - failed} passed, {failed} failed "
        f"({kinds}) in {time.monotonic() - start:.1f} s",
        flush=True,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
