# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What a configuration must satisfy, as far as it can be told without the library."""

import math
import sys
from collections.abc import Iterable

from cudecomp._autotune import AutotuneReport, require_tqdm
from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._enums import AutotuneGridMode, DataType, RankOrder
from cudecomp._errors import InvalidUsageError
from cudecomp._fields import as_bool

_AXES = "XYZ"
_OPERATIONS = ("X-to-Y", "Y-to-Z", "Z-to-Y", "Y-to-X")


def check_communicator(comm: object) -> None:
    """Raises TypeError or InvalidUsageError for anything that is not a usable mpi4py intracommunicator."""
    mpi4py = sys.modules.get("mpi4py.MPI")  # who has a communicator has imported it; importing it would start MPI
    if mpi4py is None or not isinstance(comm, mpi4py.Comm):
        text = f"mpi_comm must be an mpi4py communicator, got {comm!r} of type {type(comm).__name__}"
        raise TypeError(f"{text}; pass for example mpi4py.MPI.COMM_WORLD")
    if not mpi4py.Is_initialized():
        raise InvalidUsageError("MPI is not initialized; call mpi4py.MPI.Init() before making a Handle")
    if mpi4py.Is_finalized():
        raise InvalidUsageError("MPI is finalized; make and finalize a Handle before mpi4py.MPI.Finalize()")
    if comm == mpi4py.COMM_NULL:
        raise InvalidUsageError("mpi_comm is MPI.COMM_NULL; make a Handle only on the ranks of the communicator")
    if comm.Is_inter():
        raise TypeError("mpi_comm is an intercommunicator; pass an intracommunicator, for example mpi_comm.Merge()")


def check_arguments(config: object, options: object, nranks: int) -> None:
    """Raises TypeError or InvalidUsageError for the first thing that is wrong with the arguments of `create_grid`."""
    if not isinstance(config, GridDescConfig):
        raise TypeError(f"config must be a GridDescConfig, got {config!r} of type {type(config).__name__}")
    if not (options is None or isinstance(options, GridDescAutotuneOptions)):
        text = f"options must be a GridDescAutotuneOptions or None, got {options!r} of type {type(options).__name__}"
        raise TypeError(text)
    _check_grid(config)
    _check_process_grid(config, nranks, options is not None)
    _check_known(config.rank_order, RankOrder, "rank_order")
    _check_memory_orders(config)
    if options is not None:
        _check_options(options)


def check_autotune_arguments(report: object, progress: object, shows: bool) -> None:
    """Raises TypeError for wrong types, ImportError where this rank is to show the progress and cannot."""
    if not (report is None or isinstance(report, AutotuneReport)):
        text = f"report must be an AutotuneReport or None, got {report!r} of type {type(report).__name__}"
        raise TypeError(f"{text}; AutotuneReport.from_json makes one from JSON text")
    if as_bool(progress, "progress") and shows:
        require_tqdm()


def _check_grid(config: GridDescConfig) -> None:
    gdims = _ints(config.gdims)
    for axis, points in zip(_AXES, gdims, strict=True):
        if points < 1:
            raise InvalidUsageError(f"gdims is {gdims}, expected at least 1 point along {axis}; set all three entries")
    dist = _ints(config.gdims_dist)
    if not any(dist):
        return
    for axis, points, split in zip(_AXES, gdims, dist, strict=True):
        if not 1 <= split <= points:
            raise InvalidUsageError(
                f"gdims_dist is {dist} with gdims {gdims}, expected 1 to {points} along {axis}; "
                "set all three entries, or none to split gdims itself"
            )


def _check_process_grid(config: GridDescConfig, nranks: int, autotune: bool) -> None:
    rows, cols = pdims = _ints(config.pdims)
    if pdims == (0, 0):
        if not autotune:
            raise InvalidUsageError(
                f"pdims is (0, 0) and there are no autotuning options; set pdims to (rows, columns) with a product of "
                f"{nranks}, the number of ranks, or pass options to have it chosen"
            )
        return
    if rows < 1 or cols < 1:
        raise InvalidUsageError(
            f"pdims is {pdims}, expected two integers of at least 1; set both, or none to have it autotuned"
        )
    if rows * cols != nranks:
        raise InvalidUsageError(
            f"pdims is {pdims}, which makes {rows * cols} pencils, but the handle has {nranks} "
            f"rank{'s' * (nranks != 1)}; expected a product of {nranks}"
        )


def _check_memory_orders(config: GridDescConfig) -> None:
    orders = config.transpose_mem_order.tolist()
    if all(entry == -1 for order in orders for entry in order):
        return
    for axis, order in zip(_AXES, orders, strict=True):
        if sorted(order) != [0, 1, 2]:
            raise InvalidUsageError(
                f"transpose_mem_order is {tuple(order)} for {axis}-pencils, expected a permutation of (0, 1, 2); "
                "set all nine entries, or leave all at -1"
            )


def _check_options(options: GridDescAutotuneOptions) -> None:
    _at_least(options.n_trials, 1, "n_trials")
    _at_least(options.n_warmup_trials, 0, "n_warmup_trials")
    _check_known(options.grid_mode, AutotuneGridMode, "grid_mode")
    _check_known(options.dtype, DataType, "dtype")
    _check_weight(options.skip_threshold, "skip_threshold")
    for operation, weight in zip(_OPERATIONS, options.transpose_op_weights.tolist(), strict=True):
        _check_weight(weight, f"transpose_op_weights for {operation}")
    for name in (
        "transpose_input_halo_extents",
        "transpose_output_halo_extents",
        "transpose_input_padding",
        "transpose_output_padding",
    ):
        for operation, extents in zip(_OPERATIONS, getattr(options, name).tolist(), strict=True):
            _check_extents(extents, f"{name} for {operation}")
    _check_extents(options.halo_extents.tolist(), "halo_extents")
    _check_extents(options.halo_padding.tolist(), "halo_padding")
    if options.halo_axis not in (0, 1, 2):
        raise InvalidUsageError(f"halo_axis is {options.halo_axis}, expected 0, 1 or 2 for X-, Y- or Z-pencils")


def _at_least(value: int, least: int, name: str) -> None:
    if value < least:
        raise InvalidUsageError(f"{name} is {value}, expected at least {least}")


def _check_weight(value: float, name: str) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise InvalidUsageError(f"{name} is {value}, expected a finite number of at least 0")


def _check_extents(extents: Iterable[int], name: str) -> None:
    values = tuple(extents)
    if min(values) < 0:
        raise InvalidUsageError(f"{name} is {values}, expected at least 0 along X, Y and Z")


def _check_known(value: RankOrder | AutotuneGridMode | DataType, kind: type, name: str) -> None:
    # Backends are left to the library: a later one may know more of them.
    members = kind.__members__  # type: ignore[attr-defined]
    if value.name not in members:
        known = ", ".join(f"{kind.__name__}.{member}" for member in members)
        raise InvalidUsageError(f"{name} is {int(value)}, expected one of {known}")


def _ints(field: object) -> tuple[int, ...]:
    return tuple(field.tolist())  # type: ignore[attr-defined]
