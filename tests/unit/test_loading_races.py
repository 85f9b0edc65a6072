# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The ThreadSanitizer watches threads whose first calls come while the library is being loaded.

Only the loader is compiled with it: that is where threads meet without the GIL. Neither the interpreter nor MPI needs
to be, since a library that does nothing stands in for the engine, and the GIL is a mutex that the sanitizer sees.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from tests.unit import fakelib

ROOT = fakelib.ROOT
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
CC = os.environ.get("CC", "cc").split()

FIXED_ADDRESSES = ("setarch", platform.machine(), "-R")

#: What the loader's slots are read and written with, and what would be a race. A read that comes late, after the thread
#: has let go of the GIL, all but surely meets a store that it does not know of.
ATOMIC = {
    "__atomic_load_n(slot, __ATOMIC_ACQUIRE)": (
        "__extension__({ extern int usleep(unsigned); usleep(10000); *(void* volatile*)(slot); })"
    ),
    "__atomic_store_n(slot, address, __ATOMIC_RELEASE)": "(*(void* volatile*)(slot) = (address))",
}

#: Threads that keep arriving, each without the GIL when it looks for the address of its function.
PROGRAM = """
    import sys, threading, time
    import cudecomp_bindings.cudecomp as cd
    from cudecomp_bindings._internal import search

    find, searches, threads = search.find_library, [], []

    def slow(*arguments):
        searches.append(1)
        while len(threads) < 40:
            time.sleep(0)
        return find(*arguments)

    search.find_library = slow
    sys.setswitchinterval(1e-6)
    for _ in range(150):
        threads.append(threading.Thread(target=cd.grid_desc_destroy, args=(1, 2)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    print(len(searches))
"""


def thread_sanitizer() -> str:
    """The sanitizer's library, to be loaded first."""
    path = subprocess.run(
        [*CC, "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if "/" not in path:
        pytest.skip(f"{CC[0]} has no libtsan.so: install its sanitizer libraries")
    if not shutil.which("setarch") or subprocess.run([*FIXED_ADDRESSES, "true"], check=False).returncode:
        pytest.skip("the sanitizer wants addresses that are not random, and setarch -R does not work here")
    return str(Path(path).resolve())


def instrumented_bindings(folder: Path, replacements: dict[str, str]) -> Path:
    """A folder with the bindings, their loader compiled with the sanitizer after some replacements in its C source."""
    pytest.importorskip("Cython", reason="compiles Cython modules")
    shutil.copytree(ROOT / "cudecomp_bindings", folder / "cudecomp_bindings")
    include = sysconfig.get_path("include")
    for module in ("_internal/cudecomp", "cycudecomp"):
        source = folder / f"{module.replace('/', '_')}.c"
        pyx = f"cudecomp_bindings/{module}.pyx"
        subprocess.run([sys.executable, "-m", "cython", "-3", pyx, "-o", str(source)], cwd=folder, check=True)
        text = source.read_text()
        for old, new in replacements.items():
            assert old in text
            text = text.replace(old, new)
        source.write_text(text)
        target = folder / "cudecomp_bindings" / f"{module}{SUFFIX}"
        target.unlink(missing_ok=True)
        flags = ("-shared", "-fPIC", "-O1", "-g", "-w", "-fsanitize=thread")
        subprocess.run([*CC, *flags, f"-I{include}", str(source), "-o", str(target)], check=True)
    return folder


def report(bindings: Path, library: Path) -> str:
    """What the sanitizer has to say about one run."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("CUDECOMP", "LD_"))}
    environment |= {"PYTHONPATH": str(bindings), "CUDECOMP_LIBRARY": str(library), "TSAN_OPTIONS": "exitcode=66"}
    program = [sys.executable, "-P", "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(
        [*FIXED_ADDRESSES, "env", f"LD_PRELOAD={thread_sanitizer()}", *program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if done.returncode == 66:
        return done.stderr
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1\n", "the library was searched for once"
    return ""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fakelib.build(tmp_path_factory.mktemp("library"))


@pytest.mark.timeout(300)
def test_loading_has_no_races(tmp_path: Path, library: Path) -> None:
    thread_sanitizer()
    bindings = instrumented_bindings(tmp_path, {})
    for _ in range(20):
        assert not report(bindings, library)


@pytest.mark.timeout(300)
def test_a_race_would_be_reported(tmp_path: Path, library: Path) -> None:
    """With plain loads, which come late, and plain stores. Nearly always the first run meets the moment."""
    thread_sanitizer()
    bindings = instrumented_bindings(tmp_path, ATOMIC)
    for _ in range(20):
        if text := report(bindings, library):
            assert "data race" in text
            assert "function_address" in text
            return
    pytest.fail("no run met the race")
