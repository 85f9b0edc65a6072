# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What operations cost: the performance report of the built-in engine, which hands it over as JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cudecomp._enums import DataType, HaloCommBackend, TransposeCommBackend


@dataclass(frozen=True)
class PerformanceSample:
    """One call of an operation on one rank.

    Attributes:
        seconds: How long the call took inside the library.
        exchange: Seconds of it that were not copying within the rank: moving data between ranks, and waiting for them.

    Example:
        >>> PerformanceSample(seconds=0.002, exchange=0.0015).exchange
        0.0015

    See also:
        `OperationPerformance`; cudecomp's C interface reports no such thing.
    """

    seconds: float
    exchange: float


@dataclass(frozen=True)
class OperationPerformance:
    """One operation with one geometry, over all ranks that called it. Figures that no sample tells are None.

    Attributes:
        operation: Name of the method of `GridDesc`, such as ``"transpose_x_to_y"``.
        dtype: Type of the elements.
        in_place: Whether input and output of a transpose were the same memory; None for halo updates.
        dim: Axis that a halo update ran along, 0, 1, 2 for X, Y, Z; None for transposes.
        periodic: Whether a halo update wrapped around; None for transposes.
        extents: What was passed for halos and paddings, by name of the argument, each along X, Y, Z.
        ranks: How many ranks called it.
        calls: How often, on the rank with the most calls; those that are no samples included.
        samples: Calls of all ranks together that the figures are from.
        mean: Seconds of a call on average over ranks and samples.
        min: Seconds of the shortest call on any rank.
        max: Seconds of the longest call on any rank.
        bytes: Bytes that a call brings to a rank, on average over the ranks: its part of the output of a transpose, the
            halo layers that are filled.
        exchanged_bytes: Of these, what comes from other ranks.
        exchange_share: Part of the time, 0 to 1, that was not copying within a rank: moving data between ranks, and
            waiting for them.
        bandwidth: `bytes` by `mean`: bytes per second and rank.
        exchange_bandwidth: `exchanged_bytes` by the mean time of exchange: bytes per second and rank.
        by_rank: Single samples by rank, the oldest first, as far as ``CUDECOMP_PERFORMANCE_REPORT_DETAIL`` asks for
            them.

    Example:
        >>> report = grid.performance_report()  # doctest: +SKIP
        >>> [(entry.operation, entry.mean) for entry in report.operations]  # doctest: +SKIP
        [('transpose_x_to_y', 0.00042), ('transpose_y_to_z', 0.00055)]

    See also:
        `PerformanceReport`; cudecomp's C interface reports no such thing.
    """

    operation: str
    dtype: DataType
    in_place: bool | None
    dim: int | None
    periodic: bool | None
    extents: Mapping[str, tuple[int, int, int]]
    ranks: int
    calls: int
    samples: int
    mean: float | None
    min: float | None
    max: float | None
    bytes: float
    exchanged_bytes: float
    exchange_share: float | None
    bandwidth: float | None
    exchange_bandwidth: float | None
    by_rank: Mapping[int, tuple[PerformanceSample, ...]]


@dataclass(frozen=True)
class PerformanceReport:
    """What the operations of a grid cost so far, over all ranks; ``print(report)`` shows it as a table.

    Attributes:
        gdims: Extents of the grid along X, Y, Z.
        pdims: Process grid (rows, columns).
        transpose_comm_backend: The backend of the transposes.
        halo_comm_backend: The backend of the halo updates.
        ranks: Number of ranks.
        latest: How many of the latest calls of an operation are samples, on each rank.
        warmups: How many of its first calls are not.
        unrecorded: Calls that were not recorded since there were too many different operations.
        operations: `OperationPerformance` of each operation with each geometry.

    Example:
        >>> print(grid.performance_report())  # doctest: +SKIP

    See also:
        `GridDesc.performance_report`, which returns it; ``cudecompBuiltinGetPerformanceReport``.
    """

    gdims: tuple[int, int, int]
    pdims: tuple[int, int]
    transpose_comm_backend: TransposeCommBackend
    halo_comm_backend: HaloCommBackend
    ranks: int
    latest: int
    warmups: int
    unrecorded: int
    operations: tuple[OperationPerformance, ...]
    _text: str = field(repr=False, compare=False, default="")

    def __str__(self) -> str:
        return self._text.rstrip("\n")


def from_json(text: str) -> PerformanceReport:
    """The report from what the engine says."""
    found = json.loads(text)
    return PerformanceReport(
        gdims=tuple(found["gdims"]),
        pdims=tuple(found["pdims"]),
        transpose_comm_backend=TransposeCommBackend[found["transpose_comm_backend"]],
        halo_comm_backend=HaloCommBackend[found["halo_comm_backend"]],
        ranks=found["ranks"],
        latest=found["latest"],
        warmups=found["warmups"],
        unrecorded=found["unrecorded"],
        operations=tuple(map(_operation, found["operations"])),
        _text=found["text"],
    )


def _operation(entry: dict[str, Any]) -> OperationPerformance:
    known = ("ranks", "calls", "samples", "mean", "min", "max", "bytes", "exchanged_bytes")
    rates = ("exchange_share", "bandwidth", "exchange_bandwidth")
    return OperationPerformance(
        operation=entry["operation"],
        dtype=DataType[entry["dtype"]],
        in_place=entry.get("in_place"),
        dim=entry.get("dim"),
        periodic=entry.get("periodic"),
        extents={name: tuple(value) for name, value in entry.items() if "halo_extents" in name or "padding" in name},
        by_rank={
            int(rank): tuple(PerformanceSample(*sample) for sample in samples)
            for rank, samples in entry["by_rank"].items()
        },
        **{name: entry[name] for name in (*known, *rates)},
    )
