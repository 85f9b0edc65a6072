# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m cudecomp bench`: figures, tables and pictures of times that are made up."""

import itertools

import numpy as np
import pytest

from cudecomp import GridDescConfig
from cudecomp._cli import barchart, bench, make_parser
from cudecomp._cli.arrays import Arrays
from cudecomp._cli.cells import Decomposition
from cudecomp._cli.timing import Timing

RESULTS = [
    bench.Result("x_to_y", "NumPy", Timing((0.004, 0.002, 0.003)), 6_000_000, limit=0.0015),
    bench.Result("copy", "NumPy", Timing((0.001, 0.002)), 6_000_000),
    bench.Result("x_to_y", "GridDesc.empty", Timing((0.002,)), 6_000_000, limit=0.0025),
    bench.Result("halos of x-pencils", "NumPy", Timing((0.0001,)), 12_000, limit=0.00001),
]


def parsed(*arguments):
    return make_parser().parse_args(["bench", "--grid", "16", "12", "8", *arguments])


def test_figures():
    result = RESULTS[0]
    assert (result.timing.median, result.timing.minimum) == (0.003, 0.002)
    assert result.bandwidth == pytest.approx(2e9)
    assert result.fraction == pytest.approx(0.5)
    assert RESULTS[1].fraction is None
    assert RESULTS[0].as_document() == {
        "operation": "x_to_y",
        "arrays": "NumPy",
        "timing": [0.004, 0.002, 0.003],
        "moved": 6_000_000,
        "limit": 0.0015,
        "median": 0.003,
        "minimum": 0.002,
        "bandwidth": pytest.approx(2e9),
        "fraction": pytest.approx(0.5),
    }


def test_table():
    assert bench.table_of(RESULTS).as_text() == (
        "operation           arrays          median ms  min ms  GB/s  of the copy\n"
        "x_to_y              NumPy               3.000   2.000  2.00         0.50\n"
        "copy                NumPy               1.500   1.000  4.00\n"
        "x_to_y              GridDesc.empty      2.000   2.000  3.00         1.25\n"
        "halos of x-pencils  NumPy               0.100   0.100  0.12         0.10"
    )


def test_configuration():
    options = parsed("--halo-backend", "MPI_BLOCKING", "--transpose-backend", "mpi_p2p_pl")
    assert bench.config_of(options, 6, Arrays(np)) == GridDescConfig(
        gdims=(16, 12, 8), pdims=(2, 3), halo_comm_backend=2, transpose_comm_backend=2
    )
    assert bench.config_of(parsed("--pdims", "6", "1"), 6, Arrays(np)).pdims.tolist() == [6, 1]


def test_title():
    config = bench.config_of(parsed(), 2, Arrays(np))
    assert bench.title_of(config, "float64", 2) == (
        "16 x 12 x 8 points of float64 on 1 x 2 ranks, transposes MPI_P2P, halos MPI"
    )


def test_picture():
    figure = barchart.draw("16 x 12 x 8 points, transposes MPI_P2P, halos MPI", RESULTS)
    assert [text.get_text() for text in figure.texts] == ["16 x 12 x 8 points", "transposes MPI_P2P, halos MPI"]
    (axes,) = figure.axes
    bars = [(bar.get_width(), bar.get_y()) for bar in axes.patches]
    assert [width for width, _ in bars] == pytest.approx([0.5, 1.25, 0.1])
    assert sorted(y for _, y in bars) == [y for _, y in bars]
    assert axes.get_xlim()[1] > 1.25
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x_to_y", "halos of x-pencils"]
    assert [text.get_text() for text in axes.texts] == ["3.000 ms, 2 GB/s", "2.000 ms, 3 GB/s", "0.100 ms, 0.12 GB/s"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["NumPy", "GridDesc.empty"]


def test_texts_of_the_picture_do_not_overlap():
    results = [
        bench.Result(name, arrays, Timing((0.123456,)), 10**11, 0.1)
        for name in ("x_to_y", "y_to_z", "z_to_y", "y_to_x", "halos of x-pencils", "halos of y-pencils")
        for arrays in ("NumPy", "GridDesc.empty")
    ]
    config = GridDescConfig(gdims=(4096, 4096, 4096), pdims=(128, 128), transpose_comm_backend=8, halo_comm_backend=5)
    figure = barchart.draw(bench.title_of(config, "complex128", 16384), results)
    figure.draw_without_rendering()
    (axes,), (legend,) = figure.axes, figure.legends
    texts = [*figure.texts, *axes.texts, *axes.get_yticklabels(), *axes.get_xticklabels(), axes.xaxis.label]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    boxes.append(("legend", legend.get_window_extent()))
    for name, box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, f"{name} is cut"
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, f"{name} is cut"
    assert not [(a, b) for (a, x), (b, y) in itertools.combinations(boxes, 2) if x.overlaps(y)]


@pytest.mark.parametrize("periods", list(itertools.product([False, True], repeat=3)))
def test_halo_cells(periods):
    decomposition = Decomposition((9, 10, 11), (2, 3))
    for axis, rank in itertools.product(range(3), range(6)):
        pencil = decomposition.pencil(axis, rank, (1, 2, 1))
        filled = pencil.values("float64", 0, range(3), periods) >= 0
        assert pencil.halo_cells(periods) == np.count_nonzero(filled) - np.count_nonzero(pencil.owned())


def test_slabs():
    assert bench._slabs((3, 4, 5)) == [slice(0, 3)]
    assert bench._slabs((5, 1024, 512)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert bench._slabs((2, 4096, 4096)) == [slice(0, 1), slice(1, 2)]
    assert bench._slabs((0, 4, 5)) == []


def test_values_of_some_rows():
    pencil = Decomposition((9, 10, 11), (1, 1), ((0, 1, 2), (1, 2, 0), (2, 0, 1))).pencil(1, 0, (1, 2, 1))
    everything = pencil.values("complex64", 3, range(3), (True, False, True))
    rows = [pencil.values("complex64", 3, range(3), (True, False, True), slice(i, i + 4)) for i in (0, 4, 8)]
    assert np.array_equal(np.concatenate(rows), everything)


def test_more_memory_than_there_are_addresses():
    with pytest.raises(MemoryError, match="an array of 1180591620717411303424 elements of float64: "):
        Arrays(np).flat(2**70, "float64")
