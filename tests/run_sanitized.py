# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Tests with an engine that reports its own memory errors: python tests/run_sanitized.py --ranks 1,2,4 [arguments]

Builds the engine with the AddressSanitizer and the UndefinedBehaviorSanitizer into a folder of its own, so that the one
in the package stays as it is; sees that programs that are wrong on purpose are caught; and runs some of the parallel
tests with it, or those that arguments of tests/run_mpi.py name.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent / "build_backend"))

from engine_build import LIBRARY, build_engine
from tests.run_mpi import ROOT, find_launcher, interpreter, launch_environment, mpi_vendor
from tests.sanitized_faults import FAULTS

#: Leaks are left to tests/mpi/test_leaks.py: Python and MPI free little at the end, which would drown ours.
ASAN_OPTIONS = "detect_leaks=0:exitcode=99:allocator_may_return_null=1"
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"

#: Every kind of operation on few cases, and what is hard on memory: lifecycles, errors, autotuning, callers in C.
TESTS = (
    "tests/mpi/test_matrix.py",
    "tests/mpi/test_lifecycle.py",
    "tests/mpi/test_errors.py",
    "tests/mpi/test_check.py",
    "tests/mpi/test_autotune.py",
    "tests/mpi/test_performance_report.py",
    "tests/mpi/test_c_interface.py",
    "tests/mpi/test_out_of_step.py",
)

#: What a sanitizer's own memory makes meaningless, or what only repeats: its quarantine keeps what has been freed.
LEFT_OUT = ("test_many_handles_and_grids", "test_leaks.py", "test_memory_goes_back")


def build(sanitizers: str, folder: Path) -> Path:
    """Compiles the engine with sanitizers; returns the library."""
    os.environ["CUDECOMP_SANITIZE"] = sanitizers
    print(f"compiling the engine with -fsanitize={sanitizers}", flush=True)
    with contextlib.redirect_stdout(io.StringIO()):
        build_engine(ROOT, [folder], ROOT / "build" / "sanitized", "0+sanitized")
    del os.environ["CUDECOMP_SANITIZE"]
    return folder / LIBRARY


def runtime(*names: str) -> str:
    """The sanitizers' libraries, to be loaded before all others: the interpreter is not compiled with them."""
    found = []
    for name in names:
        path = subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout
        if "/" not in path:
            raise SystemExit(f"g++ has no {name}; install its sanitizer libraries, for example libasan")
        found.append(str(Path(path.strip()).resolve()))
    return " ".join(found)


def environment(library: Path, preload: str) -> dict[str, str]:
    return {
        "CUDECOMP_LIBRARY": str(library),
        "CUDECOMP_TEST_PRELOAD": preload,
        "ASAN_OPTIONS": ASAN_OPTIONS,
        "UBSAN_OPTIONS": UBSAN_OPTIONS,
    }


def missed_faults() -> list[str]:
    """The programs of tests/sanitized_faults.py that do not end as they must."""
    launcher = find_launcher(mpi_vendor())
    missed = []
    for fault, report in FAULTS.items():
        with tempfile.TemporaryDirectory(prefix="cdt", dir="/tmp") as tmpdir:
            program = [*interpreter(), str(ROOT / "tests" / "sanitized_faults.py"), fault.__name__]
            done = subprocess.run(
                [launcher, "-n", "1", *program],
                env=launch_environment(tmpdir),
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        caught = done.returncode != 0 and report in done.stderr if report else done.returncode == 0
        print(f"{'ok' if caught else 'MISSED'}: {fault.__name__}, {report or 'no report'}", flush=True)
        if not caught:
            print(f"exit code {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
            missed.append(fault.__name__)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,4", help="numbers of ranks (default: %(default)s)")
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="cudecomp-sanitized-") as folder:
        library = build("address,undefined", Path(folder))
        command = [sys.executable, str(ROOT / "tests" / "run_mpi.py"), "--ranks", options.ranks]
        command += arguments or [*TESTS, "-q", "--mpi-timeout", "300"]
        command += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
        command.append("--capture=sys")  # the sanitizers' own output is seen
        os.environ.update(environment(library, runtime("libasan.so", "libubsan.so")))
        if missed := missed_faults():
            print(f"the sanitizers do not report what is wrong in {', '.join(missed)}: what they say means nothing")
            return 1
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
