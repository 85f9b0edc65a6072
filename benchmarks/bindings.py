# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the bindings add to a call, beside their budgets: ``python -m benchmarks.bindings``.

The library behind them is compiled on the fly and returns at once. Figures are the minimum of many rounds, without the
loop and without the bare C call; the time of an import is that of a fresh interpreter, without its start.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

from tests.unit import fakelib

ZERO = (0, 0, 0)


def nanoseconds(statement: Callable[[], object] | str, names: dict[str, object], rounds: int, calls: int) -> float:
    """Minimum time of a statement, the loop included."""
    source = f"def run(_calls):\n  _start = clock()\n  for _ in _calls:\n    {statement}\n  return clock() - _start"
    space: dict[str, object] = {"clock": time.perf_counter_ns, **names}
    exec(source, space)
    run = space["run"]
    return min(run(repeat(None, calls)) for _ in range(rounds)) / calls


def import_milliseconds(rounds: int) -> float:
    """Minimum time of importing the bindings in a fresh interpreter."""
    program = "import time; s = time.perf_counter(); import cudecomp_bindings.cudecomp; print(time.perf_counter() - s)"
    times = [
        float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(rounds)
    ]
    return min(times) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="rounds of each measurement (default: 30)")
    parser.add_argument("--calls", type=int, default=20000, help="calls in a round (default: 20000)")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        library = fakelib.build(Path(folder))
        os.environ["CUDECOMP_LIBRARY"] = str(library)
        measure(library, options.rounds, options.calls)


def measure(library: Path, rounds: int, calls: int) -> None:
    import cudecomp_bindings.cudecomp as cd

    # The signature is not in the header, so ctypes has to be told.
    fake = ctypes.CDLL(str(library))
    fake.fake_bare_call.restype = ctypes.c_double
    handle = cd.init_f(0)
    config = cd.GridDescConfig()
    options = cd.GridDescAutotuneOptions()
    info = cd.get_pencil_info(handle, 1, 0)
    names = {"cd": cd, "handle": handle, "config": config, "options": options, "info": info, "zero": ZERO}
    for name in ("get_data_type_size", "grid_desc_destroy", "get_pencil_info", "transpose_x_to_y", "update_halos_x"):
        names[name] = getattr(cd, name)
    bare = fake.fake_bare_call()
    loop = nanoseconds("pass", names, rounds, calls)

    # What is measured, statement, budget in ns, whether there is a C call in it to subtract.
    rows = [
        ("getter, GIL kept", "get_data_type_size(-2)", 40, True),
        ("call with two handles, GIL released", "grid_desc_destroy(handle, 1)", 80, True),
        ("transpose, four tuples", "transpose_x_to_y(handle, 1, 2, 3, 4, -2, zero, zero, zero, zero, 0)", 200, True),
        ("halo update, three tuples", "update_halos_x(handle, 1, 2, 4, -2, zero, zero, 0, zero, 0)", 200, True),
        ("get_pencil_info, two tuples", "get_pencil_info(handle, 1, 0, zero, zero)", 500, True),
        ("field, int, read", "options.n_trials", 40, False),
        ("field, int, write", "options.n_trials = 7", 40, False),
        ("field, bool, read", "options.autotune_halo_backend", 40, False),
        ("field, enum, read", "config.rank_order", 40, False),
        ("field of three, view", "config.gdims", 60, False),
        ("field of three, write a tuple", "config.gdims = zero", 60, False),
        ("field of three, as a tuple", "tuple(info.shape)", None, False),
        ("build a config", "cd.GridDescConfig()", None, False),
    ]
    print(f"{'':40}{'measured':>12}{'budget':>10}")
    for title, statement, budget, has_call in rows:
        show(title, nanoseconds(statement, names, rounds, calls) - loop - bare * has_call, budget, "ns")
    show("raise and catch", raise_and_catch(fake, cd, rounds, calls // 10), 3000, "ns")
    show("import cudecomp_bindings.cudecomp", import_milliseconds(max(3, rounds // 3)), 60, "ms")
    print(f"(loop {loop:.1f} ns and bare C call {bare:.1f} ns subtracted)")


def raise_and_catch(fake: ctypes.CDLL, cd: object, rounds: int, calls: int) -> float:
    """Time of a failing call whose exception is caught."""
    status = ctypes.c_int.in_dll(fake, "fake_status")
    status.value = 1

    def once() -> None:
        try:  # noqa: SIM105 - what is measured
            cd.get_data_type_size(-2)
        except cd.cuDecompError:
            pass

    try:
        return nanoseconds("once()", {"once": once}, rounds, calls)
    finally:
        status.value = 0


def show(title: str, measured: float, budget: float | None, unit: str) -> None:
    verdict = "" if budget is None else "" if measured <= budget else "  over budget"
    limit = f"{budget:>7} {unit}" if budget is not None else ""
    print(f"{title:40}{measured:>9.1f} {unit}{limit:>10}{verdict}")


if __name__ == "__main__":
    main()
