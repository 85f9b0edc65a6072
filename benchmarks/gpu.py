# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Transposes and halo updates on GPUs, beside plain copies: ``mpirun -n 2 python -m mpi4py -m benchmarks.gpu``.

One rank for each GPU, NVIDIA's library, CuPy arrays. Times are taken with CUDA events around one call, after warm-up
calls and a barrier; each is the largest over the ranks, and the table has the median. GB/s of a transpose and of the
device copy count each byte twice, read and written; those of a halo update and of the peer copy count bytes that move.

MPI backends need an MPI that takes GPU memory; one that does not may crash, so they run only when named. A backend that
the library does not have is left out, with the reason.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mpi4py import MPI

sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks.cpu_parts.table import table

PEER_ACCESS_ALREADY_ENABLED = 704
BACKENDS = ("NCCL", "NCCL_PL", "NVSHMEM", "NVSHMEM_PL", "NVSHMEM_SM")
HALO_BACKENDS = ("NCCL", "NVSHMEM", "NVSHMEM_BLOCKING")
TRANSPOSES = {"x_to_y": (0, 1), "y_to_z": (1, 2), "z_to_y": (2, 1), "y_to_x": (1, 0)}


class Timer:
    """Times calls on a stream."""

    def __init__(self, cupy: Any, comm: MPI.Comm, repeats: int) -> None:
        self._cupy, self._comm, self._repeats = cupy, comm, repeats
        self.stream = cupy.cuda.Stream(non_blocking=True)

    def milliseconds(self, call: Callable[[], object], everywhere: bool = True) -> float:
        """The median over repetitions of the largest time over ranks; `everywhere` is False for a call of one rank."""
        event = self._cupy.cuda.Event
        times = []
        for turn in range(self._repeats + 3):
            begin, end = event(), event()
            self.stream.synchronize()
            if everywhere:
                self._comm.Barrier()
            begin.record(self.stream)
            call()
            end.record(self.stream)
            end.synchronize()
            if turn >= 3:
                times.append(self._cupy.cuda.get_elapsed_time(begin, end))
        if everywhere:
            times = [max(ranks) for ranks in zip(*self._comm.allgather(times), strict=True)]
        return statistics.median(times)


def copy_rates(cupy: Any, comm: MPI.Comm, timer: Timer, nbytes: int) -> dict[str, float]:
    """GB/s of a copy within a device and, with several of them, from one to the next."""
    source, target = (cupy.zeros(nbytes // 8) for _ in range(2))

    def copy() -> None:
        with timer.stream:
            cupy.copyto(target, source)

    rates = {"device copy": 2 * source.nbytes / timer.milliseconds(copy) / 1e6}
    home = cupy.cuda.Device().id
    if comm.rank == 0 and cupy.cuda.runtime.getDeviceCount() > 1:
        other = (home + 1) % cupy.cuda.runtime.getDeviceCount()
        with cupy.cuda.Device(other):
            there = cupy.zeros(nbytes // 8)
        runtime = cupy.cuda.runtime
        if runtime.deviceCanAccessPeer(home, other):
            allow_access(runtime, other)

        def copy_to_peer() -> None:
            runtime.memcpyPeerAsync(there.data.ptr, other, source.data.ptr, home, source.nbytes, timer.stream.ptr)

        rates["peer copy"] = source.nbytes / timer.milliseconds(copy_to_peer, everywhere=False) / 1e6
        cupy.cuda.Device(home).use()
    return comm.bcast(rates)


def allow_access(runtime: Any, other: int) -> None:
    """Lets the current device reach the memory of another; whoever did so before is thanked."""
    try:
        runtime.deviceEnablePeerAccess(other)
    except runtime.CUDARuntimeError as error:
        if error.status != PEER_ACCESS_ALREADY_ENABLED:
            raise


def transposes(grid: Any, cupy: Any, timer: Timer, dtype: str, rates: dict[str, float]) -> Iterator[list[str]]:
    infos = [grid.get_pencil_info(axis) for axis in range(3)]
    arrays = [cupy.zeros(info.shape, dtype) for info in infos]

    def cycle() -> None:
        for name, (source, target) in TRANSPOSES.items():
            getattr(grid, f"transpose_{name}")(arrays[source], arrays[target], stream=timer.stream)

    for name, (source, target) in TRANSPOSES.items():
        call = getattr(grid, f"transpose_{name}")
        time = timer.milliseconds(lambda c=call, s=source, t=target: c(arrays[s], arrays[t], stream=timer.stream))
        yield row(name, time, 2 * arrays[source].nbytes, rates["device copy"])
    moved = 2 * sum(arrays[source].nbytes for source, _ in TRANSPOSES.values())
    yield row("cycle", timer.milliseconds(cycle), moved, rates["device copy"])


def halos(grid: Any, cupy: Any, timer: Timer, dtype: str, rates: dict[str, float], width: int) -> Iterator[list[str]]:
    halo = (width,) * 3
    for axis in range(3):
        info = grid.get_pencil_info(axis, halo)
        array = cupy.zeros(info.shape, dtype)
        for dim in range(3):
            update = getattr(grid, f"update_halos_{'xyz'[axis]}")
            time = timer.milliseconds(
                lambda u=update, a=array, d=dim: u(a, halo, (True, True, True), d, stream=timer.stream)
            )
            along = info.order.index(dim)
            moved = 2 * array.nbytes // info.shape[along] * width
            neighbour = grid.get_shifted_rank(axis, dim, 1, periodic=True) != grid.handle.rank
            limit = rates.get("peer copy") if neighbour else None
            yield row(f"{'xyz'[axis]}-pencils, halo along {'xyz'[dim]}", time, moved, limit)


def set_backends(config: Any, kind: str, backend: str) -> None:
    """That backend, and for what is not measured one of its family: MPI may not take GPU memory."""
    from cudecomp import HaloCommBackend, TransposeCommBackend

    family = backend.partition("_")[0]
    transposes, halos = (backend, family) if kind == "transpose" else (family, backend)
    config.transpose_comm_backend = TransposeCommBackend["MPI_P2P" if transposes == "MPI" else transposes]
    config.halo_comm_backend = HaloCommBackend[halos]


def row(name: str, milliseconds: float, moved: int, limit: float | None) -> list[str]:
    rate = moved / milliseconds / 1e6
    return [name, f"{milliseconds:.3f}", f"{rate:.0f}", "" if limit is None else f"{rate / limit:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", type=int, nargs=3, default=(512, 512, 512))
    parser.add_argument("--dtypes", nargs="+", default=["float64", "complex128"])
    parser.add_argument("--backends", nargs="+", default=BACKENDS, help="of transposes")
    parser.add_argument("--halo-backends", nargs="+", default=HALO_BACKENDS)
    parser.add_argument("--halo-width", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all figures")
    options = parser.parse_args()
    try:
        import cupy
    except ImportError:
        sys.exit("this benchmark needs CuPy and a GPU: CuPy is not installed")

    import cudecomp

    comm = MPI.COMM_WORLD
    cupy.cuda.Device(comm.rank % cupy.cuda.runtime.getDeviceCount()).use()
    timer = Timer(cupy, comm, options.repeats)
    say = print if comm.rank == 0 else lambda *_: None
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
    say(f"# {name}, {comm.size} ranks, CuPy {cupy.__version__}, driver {cupy.cuda.runtime.driverGetVersion()}")
    kept: list[dict[str, Any]] = []
    with cudecomp.Handle(comm) as handle:
        for dtype in options.dtypes:
            size = 16 if dtype == "complex128" else 8
            nbytes = options.grid[0] * options.grid[1] * options.grid[2] * size // comm.size
            rates = copy_rates(cupy, comm, timer, nbytes)
            say(f"\n{dtype}: " + ", ".join(f"{what} {rate:.0f} GB/s" for what, rate in rates.items()))
            for backend, kind in [(b, "transpose") for b in options.backends] + [
                (b, "halo") for b in options.halo_backends
            ]:
                for contiguous in (False, True) if kind == "transpose" else (False,):
                    config = cudecomp.GridDescConfig(gdims=options.grid, pdims=(1, comm.size))
                    config.transpose_axis_contiguous = (contiguous,) * 3
                    set_backends(config, kind, backend)
                    layout = "permuting" if contiguous else "kept"
                    head = [f"{backend}, {kind}s, {layout}" if kind == "transpose" else f"{backend}, halo updates"]
                    try:
                        with handle.create_grid(config) as grid:
                            if kind == "transpose":
                                rows = list(transposes(grid, cupy, timer, dtype, rates))
                            else:
                                rows = list(halos(grid, cupy, timer, dtype, rates, options.halo_width))
                    except cudecomp.NotSupportedError as error:
                        say(f"\n{head[0]}: left out: {error}")
                        continue
                    say("\n" + table([*head, "ms", "GB/s", "of copy"], rows, 1))
                    kept.append({"dtype": dtype, "what": head[0], "rates": rates, "rows": rows, "ranks": comm.size})
    if options.json and comm.rank == 0:
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
