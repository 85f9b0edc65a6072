# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Everything that needs a GPU, in one go: CUDECOMP_HOME=/path/to/nvidias/library python tests/run_gpu.py

Builds the package in place, then, on one rank and on as many as there are GPUs: the tests, the matrix, and a random
comparison with the built-in engine, whose results must be the same bits; at the end both benchmarks. Where there is no
GPU it says why and does nothing. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


class Steps:
    """Runs commands one after the other and remembers which failed."""

    def __init__(self, launcher: str, environment: dict[str, str], timeout: float) -> None:
        self._launcher, self._environment, self._timeout = launcher, environment, timeout
        self.failed: list[str] = []

    def run(self, ranks: int, *arguments: str, **environment: str) -> None:
        """`python arguments...` on some ranks, its output passed through."""
        command = [self._launcher, "-n", str(ranks), sys.executable, *arguments]
        text = shlex.join([*(f"{name}={value}" for name, value in environment.items()), *command])
        print(f"\n$ {text}", flush=True)
        start = time.monotonic()
        try:
            settings = {**self._environment, **environment}
            done = subprocess.run(command, cwd=ROOT, env=settings, timeout=self._timeout, check=False)
            outcome = f"exit code {done.returncode}"
            good = done.returncode == 0
        except subprocess.TimeoutExpired:
            outcome, good = f"ended after {self._timeout:.0f} s", False
        print(f"{outcome}, {time.monotonic() - start:.0f} s", flush=True)
        if not good:
            self.failed.append(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", action="store_true", help="take the package as it is built in place")
    parser.add_argument("--no-benchmarks", action="store_true", help="tests alone")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each step (default: 300)")
    options = parser.parse_args()
    if not options.no_build:
        subprocess.run([sys.executable, "setup.py", "build_ext", "--inplace"], cwd=ROOT, check=True)

    from tests import devices
    from tests.run_mpi import find_launcher, launch_environment, mpi_vendor

    if reason := devices.why_no_gpu():
        print(f"nothing is run: {reason}")
        return 0
    import cupy

    gpus = cupy.cuda.runtime.getDeviceCount()
    with tempfile.TemporaryDirectory(prefix="cdg", dir="/tmp") as folder:
        environment = {**launch_environment(folder), "PYTHONPATH": str(ROOT)}
        steps = Steps(find_launcher(mpi_vendor()), environment, options.timeout)
        for ranks in sorted({1, gpus}):
            test(steps, ranks, str(Path(folder) / f"results{ranks}"))
        steps.run(1, "-m", "tests.gpu.imports")
        if not options.no_benchmarks:
            together = ["-m", "mpi4py", "-m"]  # a rank that raises ends the others
            steps.run(1, *together, "benchmarks.overhead", "--device", "gpu")
            for ranks in sorted({1, gpus}):
                steps.run(ranks, *together, "benchmarks.gpu")
    print(f"\n{gpus} GPUs, NVIDIA's library in {os.environ.get('CUDECOMP_HOME', 'the loader path')}: ", end="")
    print("all is well" if not steps.failed else "\n".join(["failed:", *steps.failed]))
    return 1 if steps.failed else 0


def test(steps: Steps, ranks: int, results: str) -> None:
    """All that must hold on a number of ranks, a GPU for each."""
    steps.run(ranks, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "tests/gpu")
    steps.run(ranks, "-m", "tests.matrix", "--device", "gpu")
    compare = ["-m", "tests.gpu.compare"]
    steps.run(ranks, *compare, "--write", results, CUDECOMP_LIBRARY="builtin")
    steps.run(ranks, *compare, "--device", "gpu", "--against", results)


if __name__ == "__main__":
    sys.exit(main())
