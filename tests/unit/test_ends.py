# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""How programs end: with the right exit code and nothing of ours on the error stream, whatever is still alive."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap

import pytest

SETUP = """
import atexit, gc, os, sys, threading, weakref
import numpy as np
from mpi4py import MPI
import cudecomp

def start():
    handle = cudecomp.Handle(MPI.COMM_WORLD)
    grid = handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1)))
    array = grid.zeros(0, "float64")
    grid.transpose_x_to_y(array)
    return handle, grid, array
"""

#: Programs that just end: exit code 0, silence, even with all warnings as errors.
QUIET = {
    "globals": "handle, grid, array = start()",
    "only the array is left": """
        handle, grid, array = start()
        grid.destroy()
        handle.finalize()
        view = array[1:, ::2]
        del array
    """,
    "cycle": """
        class Node: pass
        node = Node()
        node.handle, node.grid, node.array = start()
        node.itself = node
        node.callback = lambda: node.grid
    """,
    "cycle through exceptions": """
        try:
            with cudecomp.Handle(MPI.COMM_WORLD) as handle:
                with handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1))) as grid:
                    grid.transpose_x_to_y(np.zeros((1, 1, 1)))
        except ValueError as error:
            kept = error
            kept.itself = kept
    """,
    "dropped after an exception": """
        try:
            with cudecomp.Handle(MPI.COMM_WORLD) as handle:
                with handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1))) as grid:
                    raise KeyError
        except KeyError:
            pass
        del handle, grid
        gc.collect()
    """,
    "globals of other modules": """
        import types
        sys.modules["other"] = other = types.ModuleType("other")
        other.things = start()
        np.left_behind = other.things[1]
        cudecomp.left_behind = other.things[0]
    """,
    "no garbage collection": """
        gc.disable()
        things = [start() for _ in range(3)]
        things.append(things)
    """,
    "attributes of the classes' neighbours": """
        handle, grid, array = start()
        references = [weakref.ref(handle, print), weakref.ref(grid, print)]
    """,
    "used by atexit": """
        handle, grid, array = start()
        def last_words():
            grid.transpose_x_to_y(array)
            grid.destroy()
            handle.finalize()
        atexit.register(last_words)
    """,
    "suspended generator": """
        def work():
            with cudecomp.Handle(MPI.COMM_WORLD) as handle:
                with handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1))) as grid:
                    yield grid
        generator = work()
        next(generator)
    """,
    "daemon thread": """
        handle, grid, array = start()
        thread = threading.Thread(target=lambda mine: threading.Event().wait(), args=((handle, grid),), daemon=True)
        thread.start()
    """,
    "thread local": """
        local = threading.local()
        local.things = start()
    """,
    "another thread's": """
        found = []
        thread = threading.Thread(target=lambda: found.extend(start()))
        thread.start()
        thread.join()
        found[1].transpose_x_to_y(found[2])
    """,
    "MPI ended by hand": """
        handle, grid, array = start()
        MPI.Finalize()
        del array
    """,
    "ended inside": """
        with cudecomp.Handle(MPI.COMM_WORLD) as handle:
            with handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1))) as grid:
                sys.exit(0)
    """,
}


def run(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    text = SETUP + textwrap.dedent(program)
    return subprocess.run(
        [sys.executable, *options, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("name", QUIET)
def test_just_ends(name: str) -> None:
    result = run(QUIET[name], "-W", "error")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("order", list(itertools.permutations(["handle", "grid", "array"])), ids="-".join)
def test_dropped_in_any_order(order: tuple[str, ...]) -> None:
    """Without destroy(): a ResourceWarning, which Python does not show unless asked."""
    drops = "\n".join(f"del {name}\ngc.collect()" for name in order)
    loud = run(f"handle, grid, array = start()\n{drops}\nprint('end')", "-W", "always::ResourceWarning")
    assert (loud.returncode, loud.stdout) == (0, "end\n")
    assert "Error" not in loud.stderr
    assert "Exception" not in loud.stderr
    assert loud.stderr.count("was dropped without destroy()") == 1
    assert loud.stderr.count("was dropped without finalize()") == 1


def test_in_a_cycle_collected_early() -> None:
    result = run("""
        def make():
            things = list(start())
            things.append(things)
        for _ in range(20):
            make()
            gc.collect()
    """)
    assert (result.returncode, result.stderr) == (0, "")


def test_exit_code_of_the_program() -> None:
    result = run("handle, grid, array = start()\nsys.exit(3)", "-W", "error")
    assert (result.returncode, result.stderr) == (3, "")


@pytest.mark.parametrize("where", ["plain", "in the blocks", "in a function"])
def test_uncaught_exception(where: str) -> None:
    """Nothing but its traceback."""
    blocks = """
        with cudecomp.Handle(MPI.COMM_WORLD) as handle:
            with handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1))) as grid:
                raise KeyError("mine")
    """
    function = """
        def work():
            handle, grid, array = start()
            raise KeyError("mine")
        work()
    """
    plain = "handle, grid, array = start()\nraise KeyError('mine')"
    result = run({"plain": plain, "in the blocks": blocks, "in a function": function}[where], "-W", "error")
    lines = result.stderr.splitlines()
    assert (result.returncode, lines[0], lines[-1]) == (1, "Traceback (most recent call last):", "KeyError: 'mine'")
    assert all(line.startswith("  ") for line in lines[1:-1]), result.stderr


def test_interrupted() -> None:
    result = run("handle, grid, array = start()\nraise KeyboardInterrupt", "-W", "error")
    assert result.returncode == -2
    assert result.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_killed_processes_leave_nothing() -> None:
    """No file in the folder of shared memory, and the arrays' memory has no name anywhere else."""
    result = run("""
        import pathlib, signal
        before = set(pathlib.Path("/dev/shm").iterdir())
        handle, grid, array = start()
        names = {line.split(maxsplit=5)[5] for line in open("/proc/self/maps") if "cudecomp" in line and "-s" in line}
        fresh = {path.name for path in set(pathlib.Path("/dev/shm").iterdir()) - before}
        print(*names, *(name for name in fresh if "cudecomp" in name), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert result.returncode == -9
    assert all(name.startswith("/memfd:") for name in result.stdout.split() if name != "(deleted)"), result.stdout
