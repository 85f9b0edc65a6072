# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every operation on the ranks of a communicator and compares every cell with what it must hold."""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cudecomp import _geometry as geometry
from cudecomp import _info
from cudecomp._agreement import _by_value
from cudecomp._cli.arguments import DTYPES
from cudecomp._cli.arrays import Arrays
from cudecomp._cli.cells import Decomposition, Pencil, difference
from cudecomp._cli.launch import Watchdog
from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._core import GridDesc, Handle
from cudecomp._enums import HaloCommBackend, RankOrder, TransposeCommBackend
from cudecomp._errors import NotSupportedError
from cudecomp_bindings._internal import cudecomp as loader

if TYPE_CHECKING:
    from mpi4py import MPI

#: The transposes, and the pencil axis of input and output of each.
TRANSPOSES = {"x_to_y": (0, 1), "y_to_z": (1, 2), "z_to_y": (2, 1), "y_to_x": (1, 0)}
NO_EXTENTS = (0, 0, 0)
#: Memory orders by what they are called: of X-, Y- and Z-pencils, fastest axis first.
ORDERS = {
    "x fastest": ((0, 1, 2), (0, 1, 2), (0, 1, 2)),
    "own axis fastest": ((0, 1, 2), (1, 2, 0), (2, 0, 1)),
    "mixed orders": ((2, 0, 1), (0, 2, 1), (1, 0, 2)),
}

Problems = Iterator[str | None]


@dataclass(frozen=True)
class Outcome:
    """What became of a group of calls, the same on all ranks.

    Attributes:
        what: The calls.
        where: Process grid, memory orders and the like.
        calls: How many calls were checked.
        problem: What is wrong, None if nothing is.
        skipped: Why they were not made, None if they were.
    """

    what: str
    where: str
    calls: int
    problem: str | None = None
    skipped: str | None = None


class SelfTest:
    """Collective over the ranks of the handle, as are all its methods."""

    def __init__(self, handle: Handle, arrays: Arrays, watchdog: Watchdog) -> None:
        self._handle, self._arrays, self._watchdog = handle, arrays, watchdog
        self._comm: MPI.Intracomm = handle.comm.Dup()
        self._run = 0

    def close(self) -> None:
        self._comm.Free()

    def run(self) -> Iterator[Outcome]:
        """All groups, one after the other."""
        ranks = self._handle.nranks
        best = geometry.squarest(ranks)
        shapes = sorted({(1, ranks), (ranks, 1), best})
        for pdims in shapes:
            for name in ORDERS if pdims == best else ["x fastest"]:
                yield from self._operations(decomposition(pdims, ORDERS[name]), name)
        yield from self._operations(decomposition(best, ORDERS["x fastest"], col_major=True), "columns first")
        transposes, halos = backends()
        for transpose in transposes:
            yield self._backend(decomposition(best), transpose_comm_backend=transpose)
        for halo in halos:
            yield self._backend(decomposition(best), halo_comm_backend=halo)
        yield self._autotuning()

    def _operations(self, dec: Decomposition, name: str) -> Iterator[Outcome]:
        where = f"{_grid_text(dec)}, {name}"
        checks: dict[str, Callable[[GridDesc], Problems]] = {
            "pencil geometry": lambda grid: self._geometry(grid, dec),
            "transposes": lambda grid: self._transposes(grid, dec, in_place=False),
            "transposes in place": lambda grid: self._transposes(grid, dec, in_place=True),
            "halo updates": lambda grid: self._halos(grid, dec),
        }
        if not self._arrays.on_gpu:
            checks["arrays of GridDesc.empty"] = lambda grid: self._shared_arrays(grid, dec)
        for what, check in checks.items():
            yield self._group(what, where, self._config(dec), check)

    def _config(self, dec: Decomposition) -> GridDescConfig:
        config = config_of(dec)
        config.transpose_comm_backend, config.halo_comm_backend = self._arrays.backends()
        return config

    def _backend(self, dec: Decomposition, **backend: Any) -> Outcome:
        (name, value), config = next(iter(backend.items())), self._config(dec)
        setattr(config, name, value)
        transposes = name == "transpose_comm_backend"

        def check(grid: GridDesc) -> Problems:
            yield from self._transposes(grid, dec, in_place=False) if transposes else self._halos(grid, dec)

        what = "transposes" if transposes else "halo updates"
        return self._group(what, f"{_grid_text(dec)}, backend {value.name}", config, check)

    def _autotuning(self) -> Outcome:
        config = GridDescConfig(gdims=decomposition(geometry.squarest(self._handle.nranks)).gdims)
        options = GridDescAutotuneOptions(
            n_warmup_trials=1,
            n_trials=1,
            autotune_transpose_backend=True,
            autotune_halo_backend=True,
            halo_extents=(1, 1, 1),
            halo_periods=(True, True, True),
        )
        if self._arrays.on_gpu:
            options.disable_nccl_backends = not self._arrays.own_gpu

        def check(grid: GridDesc) -> Problems:
            tuned = grid.get_config()
            first, second, third = config.gdims.tolist()
            rows, cols = tuned.pdims.tolist()
            dec = Decomposition((first, second, third), (rows, cols), col_major=_default_is_col_major())
            yield from self._geometry(grid, dec)
            yield from self._transposes(grid, dec, in_place=False)

        return self._group("autotuning", "process grid and backends", config, check, options)

    def _group(
        self,
        what: str,
        where: str,
        config: GridDescConfig,
        check: Callable[[GridDesc], Problems],
        options: GridDescAutotuneOptions | None = None,
    ) -> Outcome:
        """One grid, some calls on it, and what all ranks saw of them."""
        self._watchdog.step(f"{what} ({where})")
        calls, problem, skipped = 0, None, None
        try:
            with self._handle.create_grid(config, options) as grid:
                for found in check(grid):
                    calls += 1
                    problem = problem or found
        except NotSupportedError as error:
            skipped = str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            self._watchdog.failed(problem)
        seen = self._comm.allgather((calls, problem, skipped))
        self._watchdog.stop()
        told = {text: ranks for text, ranks in _by_value([problem for _, problem, _ in seen]).items() if text}
        return Outcome(
            what,
            where,
            sum(calls for calls, _, _ in seen),
            "; ".join(f"{ranks}: {text}" for text, ranks in told.items()) or None,
            next((skipped for _, _, skipped in seen if skipped), None),
        )

    # --- checks: each yields, for every call, what is wrong with it or None

    def _geometry(self, grid: GridDesc, dec: Decomposition) -> Problems:
        for axis, (halo, padding) in itertools.product(range(3), (_plain(dec, 0), _wide(dec, 0))):
            pencil = dec.pencil(axis, self._handle.rank, halo, padding)
            info = grid.get_pencil_info(axis, halo, padding)
            expected = (pencil.shape, tuple(pencil.box[dim].start for dim in pencil.axes), pencil.axes)
            seen = (info.shape, info.lo, info.order)
            yield (
                None if seen == expected else f"pencil {'XYZ'[axis]}: shape, lo, order are {seen}, expected {expected}"
            )
        for axis, dim in itertools.product(range(3), range(3)):
            expected_rank = self._neighbour(dec, axis, dim)
            found = grid.get_shifted_rank(axis, dim, 1, True)
            problem = f"next of {'XYZ'[axis]}-pencil along {'XYZ'[dim]} is rank {found}, expected {expected_rank}"
            yield None if found == expected_rank else problem

    def _neighbour(self, dec: Decomposition, axis: int, dim: int) -> int:
        """The rank that has the next part along a dim, periodic."""
        rows, cols = dec.pdims
        row, col = geometry.place_of(self._handle.rank, dec.pdims, dec.col_major)
        if dim == axis:
            return self._handle.rank
        over_rows = 1 if axis == 0 else 0
        place = ((row + 1) % rows, col) if dim == over_rows else (row, (col + 1) % cols)
        return geometry.rank_of(place, dec.pdims, dec.col_major)

    def _transposes(self, grid: GridDesc, dec: Decomposition, in_place: bool) -> Problems:
        for dtype, name, wide in itertools.product(DTYPES, TRANSPOSES, (False, True)):
            before, after = TRANSPOSES[name]
            extents = _wide if wide else _plain
            source = dec.pencil(before, self._handle.rank, *extents(dec, before))
            target = dec.pencil(after, self._handle.rank, *extents(dec, after))
            call = self._transpose_in_place if in_place else self._transpose
            problem = call(grid, name, source, target, dtype)
            yield f"{name} of {dtype}{' with halos and padding' * wide}: {problem}" if problem else None

    def _transpose(self, grid: GridDesc, name: str, source: Pencil, target: Pencil, dtype: str) -> str | None:
        given, out = (self._arrays.flat(int(np.prod(pencil.shape)), dtype) for pencil in (source, target))
        return self._transpose_between(grid, name, (source, target), given, out)

    def _transpose_in_place(self, grid: GridDesc, name: str, source: Pencil, target: Pencil, dtype: str) -> str | None:
        size = max(int(np.prod(pencil.shape)) for pencil in (source, target))
        buffer = self._arrays.flat(size, dtype)
        return self._transpose_between(grid, name, (source, target), buffer, buffer)

    def _transpose_between(
        self, grid: GridDesc, name: str, pencils: tuple[Pencil, Pencil], given: Any, out: Any
    ) -> str | None:
        """One transpose between two flat arrays, which may be the same."""
        self._run += 1
        source, target = pencils
        views = [
            flat[: int(np.prod(pencil.shape))].reshape(pencil.shape)
            for flat, pencil in zip((given, out), pencils, strict=True)
        ]
        self._arrays.put(out, np.full(out.shape, -2, out.dtype))
        self._arrays.put(views[0], source.values(given.dtype, self._run))
        expected = self._arrays.get(views[1])
        expected[target.owned()] = target.values(given.dtype, self._run)[target.owned()]
        getattr(grid, f"transpose_{name}")(
            views[0],
            views[1],
            input_halo_extents=source.halo,
            output_halo_extents=target.halo,
            input_padding=source.padding,
            output_padding=target.padding,
        )
        problem = difference(self._arrays.get(views[1]), expected)
        if problem is None and given is not out:
            changed = difference(self._arrays.get(views[0]), source.values(given.dtype, self._run))
            problem = f"the input has changed: {changed}" if changed else None
        return problem

    def _halos(self, grid: GridDesc, dec: Decomposition) -> Problems:
        periods = ((False, False, False), (True, True, True), (True, False, True))
        dtypes = itertools.cycle(DTYPES)
        for axis, dim, periodic in itertools.product(range(3), (None, 0, 1, 2), periods):
            halo, padding = _wide(dec, axis)
            pencil = dec.pencil(axis, self._handle.rank, halo, padding)
            array = self._arrays.flat(int(np.prod(pencil.shape)), next(dtypes)).reshape(pencil.shape)
            problem = self._update(grid, axis, dim, periodic, pencil, array)
            along = "all dims" if dim is None else "XYZ"[dim]
            told = f"halos of {'XYZ'[axis]}-pencils along {along}, periods {periodic}, {array.dtype}: {problem}"
            yield told if problem else None

    def _update(
        self, grid: GridDesc, axis: int, dim: int | None, periods: tuple[bool, bool, bool], pencil: Pencil, array: Any
    ) -> str | None:
        self._run += 1
        self._arrays.put(array, pencil.values(array.dtype, self._run))
        update = getattr(grid, f"update_halos_{'xyz'[axis]}")
        update(array, pencil.halo, periods, dim, padding=pencil.padding)
        filled = range(3) if dim is None else (dim,)
        return difference(self._arrays.get(array), pencil.values(array.dtype, self._run, filled, periods))

    def _shared_arrays(self, grid: GridDesc, dec: Decomposition) -> Problems:
        """Arrays that other ranks reach into: between two of them data is moved in another way."""
        for dtype, (name, (before, after)) in itertools.product(DTYPES, TRANSPOSES.items()):
            pencils = dec.pencil(before, self._handle.rank), dec.pencil(after, self._handle.rank)
            given, out = grid.empty(before, dtype).reshape(-1), grid.empty(after, dtype).reshape(-1)
            problem = self._transpose_between(grid, name, pencils, given, out)
            yield f"{name} of {dtype} between arrays of GridDesc.empty: {problem}" if problem else None
        for axis in range(3):
            halo, padding = _wide(dec, axis)
            pencil = dec.pencil(axis, self._handle.rank, halo, padding)
            array = grid.empty(axis, "float64", halo, padding)
            problem = self._update(grid, axis, None, (True, True, True), pencil, array)
            yield f"halos of {'XYZ'[axis]}-pencils in an array of GridDesc.empty: {problem}" if problem else None


def decomposition(
    pdims: tuple[int, int],
    orders: tuple[tuple[int, int, int], ...] = ORDERS["x fastest"],
    col_major: bool = False,
) -> Decomposition:
    """A small grid that no axis of which splits evenly, unless it must; each rank has two points or more."""
    rows, cols = pdims
    return Decomposition((2 * rows + 3, 2 * max(rows, cols) + 5, 2 * cols + 4), pdims, orders, col_major)


def config_of(dec: Decomposition) -> GridDescConfig:
    """The configuration of a decomposition, as a program would write it."""
    config = GridDescConfig(gdims=dec.gdims, pdims=dec.pdims)
    config.rank_order = RankOrder.COL_MAJOR if dec.col_major else RankOrder.ROW_MAJOR
    if dec.orders == ORDERS["own axis fastest"]:
        config.transpose_axis_contiguous = (True, True, True)
    elif dec.orders != ORDERS["x fastest"]:
        config.transpose_mem_order = dec.orders
    return config


def backends() -> tuple[list[TransposeCommBackend], list[HaloCommBackend]]:
    """The backends of the library in use, as far as it tells; NVIDIA's may have been built without some of them."""
    library = _info._describe_library(loader.load_library())
    return (
        [TransposeCommBackend[name] for name in library["transpose_backends"]],
        [HaloCommBackend[name] for name in library["halo_backends"]],
    )


def _default_is_col_major() -> bool:
    return os.environ.get("CUDECOMP_USE_COL_MAJOR_RANK_ORDER") == "1"


def _grid_text(dec: Decomposition) -> str:
    return f"{dec.pdims[0]} x {dec.pdims[1]}"


def _plain(dec: Decomposition, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return NO_EXTENTS, NO_EXTENTS


def _wide(dec: Decomposition, axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Halo and padding that differ between the axes of the grid and between layouts."""
    halo = tuple(min(1 + (axis + dim) % 2, most) for dim, most in enumerate(dec.smallest(axis)))
    return halo, tuple((axis + 2 * dim) % 3 for dim in range(3))
