# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Autotuning: what is tried, what is skipped and why, one choice for all ranks, nothing left behind."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pickle
import sys
import types
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from mpi4py import MPI

import cudecomp
from cudecomp import AutotuneGridMode, AutotuneReport, DataType, HaloCommBackend, TransposeCommBackend
from cudecomp_bindings import cudecomp as bindings
from cudecomp_bindings._internal import cudecomp as loader
from tests import reference as ref
from tests.mpi.support import GDIMS, make_config, round_trip
from tests.parallel import assert_raises_everywhere, communicator, environment, same_everywhere

TRANSPOSE_BACKENDS = ["MPI_P2P", "MPI_P2P_PL", "MPI_A2A"]
HALO_BACKENDS = ["MPI", "MPI_BLOCKING"]
FOUR = ((0, 0, 0),) * 4

#: What is tuned: open process grid, transpose backend, halo backend.
WHAT = {
    "grid": (True, False, False),
    "transpose-backend": (False, True, False),
    "halo-backend": (False, False, True),
    "both-backends": (False, True, True),
    "grid-and-transposes": (True, True, False),
    "grid-and-halos": (True, False, True),
    "all": (True, True, True),
}


def make_options(**fields: object) -> cudecomp.GridDescAutotuneOptions:
    """Quick trials of everything, apart from what `fields` say."""
    defaults = {
        "n_warmup_trials": 0,
        "n_trials": 1,
        "autotune_transpose_backend": True,
        "autotune_halo_backend": True,
        "halo_extents": (1, 1, 1),
    }
    return cudecomp.GridDescAutotuneOptions(**{**defaults, **fields})


def open_config(**fields: object) -> cudecomp.GridDescConfig:
    return cudecomp.GridDescConfig(**{"gdims": GDIMS, **fields})


@contextlib.contextmanager
def tuned(
    handle: cudecomp.Handle, config: cudecomp.GridDescConfig, options: cudecomp.GridDescAutotuneOptions, **more: object
) -> Iterator[tuple[cudecomp.GridDesc, AutotuneReport]]:
    """An autotuned grid and its report, after checks of what every report must satisfy."""
    with handle.create_grid(config, options, **more) as grid:
        report = grid.autotune_report
        assert report is not None
        same_everywhere(handle.comm, (report.to_json(), config._texts()))
        assert grid.get_config() == config
        check_report(report, config, options)
        yield grid, report


def check_report(
    report: AutotuneReport, config: cudecomp.GridDescConfig, options: cudecomp.GridDescAutotuneOptions
) -> None:
    """The figures of a report fit each other, and the choice is the fastest."""
    chosen = report.chosen
    assert (chosen.pdims, chosen.transpose_comm_backend, chosen.halo_comm_backend) == (
        tuple(config.pdims.tolist()),
        config.transpose_comm_backend,
        config.halo_comm_backend,
    )
    assert report.options == options
    for candidate in report.candidates:
        assert (candidate.total is None) == (candidate.skipped is not None)
        if candidate.total is not None:
            assert candidate.total == pytest.approx(sum(t.weight * t.max for t in candidate.times.values()), rel=1e-6)
            # Medians over the trials of each figure are ordered as the figures are.
            assert all(0 <= t.min <= t.mean * (1 + 1e-6) <= t.max * (1 + 2e-6) for t in candidate.times.values())
    for kind in ("transpose", "halo"):
        group = [candidate for candidate in report.candidates if candidate.kind == kind]
        winners = [candidate for candidate in group if candidate.chosen]
        assert len(winners) == bool(group)
        for winner in winners:
            assert winner.pdims == chosen.pdims
            assert winner.backend in (chosen.transpose_comm_backend, chosen.halo_comm_backend)
            assert winner.total == min(candidate.total for candidate in group if candidate.total is not None)


def tried(report: AutotuneReport, kind: str) -> list[tuple[tuple[int, int], str]]:
    return [(c.pdims, c.backend.name) for c in report.candidates if c.kind == kind]


def skipped_grids(report: AutotuneReport, kind: str) -> set[tuple[int, int]]:
    return {c.pdims for c in report.candidates if c.kind == kind and c.skipped}


# --- what is chosen


@pytest.mark.parametrize("mode", AutotuneGridMode)
@pytest.mark.parametrize("what", WHAT)
def test_every_candidate_is_tried_and_the_result_works(
    handle: cudecomp.Handle, comm: MPI.Comm, what: str, mode: AutotuneGridMode
) -> None:
    grid_open, transposes_open, halos_open = WHAT[what]
    fixed = {
        "transpose_comm_backend": TransposeCommBackend.MPI_P2P_PL,
        "halo_comm_backend": HaloCommBackend.MPI_BLOCKING,
    }
    config = open_config(**fixed) if grid_open else make_config(comm.size, **fixed)
    before = config.copy()
    options = make_options(
        grid_mode=mode, autotune_transpose_backend=transposes_open, autotune_halo_backend=halos_open, halo_axis=2
    )
    with tuned(handle, config, options) as (grid, report):
        grids = ref.factorisations(comm.size) if grid_open else [tuple(before.pdims.tolist())]
        backends = {
            "transpose": TRANSPOSE_BACKENDS if transposes_open else ["MPI_P2P_PL"],
            "halo": HALO_BACKENDS if halos_open else ["MPI_BLOCKING"],
        }
        first = "halo" if grid_open and mode == AutotuneGridMode.HALO else "transpose"
        second = "halo" if first == "transpose" else "transpose"
        is_open = {"transpose": transposes_open, "halo": halos_open}
        assert tried(report, first) == (list(product(grids, backends[first])) if grid_open or is_open[first] else [])
        assert tried(report, second) == (
            list(product([report.chosen.pdims], backends[second])) if is_open[second] else []
        )
        # What the user has fixed is as it was.
        for name, text in before._texts().items():
            is_tuned = {
                "pdims": grid_open,
                "transpose_comm_backend": transposes_open,
                "halo_comm_backend": halos_open,
            }.get(name, False)
            assert is_tuned or config._texts()[name] == text, name
        round_trip(grid, comm)
    assert report.config == before


@pytest.mark.parametrize("kind", ["subset", "reversed"])
def test_other_communicators_and_rank_orders(world: MPI.Comm, kind: str) -> None:
    with communicator(world, kind) as comm:
        if comm == MPI.COMM_NULL:
            return
        with cudecomp.Handle(comm) as handle:
            config = open_config(rank_order=cudecomp.RankOrder.COL_MAJOR)
            with tuned(handle, config, make_options()) as (grid, _):
                round_trip(grid, comm)


def test_a_backend_that_is_chosen_may_hold_anything_before(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = make_config(
        comm.size, transpose_comm_backend=TransposeCommBackend.NVSHMEM, halo_comm_backend=HaloCommBackend(42)
    )
    with tuned(handle, config, make_options()) as (grid, _):
        assert config.transpose_comm_backend.name in TRANSPOSE_BACKENDS
        assert config.halo_comm_backend.name in HALO_BACKENDS
        round_trip(grid, comm)


def test_empty_pencils_and_an_uneven_distribution(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = open_config(gdims=(5, 2, 7), gdims_dist=(4, 1, 6))
    with tuned(handle, config, make_options(autotune_halo_backend=False)) as (grid, report):
        assert not skipped_grids(report, "transpose")
        round_trip(grid, comm)


# --- options


@pytest.mark.parametrize("dtype", DataType)
def test_halos_paddings_and_arrays_in_place(handle: cudecomp.Handle, comm: MPI.Comm, dtype: DataType) -> None:
    options = make_options(
        n_warmup_trials=1,
        n_trials=2,
        dtype=dtype,
        transpose_use_inplace_buffers=(True, False, True, True),
        transpose_input_halo_extents=((1, 0, 2), (0, 3, 0), (5, 5, 5), (0, 0, 0)),
        transpose_output_halo_extents=((2, 2, 2), (0, 0, 1), (0, 0, 0), (1, 1, 1)),
        transpose_input_padding=((0, 0, 1), (4, 0, 0), (0, 0, 0), (1, 2, 3)),
        transpose_output_padding=((3, 0, 0), (0, 0, 0), (0, 7, 0), (0, 0, 0)),
        halo_extents=(0, 1, 1),
        halo_periods=(True, True, False),
        halo_axis=1,
        halo_padding=(2, 0, 1),
    )
    with tuned(handle, open_config(transpose_axis_contiguous=(True, True, True)), options) as (_, report):
        for candidate in report.candidates:
            names = ["x_to_y", "y_to_z", "z_to_y", "y_to_x"] if candidate.kind == "transpose" else ["y", "z"]
            assert candidate.skipped or list(candidate.times) == names


def test_weights(handle: cudecomp.Handle) -> None:
    """An operation of weight 0 does not even run: it may be impossible."""
    huge = ((0, 0, 0), (0, 0, 0), (2**31 - 1,) * 3, (0, 0, 0))
    options = make_options(
        n_trials=3,
        autotune_halo_backend=False,
        transpose_op_weights=(2.5, 1, 0, 0),
        transpose_input_padding=huge,
        transpose_output_padding=huge,
    )
    with tuned(handle, open_config(), options) as (_, report):
        for candidate in report.candidates:
            assert {name: times.weight for name, times in candidate.times.items()} == {"x_to_y": 2.5, "y_to_z": 1}


def test_nothing_to_time_takes_the_first(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    options = make_options(transpose_op_weights=(0, 0, 0, 0), halo_extents=(0, 0, 0))
    with tuned(handle, open_config(), options) as (_, report):
        assert report.chosen.pdims == (1, comm.size)
        assert report.chosen.transpose_comm_backend.name == "MPI_P2P"
        assert report.chosen.halo_comm_backend.name == "MPI"
        assert {candidate.total for candidate in report.candidates} == {0.0}


def test_uneven_grids_can_be_left_out(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = open_config(gdims=(8, 8, 12))
    options = make_options(allow_uneven_decompositions=False)
    even = {(r, c) for r, c in ref.factorisations(comm.size) if 8 % r == 0 and 8 % c == 0 and 12 % c == 0}
    if not even:
        error = assert_raises_everywhere(
            comm,
            cudecomp.NotSupportedError,
            rf"^no valid candidate to autotune transposes with: pdims \(1, {comm.size}\): the points split unevenly, "
            "and allow_uneven_decompositions is false; pdims",
            lambda: handle.create_grid(config, options),
        )
        assert str(error).count("unevenly") == len(ref.factorisations(comm.size))
        assert config == open_config(gdims=(8, 8, 12))
        return
    with tuned(handle, config, options) as (_, report):
        assert skipped_grids(report, "transpose") == set(ref.factorisations(comm.size)) - even
        assert report.chosen.pdims in even


def test_uneven_grids_of_the_user_are_not_left_out(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    options = make_options(allow_uneven_decompositions=False)
    with tuned(handle, make_config(comm.size, gdims=(11, 11, 11)), options) as (_, report):
        assert not skipped_grids(report, "transpose")


@pytest.mark.parametrize("mode", AutotuneGridMode)
def test_halos_deeper_than_a_slab_are_skipped(handle: cudecomp.Handle, comm: MPI.Comm, mode: AutotuneGridMode) -> None:
    """In either mode: a grid that halo updates cannot run on is no choice where their backend is open."""
    options = make_options(grid_mode=mode, halo_axis=2, halo_extents=(3, 0, 0))
    with tuned(handle, open_config(gdims=(4, 16, 16)), options) as (_, report):
        kind = "halo" if mode == AutotuneGridMode.HALO else "transpose"
        expected = {pdims for pdims in ref.factorisations(comm.size) if pdims[0] > 1}
        assert skipped_grids(report, kind) == expected
        for candidate in report.candidates:
            if candidate.skipped:
                assert candidate.skipped.startswith("halo_extents[0] is 3, but the smallest local extent along X is ")


def test_no_valid_candidate(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    options = make_options(halo_extents=(10, 0, 0), halo_periods=(True, False, False), autotune_transpose_backend=False)
    config = make_config(comm.size)
    before = config.copy()
    assert_raises_everywhere(
        comm,
        cudecomp.NotSupportedError,
        r"^no valid candidate to autotune halos with: pdims .*: halo_extents\[0\] is 10, but the smallest local extent",
        lambda: handle.create_grid(config, options),
    )
    assert config == before
    with handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)


@pytest.mark.parametrize(
    ("padding", "reason"),
    [
        ((2**31 - 1, 0, 0), r"the X extent with halo and padding is \d+, expected at most 2147483647"),
        ((2**30,) * 3, r"the X-pencils with halo and padding have more than 2\^63 bytes"),
        ((2**17,) * 3, r"no memory for trial arrays of \d+ and \d+ bytes"),
    ],
)
def test_arrays_that_cannot_be(handle: cudecomp.Handle, comm: MPI.Comm, padding: object, reason: str) -> None:
    options = make_options(transpose_input_padding=(padding, *FOUR[1:]), transpose_op_weights=(1, 0, 0, 0))
    assert_raises_everywhere(
        comm, cudecomp.NotSupportedError, f"no valid.*{reason}", lambda: handle.create_grid(open_config(), options)
    )


def test_skip_threshold(handle: cudecomp.Handle) -> None:
    with tuned(handle, open_config(), make_options(skip_threshold=1e12)) as (_, report):
        for kind in ("transpose", "halo"):
            first, *others = (candidate for candidate in report.candidates if candidate.kind == kind)
            assert first.chosen
            for other in others:
                assert other.times == {}
                assert other.skipped.startswith("the first trial took ")
                assert "skip_threshold 1e+12 times that is above the best so far" in other.skipped
    with tuned(handle, open_config(), make_options(skip_threshold=1e-12)) as (_, report):
        assert not any(candidate.skipped for candidate in report.candidates)


@pytest.mark.parametrize("kind", ["transpose", "halo"])
def test_without_mpi_backends_nothing_is_left(handle: cudecomp.Handle, comm: MPI.Comm, kind: str) -> None:
    options = make_options(
        disable_mpi_backends=True, autotune_transpose_backend=kind == "transpose", autotune_halo_backend=kind == "halo"
    )
    assert_raises_everywhere(
        comm,
        cudecomp.InvalidUsageError,
        f"^no {kind} backend is left to choose from: disable_mpi_backends is set, and the built-in engine has only MPI",
        lambda: handle.create_grid(open_config(), options),
    )


def test_families_that_are_not_there_can_be_disabled(handle: cudecomp.Handle) -> None:
    options = make_options(disable_nccl_backends=True, disable_nvshmem_backends=True)
    with tuned(handle, open_config(), options) as (_, report):
        assert {c.backend.name for c in report.candidates} == {*TRANSPOSE_BACKENDS, *HALO_BACKENDS}


def test_disabled_families_do_not_concern_fixed_backends(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    options = make_options(disable_mpi_backends=True, autotune_transpose_backend=False, autotune_halo_backend=False)
    with tuned(handle, open_config(), options) as (grid, _):
        round_trip(grid, comm)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_trials", 2),
        ("grid_mode", AutotuneGridMode.HALO),
        ("skip_threshold", 0.5),
        ("transpose_op_weights", (1, 1, 1, 0.5)),
        ("transpose_use_inplace_buffers", (False, False, False, True)),
        ("transpose_output_padding", ((0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 0))),
        ("halo_periods", (False, True, False)),
        ("autotune_halo_backend", False),
    ],
)
def test_different_options(handle: cudecomp.Handle, comm: MPI.Comm, field: str, value: object) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    options = make_options(**({field: value} if comm.rank == comm.size - 1 else {}))
    assert_raises_everywhere(
        comm,
        ValueError,
        f"same on all ranks, but options.{field} is",
        lambda: handle.create_grid(open_config(), options),
    )


# --- environment


@pytest.mark.parametrize(
    ("variable", "value", "left"),
    [
        ("TRANSPOSE_BACKENDS", "MPI_A2A", ["MPI_A2A"]),
        ("TRANSPOSE_BACKENDS", "MPI_A2A,MPI_P2P", ["MPI_P2P", "MPI_A2A"]),
        ("TRANSPOSE_BACKENDS", "NCCL,MPI_P2P_PL,NVSHMEM_SM", ["MPI_P2P_PL"]),
        ("TRANSPOSE_BACKENDS", "^MPI_A2A", ["MPI_P2P", "MPI_P2P_PL"]),
        ("TRANSPOSE_BACKENDS", "^MPI_A2A,MPI_P2P,NCCL_PL", ["MPI_P2P_PL"]),
        ("TRANSPOSE_BACKENDS", "^NVSHMEM,NVSHMEM_PL", TRANSPOSE_BACKENDS),
        ("HALO_BACKENDS", "MPI_BLOCKING", ["MPI_BLOCKING"]),
        ("HALO_BACKENDS", "^MPI_BLOCKING", ["MPI"]),
        ("HALO_BACKENDS", "MPI,NCCL,NVSHMEM_BLOCKING", ["MPI"]),
    ],
)
def test_backend_filters(handle: cudecomp.Handle, variable: str, value: str, left: list[str]) -> None:
    kind = "halo" if "HALO" in variable else "transpose"
    with (
        environment(**{f"CUDECOMP_AUTOTUNE_{variable}": value}),
        tuned(handle, open_config(), make_options()) as (_, report),
    ):
        assert list(dict.fromkeys(name for _, name in tried(report, kind))) == left
        assert report.environment == {f"CUDECOMP_AUTOTUNE_{variable}": value}


@pytest.mark.parametrize(
    ("rows", "cols"),
    [("1,1", None), (None, "1,1"), ("0,2", None), ("2,8", None), ("1,4", "2,2147483647"), ("1,9", "0,3")],
)
def test_process_grid_ranges(handle: cudecomp.Handle, comm: MPI.Comm, rows: str | None, cols: str | None) -> None:
    def holds(text: str | None, value: int) -> bool:
        low, high = (int(bound) for bound in (text or "0,999999").split(","))
        return low <= value <= high

    left = [(r, c) for r, c in ref.factorisations(comm.size) if holds(rows, r) and holds(cols, c)]
    with environment(CUDECOMP_AUTOTUNE_P_ROW_RANGE=rows, CUDECOMP_AUTOTUNE_P_COL_RANGE=cols):
        if not left:
            assert_raises_everywhere(
                comm,
                cudecomp.InvalidUsageError,
                rf"^no process grid of {comm.size} ranks is left to choose from: CUDECOMP_AUTOTUNE_P_",
                lambda: handle.create_grid(open_config(), make_options()),
            )
            return
        with tuned(handle, open_config(), make_options()) as (_, report):
            assert list(dict.fromkeys(pdims for pdims, _ in tried(report, "transpose"))) == left


@pytest.mark.parametrize(
    "value", ["", "^", "MPI", "mpi_p2p", "MPI_P2P,", ",MPI_P2P", "MPI_P2P;MPI_A2A", " MPI_P2P", "ERROR"]
)
def test_malformed_backend_filters(handle: cudecomp.Handle, comm: MPI.Comm, value: str) -> None:
    with environment(CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS=value):
        error = assert_raises_everywhere(
            comm,
            cudecomp.InvalidUsageError,
            "is no transpose backend; expected a comma list without spaces of MPI_P2P, MPI_P2P_PL, MPI_A2A, .*\\^",
            lambda: handle.create_grid(open_config(), make_options()),
        )
        assert str(error).startswith(f'CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS is "{value}", but "')
    with handle.create_grid(make_config(comm.size)) as grid:
        round_trip(grid, comm)


@pytest.mark.parametrize("variable", ["CUDECOMP_AUTOTUNE_P_ROW_RANGE", "CUDECOMP_AUTOTUNE_P_COL_RANGE"])
@pytest.mark.parametrize(
    "value", ["", "2", "1,2,3", "a,b", "1,", ",1", "2,1", "-1,2", "0,0", "1;2", "1, 2", "1,2x", "1,99999999999"]
)
def test_malformed_ranges(handle: cudecomp.Handle, comm: MPI.Comm, variable: str, value: str) -> None:
    with environment(**{variable: value}):
        assert_raises_everywhere(
            comm,
            cudecomp.InvalidUsageError,
            f'^{variable} is "{value}", expected "min,max" without spaces, 0 <= min <= max and max of 1 or more$',
            lambda: handle.create_grid(open_config(), make_options()),
        )


@pytest.mark.parametrize(
    ("variable", "value", "kind", "left"),
    [
        ("TRANSPOSE_BACKENDS", "NCCL,NVSHMEM", "transpose", "MPI_P2P, MPI_P2P_PL, MPI_A2A"),
        ("TRANSPOSE_BACKENDS", "^MPI_P2P,MPI_P2P_PL,MPI_A2A", "transpose", "MPI_P2P, MPI_P2P_PL, MPI_A2A"),
        ("HALO_BACKENDS", "NVSHMEM", "halo", "MPI, MPI_BLOCKING"),
    ],
)
def test_filters_that_leave_nothing(
    handle: cudecomp.Handle, comm: MPI.Comm, variable: str, value: str, kind: str, left: str
) -> None:
    with environment(**{f"CUDECOMP_AUTOTUNE_{variable}": value}):
        error = assert_raises_everywhere(
            comm,
            cudecomp.InvalidUsageError,
            f"^no {kind} backend is left to choose from: ",
            lambda: handle.create_grid(open_config(), make_options()),
        )
    assert str(error).endswith(f'CUDECOMP_AUTOTUNE_{variable} is "{value}", and the built-in engine has {left}')


def test_filters_apply_only_to_what_is_tuned(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    nonsense = dict.fromkeys(
        (f"CUDECOMP_AUTOTUNE_{name}" for name in ("HALO_BACKENDS", "P_ROW_RANGE", "P_COL_RANGE")), "nonsense"
    )
    with environment(**nonsense):
        options = make_options(autotune_halo_backend=False)
        with tuned(handle, make_config(comm.size), options) as (_, report):
            assert report.environment == {}
        with handle.create_grid(make_config(comm.size)) as grid:
            assert grid.autotune_report is None
            round_trip(grid, comm)


def test_different_environments(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    value = "MPI" if comm.rank == comm.size - 1 else None
    with environment(CUDECOMP_AUTOTUNE_HALO_BACKENDS=value):
        assert_raises_everywhere(
            comm,
            ValueError,
            "^create_grid must get the same on all ranks, but the environment variable CUDECOMP_AUTOTUNE_HALO_BACKENDS "
            f"is .*'MPI' on rank {comm.size - 1}",
            lambda: handle.create_grid(open_config(), make_options()),
        )
    with tuned(handle, open_config(), make_options()) as (grid, _):
        round_trip(grid, comm)


# --- the C interface


@pytest.fixture
def low_level(comm: MPI.Comm) -> Iterator[int]:
    handle = bindings.init_f(comm.py2f())
    yield handle
    bindings.finalize(handle)


def test_through_the_c_interface(low_level: int, comm: MPI.Comm) -> None:
    address = loader._get_optional_symbol("cudecompBuiltinGetAutotuneReport")
    get_report = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(address)
    config = open_config()._struct
    grid = bindings.grid_desc_create(low_level, config, make_options()._struct)
    report = json.loads(get_report(grid))
    same_everywhere(comm, report)
    assert report["engine"] == "builtin"
    assert report["ranks"] == comm.size
    assert report["tuned"] == {"pdims": True, "transpose_comm_backend": True, "halo_comm_backend": True}
    assert report["chosen"]["pdims"] == list(config.pdims)
    assert bindings.get_grid_desc_config(low_level, grid) == config
    bindings.grid_desc_destroy(low_level, grid)

    grid = bindings.grid_desc_create(low_level, make_config(comm.size)._struct)
    assert get_report(grid) == b"null"
    bindings.grid_desc_destroy(low_level, grid)
    assert get_report(None) == b"null"


def test_the_engine_finds_different_environments_itself(low_level: int, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    with environment(CUDECOMP_AUTOTUNE_P_ROW_RANGE="1,1" if comm.rank == 1 else None):
        assert_raises_everywhere(
            comm,
            bindings.cuDecompError,
            "^.*on rank 1: CUDECOMP_AUTOTUNE_.* variables differ between ranks: rank 0 has nothing, rank 1 has "
            'CUDECOMP_AUTOTUNE_P_ROW_RANGE is "1,1"; set them alike',
            lambda: bindings.grid_desc_create(low_level, open_config()._struct, make_options()._struct),
        )


@pytest.mark.parametrize(
    ("field", "value"), [("skip_threshold", float("inf")), ("transpose_op_weights", (1, float("nan"), 1, 1))]
)
def test_the_engine_refuses_figures_that_are_not_finite(
    low_level: int, comm: MPI.Comm, field: str, value: object
) -> None:
    options = make_options(**{field: value})
    assert_raises_everywhere(
        comm,
        bindings.cuDecompError,
        rf"{field}.*, expected a finite number of 0 or more",
        lambda: bindings.grid_desc_create(low_level, open_config()._struct, options._struct),
    )


# --- reports


def test_reports_survive_json_and_pickle(handle: cudecomp.Handle) -> None:
    options = make_options(skip_threshold=1e12, transpose_op_weights=(1, 0.1, 1 / 3, 1))
    with tuned(handle, open_config(), options) as (_, report):
        pass
    assert AutotuneReport.from_json(report.to_json()) == report
    assert pickle.loads(pickle.dumps(report)) == report
    table = str(report)
    assert table == report.table()
    assert table.count("\n*") == 2
    assert table.count("skipped: the first trial") == sum(c.skipped is not None for c in report.candidates)
    assert len(table.splitlines()) == len(report.candidates) + 5  # a headline; an empty line and a head per kind


def test_a_report_replaces_measuring(handle: cudecomp.Handle, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    with tuned(handle, open_config(), make_options()) as (_, report):
        pass
    bars = use_fake_tqdm(monkeypatch)
    with tuned(handle, open_config(), make_options(), report=report, progress=True) as (grid, again):
        assert again is report
        round_trip(grid, comm)
    assert not bars, "nothing was measured"
    # It is the report that decides: one that has chosen differently is followed.
    other = json.loads(report.to_json())
    other["chosen"]["transpose_comm_backend"] = "MPI_P2P_PL"
    other["chosen"]["pdims"] = [comm.size, 1]
    other_report = AutotuneReport.from_json(json.dumps(other))
    config = open_config(transpose_comm_backend=TransposeCommBackend.NCCL)  # a backend that is chosen does not matter
    with handle.create_grid(config, make_options(), report=other_report) as grid:
        assert config.pdims.tolist() == [comm.size, 1]
        assert config.transpose_comm_backend.name == "MPI_P2P_PL"
        assert grid.autotune_report is other_report
        round_trip(grid, comm)


def changed(report: AutotuneReport, *path: str, value: object) -> AutotuneReport:
    document = json.loads(report.to_json())
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return AutotuneReport.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("ranks",), 1000, r"the number of ranks is \d+, but the report was made with 1000"),
        (("config", "gdims"), [7, 7, 7], r"config.gdims is \(9, 10, 11\), but the report was made with \(7, 7, 7\)"),
        (("config", "halo_comm_backend"), 2, r"config.halo_comm_backend is HaloCommBackend.MPI, but .*MPI_BLOCKING"),
        (("options", "n_trials"), 77, r"options.n_trials is 1, but the report was made with 77"),
        (
            ("environment",),
            {"CUDECOMP_AUTOTUNE_P_ROW_RANGE": "1,8"},
            r"CUDECOMP_AUTOTUNE_P_ROW_RANGE is unset, but .*'1,8'",
        ),
        (
            ("machine", "library"),
            "builtin 0.0.1",
            r"the library is builtin .*, but .* made with builtin 0.0.1",
        ),
        (("machine", "mpi"), "LAM/MPI 7.1", r"the MPI library is .*, but the report was made with LAM/MPI 7.1"),
        (("machine", "cpus"), ["Z80"], r"the processor is .*, but the report was made with Z80"),
        (("machine", "placement"), [[0, 1], [1, 1000]], r"the placement of ranks on nodes is \(\(0, \d+\),\), but"),
    ],
)
def test_a_report_that_does_not_fit(
    handle: cudecomp.Handle, comm: MPI.Comm, path: tuple[str, ...], value: object, text: str
) -> None:
    options = make_options(autotune_halo_backend=False)
    with tuned(handle, open_config(), options) as (_, report):
        pass
    wrong = changed(report, *path, value=value)
    config = open_config()
    assert_raises_everywhere(
        comm,
        cudecomp.InvalidUsageError,
        f"^report does not fit: {text}.*; leave report out to measure anew$",
        lambda: handle.create_grid(config, options, report=wrong),
    )
    assert config == open_config()
    with handle.create_grid(config, options, report=changed(report, "machine", "hosts", value=["elsewhere"])):
        pass


def test_a_report_for_other_arguments(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = open_config()
    with tuned(handle, config, make_options()) as (_, report):
        pass
    for arguments, text in [
        ((config, make_options()), r"config.pdims is \(\d, \d\), but the report was made with \(0, 0\)"),
        ((make_config(comm.size), None), r"options is None, but the report was made with GridDescAutotuneOptions\("),
    ]:
        assert_raises_everywhere(
            comm,
            cudecomp.InvalidUsageError,
            f"^report does not fit: {text}",
            lambda arguments=arguments: handle.create_grid(*arguments, report=report),
        )
    assert_raises_everywhere(
        comm,
        TypeError,
        "^report must be an AutotuneReport or None, got '.*' of type str; AutotuneReport.from_json makes one",
        lambda: handle.create_grid(open_config(), make_options(), report=report.to_json()),
    )


def test_different_reports(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("one rank agrees with itself")
    with tuned(handle, open_config(), make_options()) as (_, report):
        pass
    mine = changed(report, "seconds", value=1000.0 + (comm.rank == 0))
    assert_raises_everywhere(
        comm,
        ValueError,
        "^create_grid must get the same on all ranks, but report is one with digest .* on rank 0",
        lambda: handle.create_grid(open_config(), make_options(), report=mine),
    )
    only_here = report if comm.rank == 0 else None
    assert_raises_everywhere(
        comm,
        ValueError,
        "same on all ranks, but report is one with digest .* on rank 0, not given on rank",
        lambda: handle.create_grid(open_config(), make_options(), report=only_here),
    )


# --- progress


class FakeBar:
    """What tqdm.tqdm is used for."""

    fails: type[BaseException] | None = None

    def __init__(self, made: list[FakeBar], total: int) -> None:
        made.append(self)
        self.total, self.n, self.texts, self.closed = total, 0, [], False

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        if self.fails is not None:
            raise self.fails("the display is gone")
        self.texts.append(text)

    def update(self, n: int) -> None:
        self.n += n

    def refresh(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def use_fake_tqdm(monkeypatch: pytest.MonkeyPatch) -> list[FakeBar]:
    """Puts a recorder in the place of tqdm; returns the bars made, as they are made."""
    made: list[FakeBar] = []
    module = types.ModuleType("tqdm")
    module.tqdm = lambda total, **_: FakeBar(made, total)
    monkeypatch.setitem(sys.modules, "tqdm", module)
    return made


def test_progress_is_shown_on_rank_0(handle: cudecomp.Handle, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = use_fake_tqdm(monkeypatch)
    chosen = []
    for _ in range(2):
        with tuned(handle, open_config(), make_options(), progress=True) as (_, report):
            chosen.append(
                f"{report.chosen.pdims[0]} x {report.chosen.pdims[1]} {report.chosen.transpose_comm_backend.name}"
            )
        with tuned(handle, open_config(), make_options()):  # silent again
            pass
    assert len(bars) == (2 if comm.rank == 0 else 0)
    for bar, best in zip(bars, chosen, strict=False):
        assert bar.closed
        assert bar.texts.count(best) == 3, "what may be best is tried again"
        assert bar.n == bar.total == 3 * len(report.candidates), "a preparation, a trial, and another if it may be best"
        assert bar.texts[0] == f"1 x {comm.size} MPI_P2P"
        assert 2 * len(report.candidates) < len(bar.texts) <= bar.total + 1


def test_no_progress_where_nothing_is_tuned(
    handle: cudecomp.Handle, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = use_fake_tqdm(monkeypatch)
    with handle.create_grid(make_config(comm.size), progress=True) as grid:
        assert grid.autotune_report is None
    assert not bars


def test_progress_without_tqdm(handle: cudecomp.Handle, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None if comm.rank == 0 else types.ModuleType("tqdm"))
    assert_raises_everywhere(
        comm,
        ImportError,
        "^(on rank 0: )?progress=True needs tqdm, which cannot be imported; pip install tqdm$",
        lambda: handle.create_grid(open_config(), make_options(), progress=True),
    )
    assert_raises_everywhere(
        comm,
        TypeError,
        "^progress takes True or False, got 1 of type int",
        lambda: handle.create_grid(open_config(), make_options(), progress=1),
    )


def test_a_display_that_fails_stops_nothing(
    handle: cudecomp.Handle, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_tqdm(monkeypatch)
    monkeypatch.setattr(FakeBar, "fails", OSError)
    expected = (
        pytest.warns(RuntimeWarning, match="the progress of autotuning could not be shown: the display is gone")
        if comm.rank == 0
        else contextlib.nullcontext()
    )
    with expected, tuned(handle, open_config(), make_options(), progress=True) as (grid, _):
        round_trip(grid, comm)


# --- nothing is left behind


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("ranks_per_node", [None, "1"], ids=["shared memory", "MPI"])
def test_memory_goes_back(comm: MPI.Comm, ranks_per_node: str | None) -> None:
    """The trials need arrays, and through MPI workspace, of several times 16 MiB over all ranks; none of it stays."""
    config = make_config(comm.size, gdims=(128, 128, 128))
    options = make_options()
    with environment(CUDECOMP_BUILTIN_RANKS_PER_NODE=ranks_per_node):
        with cudecomp.Handle(comm) as handle, tuned(handle, config.copy(), options):
            pass  # what MPI and NumPy keep for themselves from now on
        with cudecomp.Handle(comm) as handle:
            if ranks_per_node is None:  # buffers between neighbours stay as long as the handle
                with tuned(handle, config.copy(), options):
                    pass
            before = resident_bytes()
            with tuned(handle, config, options):
                grown = resident_bytes() - before
            assert max(comm.allgather(grown)) < 2 << 20
