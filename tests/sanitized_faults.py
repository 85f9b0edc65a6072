# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that are wrong on purpose: python tests/sanitized_faults.py FAULT

An engine with sanitizers must end each of them with the report that `FAULTS` names, and the one without a fault well;
tests/run_sanitized.py tries that before it trusts the silence of the tests.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

GDIMS = (7, 8, 9)
BYTES = 7 * 8 * 9 * 8

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def make_grid() -> tuple[int, int]:
    """A handle and a grid descriptor. MPI starts here, not where the table of faults is only read."""
    from mpi4py import MPI

    from cudecomp_bindings import cudecomp as bindings

    config = bindings.GridDescConfig()
    bindings.grid_desc_config_set_defaults(config)
    config.gdims, config.pdims = GDIMS, (1, 1)
    config.transpose_axis_contiguous = (True, True, True)
    handle = bindings.init_f(MPI.COMM_SELF.py2f())
    return handle, bindings.grid_desc_create(handle, config)


def transpose(source: int, target: int) -> None:
    from cudecomp_bindings import cudecomp as bindings

    handle, grid = make_grid()
    bindings.transpose_x_to_y(handle, grid, source, target, 0, bindings.DataType.DOUBLE, None, None, None, None, 0)
    bindings.grid_desc_destroy(handle, grid)
    bindings.finalize(handle)


def nothing() -> None:
    transpose(libc.malloc(BYTES), libc.malloc(BYTES))


def output_too_small() -> None:
    transpose(libc.malloc(BYTES), libc.malloc(BYTES - 8))


def input_too_small() -> None:
    transpose(libc.malloc(BYTES - 8), libc.malloc(BYTES))


def input_freed() -> None:
    source = libc.malloc(BYTES)
    libc.free(source)
    transpose(source, libc.malloc(BYTES))


def bool_of_two() -> None:
    """Calls cudecompGetShiftedRank with a byte that is no bool."""
    from cudecomp_bindings._internal.cudecomp import _inspect_function_pointers

    kinds = (ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int32] * 3, ctypes.c_uint8, ctypes.c_void_p)
    function = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(_inspect_function_pointers()["cudecompGetShiftedRank"])
    rank = ctypes.c_int32()
    function(*make_grid(), 0, 1, 1, 2, ctypes.addressof(rank))


#: What is wrong, and words of the report that must end the program; none where nothing is wrong.
FAULTS: dict[Callable[[], None], str] = {
    nothing: "",
    output_too_small: "heap-buffer-overflow",
    input_too_small: "heap-buffer-overflow",
    input_freed: "heap-use-after-free",
    bool_of_two: "not a valid value for type 'bool'",
}

if __name__ == "__main__":
    {fault.__name__: fault for fault in FAULTS}[sys.argv[1]]()
