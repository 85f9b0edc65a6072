# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Runs cases of the matrix and compares every byte with the reference."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

import cudecomp
from tests import devices
from tests import reference as ref
from tests.matrix import table
from tests.matrix.cases import Case
from tests.parallel import environment, make_communicator, outcomes

#: Each operation runs this often, with other data and other memory.
RUNS = 2


@dataclass(frozen=True)
class Setup:
    """What all kinds of cases have in common."""

    comm: MPI.Comm
    grid: cudecomp.GridDesc
    decomposition: ref.Decomposition
    dtype: str
    device: devices.Host | devices.Device

    @property
    def rank(self) -> int:
        return self.comm.rank

    def field(self, run: int) -> np.ndarray:
        return ref.cell_values(self.decomposition.gdims, self.dtype, run)


class Runner:
    """Keeps communicators and handles between cases. Collective over `world`, as are all its methods."""

    def __init__(self, world: MPI.Comm, device: devices.Host | devices.Device) -> None:
        self._world = world
        self._device = device
        self._keepers: list[cudecomp.GridDesc] = []
        self._comms: dict[str, MPI.Comm] = {}
        self._handles: dict[tuple[str | None, ...], cudecomp.Handle] = {}

    def close(self) -> None:
        for keeper in self._keepers:
            keeper.destroy()
        self._keepers.clear()
        for handle in self._handles.values():
            handle.finalize()
        for comm in self._comms.values():
            if comm != MPI.COMM_NULL:
                comm.Free()
        self._handles.clear()
        self._comms.clear()

    def run(self, case: Case) -> str | None:
        """Runs one case. Returns what is wrong on any rank, the same on all, or None."""
        try:
            problem = self._run_here(case)
        except Exception:
            problem = traceback.format_exc().rstrip()
        return outcomes(self._world, problem)

    def _run_here(self, case: Case) -> str | None:
        comm = self._communicator(case["ranks"].partition(":")[0])
        if comm == MPI.COMM_NULL:
            return None
        _, env_col, _ = table.RANK_ORDERS[case["rank_order"]]
        ranks_per_node, limit = table.REACHES[case["reach"]]
        settings = {
            "CUDECOMP_USE_COL_MAJOR_RANK_ORDER": env_col,
            "CUDECOMP_BUILTIN_RANKS_PER_NODE": ranks_per_node,
            "CUDECOMP_BUILTIN_MAX_MESSAGE_ELEMENTS": limit,
        }
        with environment(**settings):
            handle = self._handle(comm, case["ranks"].partition(":")[0], settings)
            decomposition, config = configure(case)
            with handle.create_grid(config) as grid:
                setup = Setup(comm, grid, decomposition, case["dtype"], self._device)
                problems = list(CHECKS[case.kind](case, setup))
        return "\n".join(problems) or None

    def _communicator(self, kind: str) -> MPI.Comm:
        if kind not in self._comms:
            self._comms[kind] = make_communicator(self._world, kind)
        return self._comms[kind]

    def _handle(self, comm: MPI.Comm, kind: str, settings: dict[str, str | None]) -> cudecomp.Handle:
        # The environment is read when a handle is created: one handle for each.
        key = (kind, *settings.values())
        if key not in self._handles:
            self._handles[key] = handle = cudecomp.Handle(comm)
            if self._device.name == "gpu":
                # Communicators of NCCL live as long as a grid that uses them, and take long to make.
                nccl = {"transpose_comm_backend": cudecomp.TransposeCommBackend.NCCL}
                config = cudecomp.GridDescConfig(gdims=(8, 8, 8), pdims=(1, comm.size), **nccl)
                self._keepers.append(handle.create_grid(config))
        return self._handles[key]


def configure(case: Case) -> tuple[ref.Decomposition, cudecomp.GridDescConfig]:
    """The reference's and the library's description of a case's decomposition."""
    gdims = {**table.GRIDS, **table.LARGE_GRIDS}[case["grid"]]
    rows, cols = (int(n) for n in case["ranks"].partition(":")[2].split("x"))
    gdims_dist = table.DISTRIBUTIONS[case["dist"]](gdims)
    rank_order, _, col_major = table.RANK_ORDERS[case["rank_order"]]

    config = cudecomp.GridDescConfig()
    config.gdims = gdims
    config.gdims_dist = gdims_dist
    config.pdims = (rows, cols)
    config.rank_order = cudecomp.RankOrder[rank_order]
    if case.kind in ("transpose", "chain"):
        config.transpose_comm_backend = cudecomp.TransposeCommBackend[case["backend"]]
    else:
        config.halo_comm_backend = cudecomp.HaloCommBackend[case["backend"]]

    order = case["what"].partition("/")[2] if case.kind == "transpose" else case["order"]
    mem_order = ref.mem_order_of((order == "contiguous",) * 3)
    if order == "contiguous":
        config.transpose_axis_contiguous = (True, True, True)
    elif order != "default":
        mem_order = explicit_order(case, order)
        config.transpose_mem_order = mem_order
    return ref.Decomposition(gdims, (rows, cols), gdims_dist, col_major, mem_order), config


def explicit_order(case: Case, name: str) -> tuple[tuple[int, ...], ...]:
    """Memory orders per pencil axis; axes that the case says nothing about get yet another order."""
    if case.kind == "halo":
        first = second = table.ORDERS[name]
        axes = ("xyz".index(case["where"][0]),) * 2
    else:
        first, second = table.ORDER_PAIRS[name]
        axes = ref.TRANSPOSES[case["what"].partition("/")[0] if case.kind == "transpose" else "x_to_y"]
    at = ref.PERMUTATIONS.index
    orders = [ref.PERMUTATIONS[(at(first) + at(second) + 1) % 6]] * 3
    orders[axes[0]], orders[axes[1]] = first, second
    return tuple(orders)


# --- transposes


def check_transpose(case: Case, setup: Setup) -> Iterator[str]:
    op = case["what"].partition("/")[0]
    source_axis, target_axis = ref.TRANSPOSES[op]
    halos = table.HALO_PAIRS[case["halo"]]
    paddings = table.PADDING_PAIRS[case["padding"]]
    source = setup.decomposition.pencil(source_axis, setup.rank, halos[0], paddings[0])
    target = setup.decomposition.pencil(target_axis, setup.rank, halos[1], paddings[1])
    yield from check_pencil_info(setup, source_axis, source)
    yield from check_pencil_info(setup, target_axis, target)

    memory = []  # of all runs, so that no two runs share an address
    for run in range(RUNS):
        field = setup.field(run)
        buffers = Buffers(case, source, target, setup, salt=run)
        memory.append(buffers)
        source.fill(buffers.source.array(source.shape), field)
        yield from (f"run {run}: {problem}" for problem in transpose(op, setup, buffers, field, run))


class Buffers:
    """Memory of one transpose. In place it is one buffer, larger than either array."""

    SURPLUS = 7

    def __init__(self, case: Case, source: ref.Pencil, target: ref.Pencil, setup: Setup, salt: int) -> None:
        self.place = case["place"]
        self.pencils = (source, target)
        axes = ref.TRANSPOSES[case["what"].partition("/")[0]]
        makers = table.MEMORY_PAIRS[case["memory"]]
        if self.place == "in":
            size = max(source.size, target.size) + self.SURPLUS
            self.source = self.target = memory_of(makers[0], setup, axes[0], source, size, salt)
        else:
            self.source = memory_of(makers[0], setup, axes[0], source, source.size, salt)
            self.target = memory_of(makers[1], setup, axes[1], target, target.size, salt + 2)


def memory_of(maker: str, setup: Setup, axis: int, pencil: ref.Pencil, size: int, salt: int) -> ref.Guarded:
    """Memory for `size` elements or more that starts with a pencil, the test's own or of GridDesc.empty."""
    slowest, layer = pencil.order[0], math.prod(pencil.shape[1:])
    if maker == "own" or layer == 0:
        return ref.Guarded(size, setup.dtype, setup.rank, salt)
    padding = list(pencil.padding)
    padding[slowest] += -(-(size - pencil.size) // layer)
    return ref.Guarded.over(setup.grid.empty(axis, setup.dtype, pencil.halo, padding), setup.rank, salt)


def transpose(op: str, setup: Setup, buffers: Buffers, field: np.ndarray, run: int) -> Iterator[str]:
    """Runs one transpose of already filled buffers, and compares all memory with what should be there."""
    source, target = buffers.pencils
    expected_source, expected_target = buffers.source.copy(), buffers.target.copy()
    target.fill(expected_target.array(target.shape), field)

    with setup.device.copies(buffers.source, buffers.target) as (source_space, target_space):
        given = source_space.array(source.shape)
        out = None if buffers.place == "new" else target_space.array(target.shape)
        result = getattr(setup.grid, f"transpose_{op}")(
            given,
            out,
            dtype=None if run == 0 else cudecomp.DataType[table.DTYPES[setup.dtype]],
            input_halo_extents=source.halo if any(source.halo) else None,
            output_halo_extents=target.halo,
            input_padding=source.padding,
            output_padding=target.padding if any(target.padding) else None,
        )
    if buffers.place != "in" and (difference := buffers.source.difference(expected_source)):
        yield f"input changed: {difference}"
    if buffers.place == "new":
        yield from check_new_array(target, setup.device.to_host(result), setup, field)
        return
    if result is not out:
        yield "the array given as out was not returned"
    if difference := buffers.target.difference(expected_target):
        yield f"output: {difference}"


def check_new_array(pencil: ref.Pencil, array: np.ndarray, setup: Setup, field: np.ndarray) -> Iterator[str]:
    """An output that the library allocated: owned cells are defined, halo and padding are not."""
    if array.shape != pencil.shape or array.dtype != setup.dtype or not array.flags.c_contiguous:
        yield f"new output: saw {array.shape} {array.dtype}, expected C-contiguous {pencil.shape} {setup.dtype}"
    elif not ref.same_bits(pencil.owned_cells(array), pencil.of_global(field)):
        yield f"new output: owned cells differ: saw\n{pencil.owned_cells(array)}\nexpected\n{pencil.of_global(field)}"


def check_chain(case: Case, setup: Setup) -> Iterator[str]:
    pencils = [setup.decomposition.pencil(axis, setup.rank) for axis in range(3)]
    for run in range(RUNS):
        field = setup.field(run)
        size = max(pencil.size for pencil in pencils)
        spaces = [ref.Guarded(size, setup.dtype, setup.rank, salt=run + i) for i in range(2)]
        original = pencils[0].fill(spaces[0].array(pencils[0].shape), field).copy()
        with setup.device.copies(*spaces) as there:
            array = there[0].array(pencils[0].shape)
            for step, (op, (_, target_axis)) in enumerate(ref.TRANSPOSES.items()):
                pencil = pencils[target_axis]
                space = there[0] if case["place"] == "in" else there[(step + 1) % 2]
                out = None if case["place"] == "new" else space.array(pencil.shape)
                array = getattr(setup.grid, f"transpose_{op}")(array, out)
                seen = setup.device.to_host(array)
                if not ref.same_bits(pencil.owned_cells(seen), pencil.of_global(field)):
                    yield f"run {run}: wrong after {op}"
        if not ref.same_bits(seen, original):
            yield f"run {run}: not back where it was after four transposes"


# --- halos


@dataclass(frozen=True)
class Update:
    """A halo update: pencil axis, dim or None for all in turn, periodicity, extents and padding."""

    axis: int
    dim: int | None
    periods: tuple[bool, bool, bool]
    halo: tuple[int, ...]
    padding: tuple[int, ...]

    def run(self, setup: Setup, array: np.ndarray, dtype: cudecomp.DataType | None = None) -> object:
        return getattr(setup.grid, f"update_halos_{'xyz'[self.axis]}")(
            array,
            self.halo,
            self.periods if any(self.periods) else None,
            self.dim,
            padding=self.padding if any(self.padding) else None,
            dtype=dtype,
        )


def check_halo(case: Case, setup: Setup) -> Iterator[str]:
    axis, dim, periods = case["where"].split("/")
    axis_number, dim_number = "xyz".index(axis), table.DIMS[dim]
    smallest = setup.decomposition.smallest_extents(axis_number)
    wanted = table.HALOS[case["halo"]] or smallest
    halo = tuple(min(wanted[d], smallest[d]) if dim_number in (d, None) else wanted[d] for d in range(3))
    update = Update(axis_number, dim_number, table.PERIODS[periods], halo, table.PADDINGS[case["padding"]])
    yield from check_update(case, setup, update)


def check_update(case: Case, setup: Setup, update: Update) -> Iterator[str]:
    pencils = setup.decomposition.pencils(update.axis, update.halo, update.padding)
    mine = pencils[setup.rank]
    yield from check_pencil_info(setup, update.axis, mine)
    memory = []
    for run in range(RUNS):
        everyone = [ref.Guarded(pencil.size, setup.dtype, rank, salt=run) for rank, pencil in enumerate(pencils)]
        arrays = [space.array(pencil.shape) for space, pencil in zip(everyone, pencils, strict=True)]
        for pencil, array in zip(pencils, arrays, strict=True):
            pencil.fill(array, setup.field(run))
        space = memory_of(case.levels.get("memory", "own"), setup, update.axis, mine, mine.size, salt=0)
        space.array(mine.shape)[...] = arrays[setup.rank]
        expected = space.copy()
        memory.append(space)
        ref.update_halos(setup.decomposition, update.axis, pencils, arrays, update.periods, update.dim)

        dtype = None if run == 0 else cudecomp.DataType[table.DTYPES[setup.dtype]]
        with setup.device.copies(space) as (there,):
            result = update.run(setup, there.array(mine.shape), dtype)
        if result is not None:
            yield f"run {run}: halo updates return None, saw {result!r}"
        expected.array(mine.shape)[...] = arrays[setup.rank]
        if difference := space.difference(expected):
            yield f"run {run}: {difference}"


def check_refused(case: Case, setup: Setup) -> Iterator[str]:
    """One layer more than the smallest local extent: all ranks refuse, nothing moves, and work can go on."""
    axis, dim = case["where"].split("/")
    axis_number, dim_number = "xyz".index(axis), table.DIMS[dim]
    smallest = setup.decomposition.smallest_extents(axis_number)
    last = 2 if dim_number is None else dim_number
    halo = tuple(smallest[d] + 1 if d == last else min(1, smallest[d]) for d in range(3))
    update = Update(axis_number, dim_number, (True, True, True), halo, table.PADDINGS[case["padding"]])

    pencil = setup.decomposition.pencil(axis_number, setup.rank, halo, update.padding)
    space = ref.Guarded(pencil.size, setup.dtype, setup.rank)
    pencil.fill(space.array(pencil.shape), setup.field(0))
    expected = space.copy()
    error = None
    try:
        with setup.device.copies(space) as (there,):
            update.run(setup, there.array(pencil.shape))
    except ValueError as caught:
        error = caught
    seen = setup.comm.allgather((type(error).__qualname__, str(error)))
    if error is None or len(set(seen)) > 1:
        yield f"halo {halo} with smallest local extents {smallest}: expected one ValueError on all ranks, saw {seen}"
    elif str(smallest[last] + 1) not in str(error) or str(smallest[last]) not in str(error):
        yield f"the error names neither {smallest[last] + 1} layers nor the limit {smallest[last]}: {error}"
    if difference := space.difference(expected):
        yield f"a refused update wrote: {difference}"

    fits = tuple(min(1, n) for n in smallest)
    yield from check_update(case, setup, Update(axis_number, dim_number, (True, True, True), fits, update.padding))


# --- geometry


def check_pencil_info(setup: Setup, axis: int, pencil: ref.Pencil) -> Iterator[str]:
    info = setup.grid.get_pencil_info(axis, pencil.halo, pencil.padding)
    expected = expected_info(pencil)
    seen = {name: getattr(info, name) for name in expected}
    if seen != expected:
        yield f"pencil info of axis {axis}: saw {seen}, expected {expected}"


def expected_info(pencil: ref.Pencil) -> dict[str, object]:
    """The fields of a PencilInfo: in array-axis order, `hi` inclusive."""
    return {
        "shape": pencil.shape,
        "lo": tuple(pencil.lo[d] for d in pencil.order),
        "hi": tuple(pencil.hi[d] - 1 for d in pencil.order),
        "order": pencil.order,
        "halo_extents": pencil.halo,
        "padding": pencil.padding,
        "size": math.prod(pencil.shape),
    }


CHECKS = {"transpose": check_transpose, "chain": check_chain, "halo": check_halo, "refused": check_refused}
