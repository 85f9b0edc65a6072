# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The part of ``python -m benchmarks.overhead --device gpu`` that needs a GPU."""

import tempfile
from pathlib import Path
from typing import Any

from mpi4py import MPI

from benchmarks.overhead import HALO, compile_loops, lowest, nanoseconds, show

GDIMS = (8, 8, 8)
BUDGET = 4000
CALLS = 200  # fewer launches than a stream holds, so that no call waits for the GPU


class Bare:
    """An object that has nothing but the CUDA array interface."""

    def __init__(self, array: Any) -> None:
        self.owner = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def measure_gpu(rounds: int) -> None:
    import cuda.core
    import cupy

    import cudecomp
    from cudecomp._cupy import external_stream

    device = cuda.core.Device(0)
    device.set_current()
    config = cudecomp.GridDescConfig(gdims=GDIMS, pdims=(1, 1))
    config.transpose_comm_backend = cudecomp.TransposeCommBackend.NCCL
    config.halo_comm_backend = cudecomp.HaloCommBackend.NCCL
    with cudecomp.Handle(MPI.COMM_SELF) as handle, handle.create_grid(config) as grid:
        stream = device.create_stream()
        x, y = (cupy.zeros(grid.get_pencil_info(axis).shape) for axis in (0, 1))
        h = cupy.zeros(grid.get_pencil_info(0, HALO).shape)
        names = {
            "grid": grid, "x": x, "y": y, "h": h, "halo": HALO, "periods": (True,) * 3, "s": stream,
            "cs": external_stream(cupy, int(stream.handle)), "n": int(stream.handle), "bx": Bare(x), "by": Bare(y),
        }  # fmt: skip
        rows = [
            ("CuPy, cuda.core stream, nothing to do", "grid.transpose_x_to_y(x, x, stream=s)", "nothing"),
            ("CuPy, int stream, nothing to do", "grid.transpose_x_to_y(x, x, stream=n)", "nothing"),
            ("bare objects, int stream, nothing to do", "grid.transpose_x_to_y(bx, bx, stream=n)", "nothing"),
            ("CuPy, cuda.core stream", "grid.transpose_x_to_y(x, y, stream=s)", "transpose"),
            ("CuPy, CuPy stream", "grid.transpose_x_to_y(x, y, stream=cs)", "transpose"),
            ("CuPy, int stream", "grid.transpose_x_to_y(x, y, stream=n)", "transpose"),
            ("CuPy, current stream", "grid.transpose_x_to_y(x, y)", "on stream 0"),
            ("CuPy, new output, current stream", "grid.transpose_x_to_y(x)", "on stream 0"),
            ("CuPy, new output, cuda.core stream", "grid.transpose_x_to_y(x, stream=s)", "transpose"),
            ("bare objects, int stream", "grid.transpose_x_to_y(bx, by, stream=n)", "transpose"),
            ("CuPy, halo update, one dim", "grid.update_halos_x(h, halo, periods, 0, stream=s)", "update"),
        ]
        try:
            import torch
        except ImportError:
            print("PyTorch is not installed: left out")
        else:
            names |= {"tx": torch.as_tensor(x), "ty": torch.as_tensor(y)}
            names["ts"] = torch.cuda.ExternalStream(int(stream.handle))
            rows += [
                ("PyTorch, int stream, nothing to do", "grid.transpose_x_to_y(tx, tx, stream=n)", "nothing"),
                ("PyTorch, PyTorch stream", "grid.transpose_x_to_y(tx, ty, stream=ts)", "transpose"),
                ("PyTorch, default stream", "grid.transpose_x_to_y(tx, ty)", "on stream 0"),
            ]
        with tempfile.TemporaryDirectory() as folder:
            bare = bare_times(compile_loops(Path(folder)), config, names, rounds)
        loop = nanoseconds("pass", names, rounds, CALLS)
        print(f"{'':42}{'added':>12}{'budget':>10}{'bare C call':>15}")
        for title, statement, call in rows:
            added = nanoseconds(statement, names, rounds, CALLS, device.sync) - loop - bare[call]
            show(f"{title:42}", added, BUDGET, "ns", bare[call])
        names |= {"empty": cupy.empty, "shape": x.shape}
        empty = nanoseconds("empty(shape)", names, rounds, CALLS, device.sync)
        print(f"\nfor comparison, cupy.empty: {empty - loop:.0f} ns")


def bare_times(loops: Any, config: Any, names: dict[str, Any], rounds: int) -> dict[str, float]:
    """Time of each C call, on a handle of its own."""
    import cupy

    import cudecomp_bindings.cudecomp as cd
    from cudecomp_bindings._internal.cudecomp import _inspect_function_pointers

    functions = _inspect_function_pointers()
    handle = cd.init_f(MPI.COMM_SELF.py2f())
    grid = cd.grid_desc_create(handle, config._struct.copy(), None)
    work, stream = cupy.zeros(4096).data.ptr, names["n"]
    x, y, h = (names[name].data.ptr for name in "xyh")
    transpose, update = functions["cudecompTransposeXToY"], functions["cudecompUpdateHalosX"]
    settle = cupy.cuda.runtime.deviceSynchronize

    def time_transpose(source: int, target: int, stream: int | None = stream) -> float:
        arguments = (transpose, handle, grid, source, target, work, stream, CALLS)
        return lowest(loops.time_transpose, *arguments, rounds=rounds, before=settle)

    def time_update(last: int) -> float:
        arguments = (update, handle, grid, h, work, stream, 0, last, CALLS)
        return lowest(loops.time_update, *arguments, rounds=rounds, before=settle)

    times = {
        "nothing": time_transpose(x, x),
        "transpose": time_transpose(x, y),
        "on stream 0": time_transpose(x, y, None),
        "update": time_update(0),
    }
    settle()
    cd.grid_desc_destroy(handle, grid)
    cd.finalize(handle)
    return times
