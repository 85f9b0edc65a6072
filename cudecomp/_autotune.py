# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What autotuning measured: reports to read, to keep, and to use again; and its progress on a terminal.

The built-in engine measures and hands its results over as JSON. A report adds what it was about: the arguments, the
ranks and the machine.
"""

import contextlib
import hashlib
import importlib
import itertools
import json
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._enums import HaloCommBackend, TransposeCommBackend
from cudecomp._errors import InvalidUsageError
from cudecomp_bindings._internal import cudecomp as loader

if TYPE_CHECKING:
    from mpi4py import MPI

_FORMAT = "cudecomp autotune report 1"

# What narrows the candidates, and which part of the choice it concerns.
_FILTERS = {
    "CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS": "transpose_comm_backend",
    "CUDECOMP_AUTOTUNE_HALO_BACKENDS": "halo_comm_backend",
    "CUDECOMP_AUTOTUNE_P_ROW_RANGE": "pdims",
    "CUDECOMP_AUTOTUNE_P_COL_RANGE": "pdims",
}


@dataclass(frozen=True)
class AutotuneTimes:
    """How long one operation of a candidate took, in seconds; of the trial that took the slowest rank the least.

    Attributes:
        min: On the fastest rank.
        mean: On average over the ranks.
        max: On the slowest rank.
        weight: Factor of `max` in the candidate's total.

    Example:
        >>> AutotuneTimes(min=0.001, mean=0.0015, max=0.002, weight=1.0).max
        0.002

    See also:
        ``cudecompGridDescAutotuneOptions_t``
    """

    min: float
    mean: float
    max: float
    weight: float = 1.0


@dataclass(frozen=True)
class AutotuneCandidate:
    """A process grid with a backend, and what became of it.

    Attributes:
        kind: What was tried with it, ``"transpose"`` or ``"halo"``.
        pdims: Process grid (rows, columns).
        backend: A `TransposeCommBackend` or a `HaloCommBackend`.
        times: `AutotuneTimes` by operation: ``"x_to_y"``, ``"y_to_z"``, ``"z_to_y"``, ``"y_to_x"``, or for halo updates
            the dim, ``"x"``, ``"y"``, ``"z"``. Operations that cannot matter (weight 0, no halo) are not in it.
        total: Seconds, the sum of weight times max over the operations; None if the candidate was skipped.
        skipped: Why the candidate was skipped, None if it was not.
        chosen: Whether it won.

    Example:
        >>> times = {"x": AutotuneTimes(0.001, 0.002, 0.003)}
        >>> AutotuneCandidate("halo", (2, 2), HaloCommBackend.MPI, times, total=0.003).skipped is None
        True

    See also:
        ``cudecompGridDescAutotuneOptions_t``
    """

    kind: Literal["transpose", "halo"]
    pdims: tuple[int, int]
    backend: TransposeCommBackend | HaloCommBackend
    times: Mapping[str, AutotuneTimes]
    total: float | None = None
    skipped: str | None = None
    chosen: bool = False


@dataclass(frozen=True)
class AutotuneChoice:
    """The fields of a configuration that autotuning may choose, with what they hold in the end.

    Attributes:
        pdims: Process grid (rows, columns).
        transpose_comm_backend: A `TransposeCommBackend`.
        halo_comm_backend: A `HaloCommBackend`.

    Example:
        >>> AutotuneChoice((2, 2), TransposeCommBackend.MPI_A2A, HaloCommBackend.MPI).pdims
        (2, 2)

    See also:
        ``cudecompGridDescConfig_t``
    """

    pdims: tuple[int, int]
    transpose_comm_backend: TransposeCommBackend
    halo_comm_backend: HaloCommBackend


@dataclass(frozen=True)
class AutotuneMachine:
    """What times depend on besides the problem. A report is used again only where all but `hosts` is the same.

    Attributes:
        library: The library that measured, with its version.
        mpi: The MPI library, with its version.
        cpus: Processor models of the nodes, each once.
        placement: Runs of consecutive ranks on one node, as (node, ranks); nodes are numbered as they appear.
        hosts: Names of the nodes in that order. For people to read: they change from job to job.

    Example:
        >>> machine = AutotuneMachine("builtin 0.1.0", "Open MPI 5.0.11", ("AMD EPYC",), ((0, 4),), ("node7",))
        >>> machine.placement
        ((0, 4),)

    See also:
        ``cudecompGridDescCreate``
    """

    library: str
    mpi: str
    cpus: tuple[str, ...]
    placement: tuple[tuple[int, int], ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class AutotuneReport:
    """What autotuning measured and chose, and for what. Equal on all ranks.

    It prints as a table, turns into JSON and back, and can be given to ``Handle.create_grid`` to make the same choice
    without measuring.

    Attributes:
        chosen: The outcome, an `AutotuneChoice`.
        candidates: Every `AutotuneCandidate`, in the order in which they were tried.
        ranks: Number of ranks.
        seconds: Seconds that autotuning took.
        config: The `GridDescConfig` as it was before.
        options: The `GridDescAutotuneOptions`.
        environment: The ``CUDECOMP_AUTOTUNE_...`` variables that narrowed the candidates, by name.
        machine: Where it was measured, an `AutotuneMachine`.

    Example:
        >>> config = GridDescConfig(gdims=(8, 6, 4))
        >>> options = GridDescAutotuneOptions(autotune_transpose_backend=True)
        >>> with handle.create_grid(config, options) as tuned:
        ...     report = tuned.autotune_report
        >>> report.chosen.pdims, len(report.candidates)
        ((1, 1), 3)
        >>> report == AutotuneReport.from_json(report.to_json())
        True
        >>> with handle.create_grid(GridDescConfig(gdims=(8, 6, 4)), options, report=report) as again:
        ...     again.get_config() == config
        True

    See also:
        ``cudecompGridDescCreate``, ``cudecompBuiltinGetAutotuneReport``
    """

    chosen: AutotuneChoice
    candidates: tuple[AutotuneCandidate, ...]
    ranks: int
    seconds: float
    config: GridDescConfig
    options: GridDescAutotuneOptions
    environment: Mapping[str, str]
    machine: AutotuneMachine

    def to_json(self) -> str:
        """Returns the report as JSON text; ``from_json`` reads it."""
        document = {
            "format": _FORMAT,
            "chosen": _choice_to_json(self.chosen),
            "ranks": self.ranks,
            "seconds": self.seconds,
            "machine": vars(self.machine),
            "config": self.config._plain(),
            "options": self.options._plain(),
            "environment": dict(self.environment),
            "candidates": [_candidate_to_json(candidate) for candidate in self.candidates],
        }
        return json.dumps(document, indent=2)

    @classmethod
    def from_json(cls, text: str) -> "AutotuneReport":
        """Makes a report from what ``to_json`` returned; raises InvalidUsageError, a ValueError, for anything else."""
        try:
            document = json.loads(text)
        except (TypeError, ValueError) as error:
            raise InvalidUsageError(f"not an autotune report: {error}") from None
        found = document.get("format") if isinstance(document, dict) else None
        if found != _FORMAT:
            raise InvalidUsageError(f"not an autotune report: format is {found!r}, expected {_FORMAT!r}")
        try:
            return _report_from_json(document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidUsageError(f"damaged autotune report: {type(error).__name__}: {error}") from None

    def table(self) -> str:
        """Returns the candidates as a table of milliseconds on the slowest rank; ``*`` marks what was chosen."""
        lines = [f"{self._headline()}, milliseconds on the slowest rank"]
        for kind in ("transpose", "halo"):
            group = [candidate for candidate in self.candidates if candidate.kind == kind]
            if group:
                lines += ["", *_table_of(kind, group)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def _headline(self) -> str:
        rows, cols = self.chosen.pdims
        return (
            f"{len(self.candidates)} candidates on {self.ranks} rank{'s' * (self.ranks != 1)} in {self.seconds:.3g} s: "
            f"{rows} x {cols}, transposes {self.chosen.transpose_comm_backend.name}, "
            f"halos {self.chosen.halo_comm_backend.name}"
        )


def _table_of(kind: str, candidates: list[AutotuneCandidate]) -> list[str]:
    operations = list(dict.fromkeys(name for candidate in candidates for name in candidate.times))
    rows = [["", "grid", f"{kind} backend", "total", *operations]]
    notes = [""]
    for candidate in candidates:
        figures = [_milliseconds(candidate.total)]
        figures += [
            _milliseconds(candidate.times[name].max if name in candidate.times else None) for name in operations
        ]
        mark = "*" if candidate.chosen else ""
        rows.append([mark, f"{candidate.pdims[0]} x {candidate.pdims[1]}", candidate.backend.name, *figures])
        notes.append(f"  skipped: {candidate.skipped}" if candidate.skipped else "")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column < 3 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        + note
        for row, note in zip(rows, notes, strict=True)
    ]


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f}"


# --- JSON


def _choice_to_json(choice: AutotuneChoice) -> dict[str, Any]:
    return {
        "pdims": choice.pdims,
        "transpose_comm_backend": choice.transpose_comm_backend.name,
        "halo_comm_backend": choice.halo_comm_backend.name,
    }


def _candidate_to_json(candidate: AutotuneCandidate) -> dict[str, Any]:
    times = {name: vars(entry) for name, entry in candidate.times.items()}
    return {**vars(candidate), "backend": candidate.backend.name, "times": times}


def _report_from_json(document: dict[str, Any]) -> AutotuneReport:
    machine = document["machine"]
    return AutotuneReport(
        chosen=_choice_from_json(document["chosen"]),
        candidates=tuple(map(_candidate_from_json, document["candidates"])),
        ranks=int(document["ranks"]),
        seconds=float(document["seconds"]),
        config=GridDescConfig(**document["config"]),
        options=GridDescAutotuneOptions(**document["options"]),
        environment={str(name): str(value) for name, value in document["environment"].items()},
        machine=AutotuneMachine(
            library=str(machine["library"]),
            mpi=str(machine["mpi"]),
            cpus=tuple(map(str, machine["cpus"])),
            placement=tuple((int(node), int(ranks)) for node, ranks in machine["placement"]),
            hosts=tuple(map(str, machine["hosts"])),
        ),
    )


def _choice_from_json(entry: dict[str, Any]) -> AutotuneChoice:
    return AutotuneChoice(
        _pdims(entry["pdims"]),
        TransposeCommBackend[entry["transpose_comm_backend"]],
        HaloCommBackend[entry["halo_comm_backend"]],
    )


def _candidate_from_json(entry: dict[str, Any]) -> AutotuneCandidate:
    kind = entry["kind"]
    if kind not in ("transpose", "halo"):
        raise ValueError(f"kind is {kind!r}")
    return AutotuneCandidate(
        kind=kind,
        pdims=_pdims(entry["pdims"]),
        backend=TransposeCommBackend[entry["backend"]] if kind == "transpose" else HaloCommBackend[entry["backend"]],
        times={
            str(name): AutotuneTimes(*(float(times[figure]) for figure in ("min", "mean", "max", "weight")))
            for name, times in entry["times"].items()
        },
        total=None if entry["total"] is None else float(entry["total"]),
        skipped=None if entry["skipped"] is None else str(entry["skipped"]),
        chosen=bool(entry["chosen"]),
    )


def _pdims(entry: list[Any]) -> tuple[int, int]:
    rows, cols = entry
    return int(rows), int(cols)


# --- Measuring, or not


class Problem:
    """What is to be tuned, on what machine: what a new report is made from, and an old one is compared with."""

    def __init__(self, comm: "MPI.Intracomm", config: GridDescConfig, options: GridDescAutotuneOptions | None) -> None:
        """Collective over `comm`. The arguments are checked, and equal on all ranks."""
        self._ranks = comm.Get_size()
        self._config = config.copy()
        self._options = None if options is None else options.copy()
        self._environment = filters(config, options)
        self._machine = _describe_machine(comm)

    def require_fit(self, report: AutotuneReport) -> None:
        """Raises InvalidUsageError, on all ranks alike, for the first thing that a report was not made for."""
        for what, now, then in self._differences(report):
            if now != then:
                raise InvalidUsageError(
                    f"report does not fit: {what} is {now}, but the report was made with {then}; "
                    "leave report out to measure anew"
                )

    def _differences(self, report: AutotuneReport) -> Iterator[tuple[str, object, object]]:
        yield "the number of ranks", self._ranks, report.ranks
        if self._options is None:
            yield "options", None, report.options
        else:
            # A backend that is chosen does not matter beforehand, and often is a former choice.
            skipped = _open_fields(report.config, report.options) - {"pdims"}
            theirs = report.config._texts()
            for name, text in self._config._texts().items():
                if name not in skipped:
                    yield f"config.{name}", text, theirs[name]
            theirs = report.options._texts()
            for name, text in self._options._texts().items():
                yield f"options.{name}", text, theirs[name]
        for name in _FILTERS:
            yield name, _shown(self._environment.get(name)), _shown(report.environment.get(name))
        yield "the library", self._machine.library, report.machine.library
        yield "the MPI library", self._machine.mpi, report.machine.mpi
        yield "the processor", ", ".join(self._machine.cpus), ", ".join(report.machine.cpus)
        yield "the placement of ranks on nodes", self._machine.placement, report.machine.placement

    def report(self, grid: int) -> AutotuneReport | None:
        """What the library measured for a grid descriptor, given by its address; None if it does not tell."""
        address = loader._get_optional_symbol("cudecompBuiltinGetAutotuneReport")
        if not address or self._options is None:
            return None
        import ctypes

        text = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(address)(grid)
        document = json.loads(text)
        return AutotuneReport(
            chosen=_choice_from_json(document["chosen"]),
            candidates=tuple(map(_candidate_from_json, document["candidates"])),
            ranks=self._ranks,
            seconds=document["seconds"],
            config=self._config,
            options=self._options,
            environment=self._environment,
            machine=self._machine,
        )


def tunes(config: GridDescConfig, options: GridDescAutotuneOptions | None) -> bool:
    """Whether anything is left to choose."""
    return options is not None and bool(_open_fields(config, options))


def filters(config: GridDescConfig, options: GridDescAutotuneOptions | None) -> dict[str, str]:
    """Environment variables that are set and narrow what is left to choose."""
    concerned = set() if options is None else _open_fields(config, options)
    return {name: os.environ[name] for name, field in _FILTERS.items() if field in concerned and name in os.environ}


def digest(report: AutotuneReport) -> str:
    """A short text that differs where reports differ."""
    return hashlib.blake2b(report.to_json().encode(), digest_size=8).hexdigest()


def _open_fields(config: GridDescConfig, options: GridDescAutotuneOptions) -> set[str]:
    """Fields of the configuration that are chosen."""
    fields = set()
    if not any(config.pdims.tolist()):
        fields.add("pdims")
    if options.autotune_transpose_backend:
        fields.add("transpose_comm_backend")
    if options.autotune_halo_backend:
        fields.add("halo_comm_backend")
    return fields


def _shown(value: str | None) -> str:
    return "unset" if value is None else repr(value)


def _describe_machine(comm: "MPI.Intracomm") -> AutotuneMachine:
    """Collective over `comm`."""
    from mpi4py import MPI

    vendor, version = MPI.get_vendor()
    places = comm.allgather((MPI.Get_processor_name(), _cpu_model()))
    hosts = list(dict.fromkeys(host for host, _ in places))
    runs = itertools.groupby(hosts.index(host) for host, _ in places)
    return AutotuneMachine(
        library=_library(),
        mpi=f"{vendor} {'.'.join(map(str, version))}",
        cpus=tuple(sorted({cpu for _, cpu in places})),
        placement=tuple((node, len(list(ranks))) for node, ranks in runs),
        hosts=tuple(hosts),
    )


def _library() -> str:
    from cudecomp._info import _engine_info

    library = loader.load_library()
    engine = _engine_info()
    return f"{library.kind} {engine['version'] if engine else library.line}"


def _cpu_model() -> str:
    """The processor's name, as far as the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "CPU part"):
                return value.strip()
    return platform.machine()


# --- Progress


def require_tqdm() -> None:
    """Raises ImportError with a remedy where tqdm is missing."""
    try:
        importlib.import_module("tqdm")
    except ImportError as error:
        raise ImportError("progress=True needs tqdm, which cannot be imported; pip install tqdm") from error


@contextlib.contextmanager
def shown_progress(handle: int) -> Iterator[None]:
    """A progress bar for what the library autotunes within the block; `handle` is the address of a handle.

    Libraries that do not tell their progress get no bar.
    """
    address = loader._get_optional_symbol("cudecompBuiltinSetAutotuneProgress")
    if not address:
        yield
        return
    import ctypes

    callback_type = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
    set_callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, callback_type, ctypes.c_void_p)(address)
    bar = _Bar()
    callback = callback_type(bar.show)
    set_callback(handle, callback, None)
    try:
        yield
    finally:
        set_callback(handle, callback_type(), None)
        bar.close()


class _Bar:
    """A tqdm bar that never stops what it shows: the other ranks would wait for this one."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._error: BaseException | None = None

    def show(self, done: int, total: int, candidate: bytes, _: object) -> None:
        if self._error is not None:
            return
        try:
            if self._bar is None:
                self._bar = importlib.import_module("tqdm").tqdm(total=total, desc="autotuning", unit="trial")
            self._bar.set_postfix_str(candidate.decode(), refresh=False)
            self._bar.update(done - self._bar.n)
            self._bar.refresh()
        except BaseException as error:
            self._error = error

    def close(self) -> None:
        error = self._error
        try:
            if self._bar is not None:
                self._bar.close()
        except Exception as caught:
            error = error or caught
        if isinstance(error, Exception):
            warnings.warn(f"the progress of autotuning could not be shown: {error}", RuntimeWarning, stacklevel=2)
        elif error is not None:  # such as KeyboardInterrupt
            raise error


def with_choice(config: GridDescConfig, report: AutotuneReport) -> GridDescConfig:
    """A copy of a configuration that holds what a report has chosen."""
    chosen = config.copy()
    for name in _open_fields(report.config, report.options):
        setattr(chosen, name, getattr(report.chosen, name))
    return chosen
