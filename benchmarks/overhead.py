# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the high-level API adds to a call, beside its budgets: ``python -m benchmarks.overhead``.

The built-in engine runs on one rank and a tiny grid. The bare C call, with the same arguments, is timed in a loop in C
that is compiled on the fly, and subtracted; so is the loop in Python. Figures are the minimum of many rounds. The
import is that of a fresh interpreter, without its start.

With ``--device gpu`` it is NVIDIA's library on one GPU: the time until a call returns, with CuPy's and PyTorch's arrays
and the streams of cuda.core, CuPy and PyTorch, over that of the same call from C. A transpose in place where nothing
changes launches nothing, so it shows the package alone; the others launch kernels, whose times vary more.
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
from types import SimpleNamespace

import numpy as np
from mpi4py import MPI

GDIMS = (4, 4, 4)
HALO = (1, 1, 1)

C_LOOPS = """
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
typedef const int32_t* extents;
typedef int (*transpose)(void*, void*, void*, void*, void*, int, extents, extents, extents, extents, void*);
typedef int (*update)(void*, void*, void*, void*, int, extents, const bool*, int32_t, extents, void*);
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }

/* Nanoseconds for each call; negative if one fails. */
double time_transpose(transpose f, void* handle, void* grid, void* x, void* y, void* work, void* stream, int calls) {
  const int32_t zero[3] = {0, 0, 0};
  const double start = now();
  for (int i = 0; i < calls; ++i)
    if (f(handle, grid, x, y, work, -2, zero, zero, zero, zero, stream)) return -1;
  return (now() - start) / calls;
}

double time_update(update f, void* handle, void* grid, void* x, void* work, void* stream, int32_t first, int32_t last,
                   int calls) {
  const int32_t zero[3] = {0, 0, 0}, halo[3] = {1, 1, 1};
  const bool periods[3] = {true, true, true};
  const double start = now();
  for (int i = 0; i < calls; ++i)
    for (int32_t dim = first; dim <= last; ++dim)
      if (f(handle, grid, x, work, -2, halo, periods, dim, zero, stream)) return -1;
  return (now() - start) / calls;
}
"""


def compile_loops(folder: Path) -> ctypes.CDLL:
    source, library = folder / "loops.c", folder / "loops.so"
    source.write_text(C_LOOPS)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    loops = ctypes.CDLL(str(library))
    address = ctypes.c_void_p
    loops.time_transpose.restype = loops.time_update.restype = ctypes.c_double
    loops.time_transpose.argtypes = [address] * 7 + [ctypes.c_int]
    loops.time_update.argtypes = [address] * 6 + [ctypes.c_int32] * 2 + [ctypes.c_int]
    return loops


def least(once: Callable[[], float], rounds: int, before: Callable[[], object]) -> float:
    """The minimum over rounds of what `once` returns; `before` is called before each."""

    def one_round() -> float:
        before()
        return once()

    return min(one_round() for _ in range(rounds))


def nanoseconds(
    statement: str, names: dict[str, object], rounds: int, calls: int, before: Callable[[], object] = int
) -> float:
    """Minimum time of a statement, the loop included; `before` is called before each round."""
    source = f"def run(_calls):\n  _start = clock()\n  for _ in _calls:\n    {statement}\n  return clock() - _start"
    space: dict[str, object] = {"clock": time.perf_counter_ns, **names}
    exec(source, space)
    run = space["run"]
    return least(lambda: run(repeat(None, calls)), rounds, before) / calls  # type: ignore[operator]


def lowest(
    function: Callable[..., float], *arguments: object, rounds: int, before: Callable[[], object] = int
) -> float:
    time_taken = least(lambda: function(*arguments), rounds, before)
    if time_taken < 0:
        sys.exit("a bare C call failed")
    return time_taken


def bare_times(loops: ctypes.CDLL, data: SimpleNamespace, rounds: int, calls: int) -> dict[str, float]:
    """Time of each C call, on a handle of its own."""
    import cudecomp_bindings.cudecomp as cd
    from cudecomp_bindings._internal.cudecomp import _inspect_function_pointers

    functions = _inspect_function_pointers()
    handle = cd.init_f(MPI.COMM_SELF.py2f())
    grid = cd.grid_desc_create(handle, data.config._struct.copy(), None)
    x, y, h = (array.ctypes.data for array in (data.x, data.y, data.h))
    transpose, update = functions["cudecompTransposeXToY"], functions["cudecompUpdateHalosX"]
    times = {
        "transpose": lowest(loops.time_transpose, transpose, handle, grid, x, y, None, None, calls, rounds=rounds),
        "update": lowest(loops.time_update, update, handle, grid, h, None, None, 0, 0, calls, rounds=rounds),
        "updates": lowest(loops.time_update, update, handle, grid, h, None, None, 0, 2, calls, rounds=rounds),
    }
    cd.grid_desc_destroy(handle, grid)
    cd.finalize(handle)
    return times


def import_milliseconds(rounds: int) -> float:
    program = "import time; s = time.perf_counter(); import cudecomp; print(time.perf_counter() - s)"
    command = [sys.executable, "-c", program]
    return 1e3 * min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(rounds)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30, help="rounds of each measurement (default: 30)")
    parser.add_argument("--calls", type=int, default=5000, help="calls in a round (default: 5000)")
    parser.add_argument("--device", default="host", choices=["host", "gpu"], help="(default: host)")
    options = parser.parse_args()
    if options.device == "gpu":
        from benchmarks.overhead_gpu import measure_gpu

        measure_gpu(options.rounds)
        return
    os.environ["CUDECOMP_LIBRARY"] = "builtin"

    import cudecomp

    config = cudecomp.GridDescConfig(gdims=GDIMS, pdims=(1, 1))
    with cudecomp.Handle(MPI.COMM_SELF) as handle, handle.create_grid(config) as grid:
        x, y = (np.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1))
        data = SimpleNamespace(x=x, y=y, h=np.zeros(grid.get_pencil_info(0, HALO).shape), config=config)
        with tempfile.TemporaryDirectory() as folder:
            bare = bare_times(compile_loops(Path(folder)), data, options.rounds, options.calls)
        measure(grid, data, bare, options.rounds, options.calls)


def measure(grid: object, data: SimpleNamespace, bare: dict[str, float], rounds: int, calls: int) -> None:
    import cudecomp

    names = {"grid": grid, "x": data.x, "y": data.y, "h": data.h, "halo": HALO, "zero": (0, 0, 0), "all3": (True,) * 3}
    names["double"] = cudecomp.DataType.DOUBLE
    extents = "input_halo_extents=zero, output_halo_extents=zero, input_padding=zero, output_padding=zero"
    # What is measured, statement, the C call in it, budget in ns.
    rows = [
        ("transpose", "grid.transpose_x_to_y(x, y)", "transpose", 2000),
        ("transpose, all arguments", f"grid.transpose_x_to_y(x, y, dtype=double, {extents})", "transpose", 2000),
        ("transpose, new output", "grid.transpose_x_to_y(x)", "transpose", 2000),
        ("halo update, one dim", "grid.update_halos_x(h, halo, all3, 0)", "update", 2000),
        ("halo update, three dims", "grid.update_halos_x(h, halo, all3)", "updates", 2000),
        ("get_pencil_info", "grid.get_pencil_info(0)", None, 500),
        ("get_pencil_info, two tuples", "grid.get_pencil_info(0, halo, zero)", None, 500),
    ]
    loop = nanoseconds("pass", names, rounds, calls)
    print(f"{'':32}{'added':>12}{'budget':>10}{'bare C call':>15}")
    for title, statement, call, budget in rows:
        in_c = bare[call] if call else 0.0
        show(title, nanoseconds(statement, names, rounds, calls) - loop - in_c, budget, "ns", in_c)
    show("import cudecomp", import_milliseconds(max(3, rounds // 3)), 200, "ms", 0.0)


def show(title: str, added: float, budget: float, unit: str, in_c: float) -> None:
    bare = f"{in_c:>12.0f} ns" if in_c else ""
    verdict = "  over budget" if added > budget else ""
    print(f"{title:32}{added:>9.0f} {unit}{budget:>7} {unit}{bare:>15}{verdict}")


if __name__ == "__main__":
    main()
