# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Tests with an engine that reports its own memory errors: python tests/run_sanitized.py --ranks 1,2,4 [arguments]

Builds the engine with the AddressSanitizer and the UndefinedBehaviorSanitizer into a folder of its own, so that the one
in the package stays as it is, and runs some of the parallel tests with it, or those that arguments of tests/run_mpi.py
name.
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

ROOT = Path(__file__).resolve().parent.parent

#: Leaks are left to tests/mpi/test_leaks.py: Python and MPI free little at the end, which would drown ours.
ASAN_OPTIONS = "detect_leaks=0:exitcode=99:allocator_may_return_null=1"
UBSAN_OPTIONS = "print_stacktrace=1:halt_on_error=1"

#: Every kind of operation on few cases, and what is hard on memory: lifecycles, errors, shared arrays.
TESTS = (
    "tests/mpi/test_matrix.py",
    "tests/mpi/test_lifecycle.py",
    "tests/mpi/test_errors.py",
    "tests/mpi/test_check.py",
)

#: Thousands of the same rounds find nothing here that a few do not, and take minutes.
MANY_ROUNDS = "tests/mpi/test_lifecycle.py::test_many_handles_and_grids"


def build(sanitizers: str, folder: Path) -> Path:
    """Compiles the engine with sanitizers; returns the library."""
    sys.path.insert(0, str(ROOT / "build_backend"))
    from engine_build import LIBRARY, build_engine

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
        **os.environ,
        "CUDECOMP_LIBRARY": str(library),
        "CUDECOMP_TEST_PRELOAD": preload,
        "ASAN_OPTIONS": ASAN_OPTIONS,
        "UBSAN_OPTIONS": UBSAN_OPTIONS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,4", help="numbers of ranks (default: %(default)s)")
    options, arguments = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="cudecomp-sanitized-") as folder:
        library = build("address,undefined", Path(folder))
        command = [sys.executable, str(ROOT / "tests" / "run_mpi.py"), "--ranks", options.ranks]
        command += arguments or [*TESTS, "--deselect", MANY_ROUNDS, "-q", "--mpi-timeout", "300"]
        command.append("--capture=sys")  # the sanitizers' own output is seen
        env = environment(library, runtime("libasan.so", "libubsan.so"))
        return subprocess.run(command, env=env, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
