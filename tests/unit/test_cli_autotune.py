# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m cudecomp autotune`: from arguments to options, tables and heat maps of reports that are made up."""

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from cudecomp import (
    AutotuneCandidate,
    AutotuneChoice,
    AutotuneMachine,
    AutotuneReport,
    AutotuneTimes,
    DataType,
    GridDescAutotuneOptions,
    GridDescConfig,
    HaloCommBackend,
    TransposeCommBackend,
)
from cudecomp._cli import arguments, autotune, heatmap, make_parser
from cudecomp._cli.arrays import Arrays
from cudecomp._cli.launch import CommandError

GRID = ["autotune", "--grid", "16", "12", "8"]


def parsed(*arguments):
    return make_parser().parse_args([*GRID, *arguments])


TUNINGS = {
    "": {"autotune_transpose_backend": True},
    "--halo-extents 1 1 0": {"autotune_halo_backend": True, "halo_extents": (1, 1, 0)},
    "--halo-extents 1 1 0 --halo-backend MPI": {"halo_extents": (1, 1, 0)},
    "--transpose-backend mpi_a2a": {"autotune_transpose_backend": False},
    "--mode halo --halo-extents 1 1 1 --halo-periods x z --halo-axis y --halo-padding 0 1 0": {
        "grid_mode": 1,
        "autotune_halo_backend": True,
        "halo_extents": (1, 1, 1),
        "halo_periods": (True, False, True),
        "halo_axis": 1,
        "halo_padding": (0, 1, 0),
    },
    "--halo-extents 1 1 1 --halo-periods": {
        "autotune_halo_backend": True,
        "halo_extents": (1, 1, 1),
        "halo_periods": (True, True, True),
    },
    "--dtype complex64 --trials 7 --warmup 0 --skip-threshold 0.5": {
        "dtype": DataType.FLOAT_COMPLEX,
        "n_trials": 7,
        "n_warmup_trials": 0,
        "skip_threshold": 0.5,
    },
    "--even-only --disable nccl nvshmem": {
        "allow_uneven_decompositions": False,
        "disable_nccl_backends": True,
        "disable_nvshmem_backends": True,
    },
    "--disable mpi": {"disable_mpi_backends": True},
    "--weights 1 2 0.5 0": {"transpose_op_weights": (1, 2, 0.5, 0)},
    "--in-place": {"transpose_use_inplace_buffers": (True, True, True, True)},
    "--in-place y_to_z y_to_x": {"transpose_use_inplace_buffers": (False, True, False, True)},
    "--input-halo-extents 1 0 2 --output-padding 0 0 1": {
        "transpose_input_halo_extents": ((1, 0, 2),) * 4,
        "transpose_output_padding": ((0, 0, 1),) * 4,
    },
    "--output-halo-extents 1 2 3 4 5 6 7 8 9 10 11 12 --input-padding 1 2 3": {
        "transpose_output_halo_extents": ((1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12)),
        "transpose_input_padding": ((1, 2, 3),) * 4,
    },
}


@pytest.mark.parametrize("words", TUNINGS)
def test_arguments_become_options(words):
    fields = {"autotune_transpose_backend": True, **TUNINGS[words]}
    assert autotune.tuning_of(parsed(*words.split())) == GridDescAutotuneOptions(**fields)


def test_every_option_has_an_argument():
    """Of the options of autotuning, none is left out."""
    set_by_tests = {name for fields in TUNINGS.values() for name in fields}
    assert set_by_tests == set(GridDescAutotuneOptions._fields)


def test_arguments_become_a_configuration():
    def config_of(arrays, *words):
        options = parsed(*words)
        config = arguments.config_of(options)
        arguments.set_backends(config, options, arrays)
        return config

    on_host, on_gpus, on_one_gpu = Arrays(np), Arrays(SimpleNamespace()), Arrays(SimpleNamespace(), own_gpu=False)
    assert config_of(on_host) == config_of(on_one_gpu) == GridDescConfig(gdims=(16, 12, 8))
    assert config_of(on_gpus) == GridDescConfig(gdims=(16, 12, 8), transpose_comm_backend=4, halo_comm_backend=3)
    words = ["--pdims", "2", "3", "--transpose-backend", "MPI_A2A", "--halo-backend", "MPI_BLOCKING"]
    expected = GridDescConfig(gdims=(16, 12, 8), pdims=(2, 3), transpose_comm_backend=3, halo_comm_backend=2)
    assert config_of(on_host, *words) == config_of(on_gpus, *words) == expected


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--mode halo", "--mode halo needs --halo-extents, the halo to measure with"),
        ("--halo-backends MPI", "--halo-backends needs --halo-extents"),
        ("--input-padding 1 2", "--input-padding takes 3 numbers, or 12, three for each transpose; got 2"),
    ],
)
def test_arguments_that_do_not_go_together(words, text):
    with pytest.raises(CommandError) as caught:
        autotune.tuning_of(parsed(*words.split()))
    assert str(caught.value).startswith(text)
    assert caught.value.code == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--backends MPI_XYZ", "argument --backends: 'MPI_XYZ' is none of MPI_P2P, MPI_P2P_PL, MPI_A2A, NCCL"),
        ("--in-place x_to_z", "argument --in-place: invalid choice: 'x_to_z'"),
        ("--trials 0", "argument --trials: 0 is less than 1"),
        (
            "--save /no/such/folder/report.json",
            "argument --save: '/no/such/folder/report.json' is in a folder that does",
        ),
    ],
)
def test_mistakes(words, text, capsys, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("OMPI_COMM_WORLD", "PMI"))]:
        monkeypatch.delenv(name)
    with pytest.raises(SystemExit) as caught:
        parsed(*words.split())
    assert caught.value.code == 2
    assert text in capsys.readouterr().err


def test_filters(monkeypatch):
    monkeypatch.setenv("CUDECOMP_AUTOTUNE_P_ROW_RANGE", "1,2")
    monkeypatch.setenv("CUDECOMP_AUTOTUNE_HALO_BACKENDS", "^MPI")
    monkeypatch.delenv("CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS", raising=False)
    options = parsed("--backends", "mpi_a2a", "MPI_P2P", "--rows", "2", "4")
    with autotune.filters(options):
        assert os.environ["CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS"] == "MPI_A2A,MPI_P2P"
        assert os.environ["CUDECOMP_AUTOTUNE_P_ROW_RANGE"] == "2,4"
        assert os.environ["CUDECOMP_AUTOTUNE_HALO_BACKENDS"] == "^MPI"
    assert os.environ["CUDECOMP_AUTOTUNE_P_ROW_RANGE"] == "1,2"
    assert "CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS" not in os.environ


def candidate(kind, pdims, backend, milliseconds, **fields):
    times = {} if milliseconds is None else {"x": AutotuneTimes(0.1, 0.2, milliseconds / 1e3)}
    total = None if milliseconds is None else milliseconds / 1e3
    return AutotuneCandidate(kind, pdims, backend, times, total, **fields)


A2A, P2P = TransposeCommBackend.MPI_A2A, TransposeCommBackend.MPI_P2P
CANDIDATES = (
    candidate("transpose", (1, 4), P2P, 2.0),
    candidate("transpose", (1, 4), A2A, 1.0, chosen=True),
    candidate("transpose", (2, 2), P2P, 3.0),
    candidate("transpose", (2, 2), A2A, None, skipped="the halo is too deep"),
    candidate("halo", (1, 4), HaloCommBackend.MPI, 0.5, chosen=True),
)
REPORT = AutotuneReport(
    chosen=AutotuneChoice((1, 4), A2A, HaloCommBackend.MPI),
    candidates=CANDIDATES,
    ranks=4,
    seconds=1.5,
    config=GridDescConfig(gdims=(16, 12, 8)),
    options=GridDescAutotuneOptions(dtype=DataType.FLOAT),
    environment={},
    machine=AutotuneMachine("builtin 0.1.0", "Open MPI 5.0.11", ("AMD EPYC",), ((0, 4),), ("node7",)),
)


def test_table():
    assert autotune.table_of("transpose", list(CANDIDATES[:4])).as_text() == (
        "grid   transpose backend                                 total      x\n"
        "1 x 4  MPI_P2P                                           2.000  2.000\n"
        "1 x 4  MPI_A2A            chosen                         1.000  1.000\n"
        "2 x 2  MPI_P2P                                           3.000  3.000\n"
        "2 x 2  MPI_A2A            skipped: the halo is too deep      -      -"
    )


def test_heat_map():
    figure = heatmap.draw(REPORT)
    transposes, halos, *_ = figure.axes
    assert [text.get_text() for text in transposes.texts] == ["2", "1", "3", "skipped"]
    assert [text.get_text() for text in halos.texts] == ["0.5"]
    assert [label.get_text() for label in transposes.get_xticklabels()] == ["MPI_P2P", "MPI_A2A"]
    assert [label.get_text() for label in transposes.get_yticklabels()] == ["1 x 4", "2 x 2"]
    (image,) = transposes.images
    assert np.array_equal(image.get_array().filled(-1), [[2, 1], [3, -1]])
    (frame,) = [patch for patch in transposes.patches if isinstance(patch, Rectangle)]
    assert (frame.get_x() + frame.get_width() / 2, frame.get_y() + frame.get_height() / 2) == pytest.approx((1, 0))
    assert figure.texts[0].get_text() == "16 x 12 x 8 points of float32 on 4 ranks"


def test_colors_do_not_make_small_differences_large():
    assert heatmap.color_range(np.array([1.0, 1.01, np.nan])) == (1.0, 1.5)
    assert heatmap.color_range(np.array([1.0, 4.0])) == (1.0, 4.0)
    assert heatmap.color_range(np.array([np.nan])) == (0.0, 1.0)
    assert heatmap.color_range(np.array([0.0, 0.0])) == (0.0, 1.0)


@pytest.mark.parametrize("wide", [False, True])
def test_texts_of_the_heat_map_do_not_overlap(wide):
    report = REPORT
    if wide:
        entries = [
            candidate("transpose", (1 << row, 128 >> row), backend, 10.0 + row, chosen=row == 1 and backend == 4)
            for row in range(8)
            for backend in TransposeCommBackend
        ]
        entries += [candidate("halo", (2, 64), backend, 123.0) for backend in HaloCommBackend]
        report = AutotuneReport(**{**vars(REPORT), "candidates": tuple(entries)})
    figure = heatmap.draw(report)
    figure.draw_without_rendering()
    texts = list(figure.texts)
    for axes in figure.axes:
        texts += [*axes.texts, *axes.get_xticklabels(), *axes.get_yticklabels(), axes.title, axes._left_title]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text() and text.get_visible()]
    for name, box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, f"{name} is cut"
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, f"{name} is cut"
    assert not [(a, b) for (a, x), (b, y) in itertools.combinations(boxes, 2) if x.overlaps(y)]
