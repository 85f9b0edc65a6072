# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Runs the parallel tests on several numbers of ranks: python tests/run_mpi.py --ranks 1,2,3,4,6,8 [pytest arguments]

Uses the launcher of the MPI that mpi4py loads in this environment, and needs neither root nor a core per rank.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: Counts in the last line of pytest's report.
COUNTS = ("passed", "failed", "error", "skipped")


#: What runs besides pytest: arguments of the interpreter. Each must end well and leave the error stream empty.
PROGRAMS = (
    ["tests/mpi/programs/ends_without_destroying.py"],
    ["tests/mpi/programs/ends_after_finalizing_mpi.py"],
    ["tests/mpi/programs/ends_in_a_tangle.py"],
    ["-m", "tests.matrix", "--max-cases", "30", "--seed", "7"],
    # GPU arrays without a GPU; a process has either this or the built-in engine.
    ["-m", "tests.matrix", "--device", "fake", "--max-cases", "150"],
    ["-m", "pytest", "-q", "tests/gpu", "--device", "fake"],
)

#: What Open MPI's launcher now and then says about its own sockets.
LAUNCHER_NOISE = re.compile(r"^\[warn\] Epoll .*\n", re.MULTILINE)


@dataclass
class Run:
    """Outcome on one number of ranks."""

    ranks: int
    code: int
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.code == 0 and self.counts.get("passed", 0) > 0 and not self.counts.get("failed")

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.counts.items() if n) or "no result"
        end = "" if self.ok else f", exit code {self.code}"
        return f"{self.ranks} rank{'s'[: self.ranks > 1]}: {counts} in {self.seconds:.0f} s{end}"


def mpi_vendor() -> str:
    """The name of the MPI library mpi4py loads here, asked in another process: starting MPI would mark this one."""
    code = "from mpi4py import rc; rc.initialize = False; from mpi4py import MPI; print(MPI.get_vendor()[0])"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def launchers() -> Iterable[str]:
    """Launchers to try, those that came with this environment first."""
    scripts = Path(sys.executable).parent  # not resolved: a virtual environment's own folder
    for name in ("mpiexec", "mpirun"):
        yield str(scripts / name)
    for name in ("mpiexec", "mpirun", "mpiexec.hydra", "mpirun.openmpi", "mpiexec.mpich"):
        if found := shutil.which(name):
            yield found


def find_launcher(vendor: str) -> str:
    """The launcher that belongs to `vendor`'s library. Another one would start N independent jobs of one rank."""
    words = {"Open MPI": ("open mpi", "openrte", "prte"), "MPICH": ("hydra", "mpich")}.get(vendor, (vendor.lower(),))
    tried = []
    for launcher in launchers():
        if not os.access(launcher, os.X_OK):
            continue
        answer = subprocess.run([launcher, "--version"], capture_output=True, text=True, timeout=60, check=False)
        tried.append(launcher)
        if any(word in (answer.stdout + answer.stderr).lower() for word in words):
            return launcher
    raise SystemExit(
        f"mpi4py uses {vendor}, but none of the launchers found belongs to it: {', '.join(tried) or 'none found'}.\n"
        f"Put {vendor}'s mpiexec on the PATH, or install an mpi4py that matches the MPI on it."
    )


def launch_environment(tmpdir: str) -> dict[str, str]:
    """Lets Open MPI run as root and with more ranks than cores. Other libraries ignore these variables."""
    env = dict(os.environ)
    env.update(
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
        OMPI_MCA_rmaps_base_oversubscribe="1",  # Open MPI 4
        PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe",  # Open MPI 5
        OMPI_MCA_mpi_yield_when_idle="1",  # waiting ranks leave the core to others
        OMPI_MCA_hwloc_base_binding_policy="none",
        PRTE_MCA_hwloc_default_binding_policy="none",
        TMPDIR=tmpdir,  # sockets live here, and their paths must be short
        PYTHONDONTWRITEBYTECODE="1",  # ranks would race to write the same files
    )
    for name in ("CUDECOMP_USE_COL_MAJOR_RANK_ORDER", "CUDECOMP_BUILTIN_MAX_MESSAGE_ELEMENTS"):
        env.pop(name, None)
    return env


def interpreter() -> list[str]:
    """The start of each rank's command line: Python, with what CUDECOMP_TEST_PRELOAD names loaded before all else.

    Only there, not in the launcher: that is how the runtime of a sanitizer gets into ranks.
    """
    preload = os.environ.get("CUDECOMP_TEST_PRELOAD")
    return [*(["env", f"LD_PRELOAD={preload}"] if preload else []), sys.executable]


def run(launcher: str, ranks: int, arguments: list[str], timeout: float) -> Run:
    """Runs pytest on some ranks and passes its output through. Ends the job when it takes longer than `timeout`."""
    with tempfile.TemporaryDirectory(prefix="cdt", dir="/tmp") as tmpdir:
        color = f"--color={'yes' if sys.stdout.isatty() else 'no'}"  # some launchers give ranks a terminal, some a pipe
        pytest = [*interpreter(), "-m", "pytest", "-p", "no:cacheprovider", color, *arguments]
        command = [launcher, "-n", str(ranks), *pytest]
        start = time.monotonic()
        # A session of its own, so that the launcher and all ranks can be ended together.
        process = subprocess.Popen(
            command, cwd=ROOT, env=launch_environment(tmpdir), stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        timer = Timer(process, timeout)
        counts: dict[str, int] = {}
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            counts = read_counts(line) or counts
        code = process.wait()
        timer.cancel()
        if timer.fired:
            print(f"{ranks} ranks: ended after {timeout:.0f} s", flush=True)
        return Run(ranks, code or (1 if timer.fired else 0), time.monotonic() - start, counts)


def run_program(launcher: str, ranks: int, program: list[str], timeout: float) -> bool:
    """Whether a program ends with exit code 0 and without a word on the error stream."""
    with tempfile.TemporaryDirectory(prefix="cdt", dir="/tmp") as tmpdir:
        process = subprocess.Popen(
            [launcher, "-n", str(ranks), *interpreter(), *program],
            cwd=ROOT,
            env=launch_environment(tmpdir),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        timer = Timer(process, timeout)
        output, errors = process.communicate()
        timer.cancel()
    errors = LAUNCHER_NOISE.sub("", errors)
    good = process.returncode == 0 and not errors.strip()
    print(f"{'passed' if good else 'FAILED'}: {' '.join(program)}", flush=True)
    if not good:
        print(f"exit code {process.returncode}\n{output}{errors}", flush=True)
    return good


class Timer:
    """Ends a process and what it started when time is up."""

    def __init__(self, process: subprocess.Popen[str], seconds: float) -> None:
        import threading

        self.fired = False
        self._process = process
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self.fired = True
        for sig in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, sig)
            except ProcessLookupError:
                return
            time.sleep(5)


def read_counts(line: str) -> dict[str, int]:
    """Counts of a last line such as "12 passed, 1 skipped in 3.21s"; empty for any other line."""
    if not re.search(r" in [\d.]+s\b", line):
        return {}
    return {name: int(found[1]) for name in COUNTS if (found := re.search(rf"(\d+) {name}", line))}


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the parallel tests on several numbers of ranks.")
    parser.add_argument("--ranks", default="1,2,3,4,6,8", help="numbers of ranks (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds per number of ranks (default: 600)")
    options, arguments = parser.parse_known_args()
    programs = PROGRAMS if not arguments else ()  # arguments ask for certain tests
    if not any(not argument.startswith("-") and Path(argument.split("::")[0]).exists() for argument in arguments):
        arguments.append("tests/mpi")

    vendor = mpi_vendor()
    launcher = find_launcher(vendor)
    print(f"{vendor}, {launcher}", flush=True)
    runs = []
    for ranks in (int(n) for n in options.ranks.split(",")):
        print(f"\n--- {ranks} ranks", flush=True)
        outcome = run(launcher, ranks, arguments, options.timeout)
        start = time.monotonic()
        for program in programs:
            result = "passed" if run_program(launcher, ranks, program, options.timeout) else "failed"
            outcome.counts[result] = outcome.counts.get(result, 0) + 1
        outcome.seconds += time.monotonic() - start
        runs.append(outcome)

    print(f"\n--- {vendor}")
    for outcome in runs:
        print(outcome)
    totals = {name: sum(outcome.counts.get(name, 0) for outcome in runs) for name in COUNTS}
    totals["failed"] += totals.pop("error")
    # A run that ended without a verdict counts as one failure.
    totals["failed"] += sum(not r.ok and not (r.counts.get("failed") or r.counts.get("error")) for r in runs)
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 0 if all(outcome.ok for outcome in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
