# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The performance report: what it counts exactly, and what must hold between its times."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests import reference as ref
from tests.mpi.support import GDIMS, make_config, reference_of
from tests.parallel import assert_raises_everywhere, environment, same_everywhere

OPERATIONS = ("transpose_x_to_y", "transpose_y_to_z", "transpose_z_to_y", "transpose_y_to_x")


@contextmanager
def reporting(comm: MPI.Comm, **settings: str) -> Iterator[cudecomp.Handle]:
    """A handle that records; settings without their common prefix."""
    variables = {f"CUDECOMP_PERFORMANCE_REPORT_{name}": value for name, value in settings.items()}
    with environment(CUDECOMP_ENABLE_PERFORMANCE_REPORT="1", **variables), cudecomp.Handle(comm) as handle:
        yield handle


@pytest.fixture
def lines(capfd: pytest.CaptureFixture[str], comm: MPI.Comm) -> Callable[[], list[str]]:
    """What rank 0 has printed since the last call, on all ranks; the others must have been silent."""

    def read() -> list[str]:
        printed = comm.allgather(capfd.readouterr().out)
        assert not any(printed[1:])
        return printed[0].splitlines()

    return read


def transposes(grid: cudecomp.GridDesc, rounds: int, dtype: str = "float64") -> None:
    """All four transposes, some times."""
    array = np.ones(grid.get_pencil_info(0).shape, dtype)
    for _ in range(rounds):
        for operation in OPERATIONS:
            array = getattr(grid, operation)(array)


def check_times(entry: cudecomp.OperationPerformance) -> None:
    assert 0 < entry.min <= entry.mean <= entry.max < 60
    assert 0 <= entry.exchange_share <= 1
    assert entry.bandwidth == pytest.approx(entry.bytes / entry.mean, rel=1e-6)
    if entry.exchanged_bytes and entry.exchange_share:
        expected = entry.exchanged_bytes / (entry.mean * entry.exchange_share)
        assert entry.exchange_bandwidth == pytest.approx(expected, rel=1e-6)


def exchanged(decomposition: ref.Decomposition, source: int, target: int, itemsize: int) -> float:
    """Bytes that a rank gets from others in a transpose, on average: owned afterwards, but not before."""
    total = 0
    for rank in range(decomposition.nranks):
        before, after = decomposition.pencil(source, rank), decomposition.pencil(target, rank)
        sides = zip(before.lo, before.hi, after.lo, after.hi, strict=True)
        kept = int(np.prod([max(0, min(b, d) - max(a, c)) for a, b, c, d in sides]))
        total += after.size - kept
    return total * itemsize / decomposition.nranks


@pytest.mark.parametrize("backend", ["MPI_P2P", "MPI_P2P_PL", "MPI_A2A"])
def test_transposes(backend: str, reach: str, comm: MPI.Comm) -> None:
    config = make_config(comm.size, transpose_comm_backend=cudecomp.TransposeCommBackend[backend])
    decomposition = reference_of(config)
    with reporting(comm) as handle, handle.create_grid(config) as grid:
        transposes(grid, rounds=5, dtype="complex64")
        report = grid.performance_report()
        same_everywhere(comm, report)
        assert report.gdims == GDIMS
        assert report.pdims == decomposition.pdims
        assert (report.ranks, report.latest, report.warmups, report.unrecorded) == (comm.size, 20, 3, 0)
        assert report.transpose_comm_backend.name == backend
        assert tuple(entry.operation for entry in report.operations) == OPERATIONS
        for entry, (source, target) in zip(report.operations, ref.TRANSPOSES.values(), strict=True):
            assert (entry.calls, entry.samples, entry.ranks) == (5, 2 * comm.size, comm.size)
            assert (entry.dtype, entry.in_place, entry.dim) == (cudecomp.DataType.FLOAT_COMPLEX, False, None)
            assert entry.bytes == pytest.approx(8 * np.prod(GDIMS) / comm.size, rel=1e-6)
            assert entry.exchanged_bytes == pytest.approx(exchanged(decomposition, source, target, 8), rel=1e-6)
            check_times(entry)
            if comm.size == 1:
                assert entry.exchange_share == 0
                assert entry.exchange_bandwidth is None
        # What stays on a rank is copied, and a clock sees that in one operation at least.
        assert min(entry.exchange_share for entry in report.operations) < 1


def test_halo_updates(reach: str, comm: MPI.Comm) -> None:
    config = make_config(comm.size, gdims=(8, 12, 16), pdims=(1, comm.size))
    halo = (1, 2, 1)
    with reporting(comm, WARMUP_SAMPLES="0") as handle, handle.create_grid(config) as grid:
        info = grid.get_pencil_info(0, halo)
        array = np.zeros(info.shape)
        for _ in range(3):
            grid.update_halos_x(array, halo, (True, True, True))
        grid.update_halos_x(array, halo)
        report = grid.performance_report()
        found = {(entry.dim, entry.periodic): entry for entry in report.operations}
        assert set(found) == {(dim, periodic) for dim in range(3) for periodic in (False, True)}
        for dim, name in enumerate("xyz"):
            entry = found[dim, True]
            assert (entry.operation, entry.in_place) == ("update_halos_x", None)
            assert dict(entry.extents) == {"halo_extents": halo, "padding": (0, 0, 0)}
            assert (entry.calls, entry.samples) == (3, 3 * comm.size)
            face = info.size // info.shape[info.order.index(dim)]
            layers = comm.allreduce(2 * halo[dim] * face * 8) / comm.size
            assert entry.bytes == pytest.approx(layers, rel=1e-6), name
            assert entry.exchanged_bytes == (entry.bytes if dim == 2 and comm.size > 1 else 0)
            check_times(entry)
            assert (entry.exchange_share > 0) == (dim == 2 and comm.size > 1)


def test_what_makes_an_operation_another(comm: MPI.Comm) -> None:
    with reporting(comm, WARMUP_SAMPLES="0") as handle, handle.create_grid(make_config(comm.size)) as grid:
        x, y = grid.get_pencil_info(0, (1, 0, 0)), grid.get_pencil_info(1)
        buffer = np.zeros(max(x.size, y.size))
        before, after = buffer[: x.size].reshape(x.shape), buffer[: y.size].reshape(y.shape)
        for out in (None, after):
            grid.transpose_x_to_y(before, out, input_halo_extents=(1, 0, 0))
        grid.transpose_x_to_y(np.zeros(grid.get_pencil_info(0).shape, "f"))
        seen = [
            (entry.dtype.name, entry.in_place, entry.extents["input_halo_extents"])
            for entry in grid.performance_report().operations
        ]
        assert sorted(seen) == [
            ("DOUBLE", False, (1, 0, 0)),
            ("DOUBLE", True, (1, 0, 0)),
            ("FLOAT", False, (0, 0, 0)),
        ]


def test_samples_are_the_latest_calls(comm: MPI.Comm) -> None:
    with (
        reporting(comm, SAMPLES="4", WARMUP_SAMPLES="1", DETAIL="2") as handle,
        handle.create_grid(make_config(comm.size)) as grid,
    ):
        array = np.ones(grid.get_pencil_info(0).shape)
        seen = []
        for calls in range(1, 9):
            grid.transpose_x_to_y(array)
            (entry,) = grid.performance_report().operations
            assert entry.calls == calls
            assert entry.samples == comm.size * min(calls - 1, 4)
            if calls == 1:
                assert (entry.mean, entry.min, entry.max, entry.exchange_share) == (None,) * 4
                assert entry.by_rank == {}
                continue
            assert list(entry.by_rank) == list(range(comm.size))
            seen.append(entry.by_rank[comm.rank][-1])
            assert list(entry.by_rank[comm.rank]) == seen[-4:]
        everything = [sample.seconds for samples in entry.by_rank.values() for sample in samples]
        assert entry.min == min(everything)
        assert entry.max == max(everything)
        assert entry.mean == pytest.approx(np.mean(everything), rel=1e-6)


def test_destroy_prints_on_rank_0(comm: MPI.Comm, lines: Callable[[], list[str]]) -> None:
    with reporting(comm) as handle:
        with handle.create_grid(make_config(comm.size)) as grid:
            transposes(grid, 4)
            grid.update_halos_z(np.zeros(grid.get_pencil_info(2, (1, 1, 1)).shape), (1, 1, 1), dim=2)
            text = str(grid.performance_report())
            assert lines() == []
        printed = lines()
        assert printed == text.splitlines()
        rows, cols = make_config(comm.size).pdims
        assert printed[0] == (
            f"cudecomp performance report: 9 x 10 x 11 points on {rows} x {cols} ranks, transposes MPI_P2P, halos MPI"
        )
        assert printed[1].startswith("mean, min and max of the latest 20 calls of each rank, the first 3 left out")
        assert printed[2].split()[:4] == ["operation", "type", "calls", "mean/ms"]
        assert [line.split()[0] for line in printed[3:]] == [*OPERATIONS, "update_halos_z"]
        assert printed[-1].split() == "update_halos_z along Z DOUBLE 1 - - - - - - halo 1,1,1".split()
        with handle.create_grid(make_config(comm.size)):
            pass
        assert lines() == []  # nothing to tell


@pytest.mark.parametrize(("detail", "ranks"), [("1", 1), ("2", None)])
def test_samples_are_printed(detail: str, ranks: int | None, comm: MPI.Comm, lines: Callable[[], list[str]]) -> None:
    with reporting(comm, DETAIL=detail) as handle, handle.create_grid(make_config(comm.size)) as grid:
        transposes(grid, 5)
    samples = [line for line in lines() if "ms (of exchange):" in line]
    expected = [f"{operation} DOUBLE, rank {r}" for operation in OPERATIONS for r in range(ranks or comm.size)]
    assert [line.split(", ms")[0] for line in samples] == expected
    assert all(line.count("(") == 3 for line in samples)


def test_files(comm: MPI.Comm, tmp_path: Path, lines: Callable[[], list[str]]) -> None:
    folder = Path(comm.bcast(tmp_path))
    reports = []
    with reporting(comm, WRITE_DIR=str(folder), DETAIL="1") as handle:
        for _ in range(2):
            with handle.create_grid(make_config(comm.size)) as grid:
                transposes(grid, 5)
                grid.update_halos_y(np.zeros(grid.get_pencil_info(1, (1, 1, 1)).shape), (1, 1, 1), dim=1)
                reports.append(grid.performance_report())
    rows, cols = reports[0].pdims
    suffix = f"tcomm_1-hcomm_1-pdims_{rows}x{cols}-gdims_9x10x11-memorder_012012012"
    kinds = [f"{kind}-{what}" for kind in ("transpose", "halo") for what in ("aggregated", "samples")]
    names = {f"cudecomp-perf-report-{kind}-{suffix}{number}.csv" for kind in kinds for number in ("", "-2")}
    assert {path.name for path in folder.iterdir()} == names
    for number, report in zip(("", "-2"), reports, strict=True):
        text = (folder / f"cudecomp-perf-report-transpose-aggregated-{suffix}{number}.csv").read_text().splitlines()
        assert "# gdims: 9 10 11" in text
        table = list(csv.DictReader(line for line in text if not line.startswith("#")))
        assert [row["operation"] for row in table] == list(OPERATIONS)
        for row, entry in zip(table, report.operations, strict=False):
            assert int(row["calls"]) == entry.calls
            assert float(row["mean_s"]) == pytest.approx(entry.mean, rel=1e-6)
            assert float(row["exchange_share"]) == pytest.approx(entry.exchange_share, rel=1e-6)
            assert row["input_padding"] == "0 0 0"
        text = (folder / f"cudecomp-perf-report-halo-aggregated-{suffix}{number}.csv").read_text().splitlines()
        (row,) = csv.DictReader(line for line in text if not line.startswith("#"))
        assert (row["dim"], row["halo_extents"], row["mean_s"]) == ("Y", "1 1 1", "")
        text = (folder / f"cudecomp-perf-report-transpose-samples-{suffix}{number}.csv").read_text().splitlines()
        table = list(csv.DictReader(line for line in text if not line.startswith("#")))
        assert [(row["rank"], row["sample"]) for row in table] == [("0", "0"), ("0", "1")] * 4


def test_a_folder_that_is_not_there(comm: MPI.Comm, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with (
        reporting(comm, WRITE_DIR=str(tmp_path / "absent")) as handle,
        handle.create_grid(make_config(comm.size)) as grid,
    ):
        transposes(grid, 1)
    errors = comm.allgather(capfd.readouterr().err)
    assert "cudecomp: cannot write the performance report" in errors[0]
    assert "No such file or directory" in errors[0]
    assert not any(errors[1:])


def test_off_by_default(comm: MPI.Comm, lines: Callable[[], list[str]]) -> None:
    for value in (None, "0"):
        with (
            environment(CUDECOMP_ENABLE_PERFORMANCE_REPORT=value),
            cudecomp.Handle(comm) as handle,
            handle.create_grid(make_config(comm.size)) as grid,
        ):
            transposes(grid, 1)
            text = "nothing is recorded: set CUDECOMP_ENABLE_PERFORMANCE_REPORT=1 on all ranks before the handle is"
            assert_raises_everywhere(comm, cudecomp.InvalidUsageError, text, grid.performance_report)
    assert lines() == []


def test_autotuning_is_not_recorded(comm: MPI.Comm) -> None:
    options = cudecomp.GridDescAutotuneOptions(n_trials=1, n_warmup_trials=0)
    with reporting(comm) as handle, handle.create_grid(cudecomp.GridDescConfig(gdims=GDIMS), options) as grid:
        assert grid.performance_report().operations == ()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CUDECOMP_ENABLE_PERFORMANCE_REPORT", "yes", 'is "yes", expected a number from 0 to 1'),
        ("CUDECOMP_PERFORMANCE_REPORT_DETAIL", "3", 'is "3", expected a number from 0 to 2'),
        ("CUDECOMP_PERFORMANCE_REPORT_SAMPLES", "0", 'is "0", expected a number from 1 to 2147483647'),
        ("CUDECOMP_PERFORMANCE_REPORT_WARMUP_SAMPLES", "-1", 'is "-1", expected a number from 0 to 2147483647'),
    ],
)
def test_malformed_variables(name: str, value: str, expected: str, comm: MPI.Comm) -> None:
    with environment(**{name: value if comm.rank == 0 else None}):
        text = f"{name} {expected}"
        assert_raises_everywhere(comm, cudecomp.InvalidUsageError, text, lambda: cudecomp.Handle(comm))


def test_variables_that_differ(comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("needs another rank")
    with environment(CUDECOMP_ENABLE_PERFORMANCE_REPORT="1" if comm.rank else "0"):
        text = "CUDECOMP_ENABLE_PERFORMANCE_REPORT differs between ranks: rank 0 has 0, rank 1 has 1"
        assert_raises_everywhere(comm, cudecomp.InvalidUsageError, text, lambda: cudecomp.Handle(comm))


def test_calls_that_fail_are_not_recorded(comm: MPI.Comm) -> None:
    with reporting(comm) as handle, handle.create_grid(make_config(comm.size)) as grid:
        array = np.zeros(grid.get_pencil_info(0, (50, 0, 0)).shape)
        with pytest.raises(cudecomp.InvalidUsageError):
            grid.update_halos_x(array, (50, 0, 0), (True, True, True), dim=0)
        assert grid.performance_report().operations == ()


def test_a_library_that_does_not_tell(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    with reporting(comm) as handle, handle.create_grid(make_config(comm.size)) as grid:
        monkeypatch.setattr("cudecomp._core._get_optional_symbol", lambda name: 0)
        text = "the loaded library is not the built-in engine and keeps its performance report to itself"
        assert_raises_everywhere(comm, cudecomp.NotSupportedError, text, grid.performance_report)
        monkeypatch.undo()
