# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m cudecomp plot-decomposition`: the picture has what it should, where it should."""

import itertools
import sys

import matplotlib.figure
import matplotlib.image
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Polygon

from cudecomp import GridDescConfig, InvalidUsageError
from cudecomp._cli import main, plot

CONFIG = GridDescConfig(gdims=(16, 12, 8), pdims=(2, 3))


def faces(axes):
    return [patch for patch in axes.patches if isinstance(patch, Polygon)]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def figure_texts(figure):
    return [text.get_text() for text in figure.texts]


def test_each_pencil_has_three_faces():
    figure = plot.draw(CONFIG)
    panels = figure.axes
    assert len(panels) == 3
    assert [len(faces(axes)) for axes in panels] == [3 * 6] * 3


def test_colors_are_those_of_the_ranks():
    """Of each face of the X-pencils: the one that looks at the reader has the plain colour, the others are shaded."""
    colors = plot.rank_colors(matplotlib, 6)
    panel = plot.draw(CONFIG).axes[0]
    seen = {to_hex(patch.get_facecolor()) for patch in faces(panel)}
    for color in colors:
        assert {to_hex(plot.shaded(color, shade)) for shade in plot.SHADES} <= seen
    assert len(seen) == 18
    assert len({to_hex(color) for color in plot.rank_colors(matplotlib, 100)}) > 60


@pytest.mark.parametrize("axis", range(3))
def test_faces_cover_the_visible_sides(axis):
    """The front, the right and the top of the grid, from the pencils that reach them, but for the gaps."""
    layout = plot.layouts(CONFIG)[axis]
    panel = plot.draw(CONFIG).axes[axis]
    view = plot.View(CONFIG.gdims.tolist())
    corners = [point for face in faces(panel) for point in face.get_xy()]
    low, high = (tuple(function(c[i] for c in corners) for i in range(2)) for function in (min, max))
    assert low == pytest.approx((0, 0), abs=0.03)
    assert high == pytest.approx((view.width, view.height), abs=0.03)
    assert len(layout.boxes) == 6


@pytest.mark.parametrize(("axis", "order"), [(0, "345012"), (1, "031425"), (2, "251403")])
def test_nearer_pencils_cover_those_behind(axis, order):
    """Drawn from the back to the front, from below to above, from the left to the right; so are their numbers."""
    assert "".join(texts(plot.draw(CONFIG).axes[axis])[:6]) == order


def test_numbers_of_ranks_and_scales():
    first, second, third = plot.draw(CONFIG).axes
    ranks = [str(rank) for rank in range(6)]
    assert sorted(texts(first)[:6]) == ranks
    assert texts(first)[6:] == ["0", "16", "X", "6", "12", "Y", "0", "3", "6", "8", "Z"]
    assert texts(second)[6:] == ["0", "8", "16", "X", "12", "Y", "0", "3", "6", "8", "Z"]
    assert texts(third)[6:] == ["0", "8", "16", "X", "4", "8", "12", "Y", "0", "8", "Z"]


def test_words():
    config = CONFIG.copy()
    config.transpose_axis_contiguous = (False, True, False)
    words = figure_texts(plot.draw(config))
    assert words[0::2] == [
        "X-pencils",
        "Y-pencils",
        "Z-pencils",
        "16 x 12 x 8 points on 2 x 3 ranks (rows x columns)",
    ]
    assert words[1] == (
        "each rank has all of X\nY over 2 rows, Z over 3 columns\nfastest in memory first: X, Y, Z\n"
        "array axes (Z, Y, X), rank 0: (3, 6, 16)"
    )
    assert words[3] == (
        "each rank has all of Y\nX over 2 rows, Z over 3 columns\nfastest in memory first: Y, Z, X\n"
        "array axes (X, Z, Y), rank 0: (8, 3, 12)"
    )
    assert words[5].startswith("each rank has all of Z\nX over 2 rows, Y over 3 columns")


def test_legend_tells_rows_and_columns():
    by_rows = ["0 (0, 0)", "1 (0, 1)", "2 (0, 2)", "3 (1, 0)", "4 (1, 1)", "5 (1, 2)"]
    (legend,) = plot.draw(CONFIG).legends
    assert [text.get_text() for text in legend.get_texts()] == by_rows
    config = CONFIG.copy()
    config.rank_order = 2
    (legend,) = plot.draw(config).legends
    by_columns = ["0 (0, 0)", "1 (1, 0)", "2 (0, 1)", "3 (1, 1)", "4 (0, 2)", "5 (1, 2)"]
    assert [text.get_text() for text in legend.get_texts()] == by_columns


def test_default_rank_order_is_that_of_the_environment(monkeypatch):
    monkeypatch.setenv("CUDECOMP_USE_COL_MAJOR_RANK_ORDER", "1")
    assert plot.is_col_major(CONFIG)
    monkeypatch.delenv("CUDECOMP_USE_COL_MAJOR_RANK_ORDER")
    assert not plot.is_col_major(CONFIG)


def test_many_ranks_get_a_bar_instead_of_a_legend():
    figure = plot.draw(GridDescConfig(gdims=(512, 512, 512), pdims=(8, 16)))
    assert not figure.legends
    assert len(figure.axes) == 4
    assert [len(faces(axes)) for axes in figure.axes[:3]] == [3 * 128] * 3
    assert figure.axes[3].get_xlabel() == "rank, numbered along the rows of the process grid"


def test_ranks_with_nothing_are_counted_and_not_drawn():
    figure = plot.draw(GridDescConfig(gdims=(3, 100, 1000), pdims=(5, 2)))
    assert [len(faces(axes)) for axes in figure.axes] == [30, 18, 18]
    assert [words.endswith("\n4 ranks with nothing") for words in figure_texts(figure)[1::2]] == [False, True, True]


@pytest.mark.parametrize(
    ("gdims", "pdims"),
    [((16, 12, 8), (2, 3)), ((256, 256, 256), (4, 4)), ((3, 100, 1000), (5, 2)), ((5, 5, 5), (1, 1))],
)
def test_texts_do_not_overlap(gdims, pdims):
    figure = plot.draw(GridDescConfig(gdims=gdims, pdims=pdims))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    boxes = [(text.get_text(), text.get_window_extent()) for axes in figure.axes for text in axes.texts]
    boxes += [(text.get_text(), text.get_window_extent()) for text in figure.texts]
    boxes.append(("legend", legend.get_window_extent()))
    page = figure.bbox
    for name, box in boxes:
        assert page.x0 <= box.x0 < box.x1 <= page.x1, f"{name} is cut"
        assert page.y0 <= box.y0 < box.y1 <= page.y1, f"{name} is cut"
    overlapping = [(a, b) for (a, first), (b, second) in itertools.combinations(boxes, 2) if first.overlaps(second)]
    assert not overlapping


def test_thinned():
    assert plot.thinned(range(9), most=5) == [0, 2, 4, 6, 8]
    assert plot.thinned([0, 3, 8], most=5) == [0, 3, 8]
    assert plot.thinned(range(100), most=2) == [0, 99]


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_command_writes_the_file(tmp_path, capsys, suffix):
    path = tmp_path / f"pencils{suffix}"
    assert main(["plot-decomposition", "--grid", "16", "12", "8", "--pdims", "2", "3", "--output", str(path)]) == 0
    assert capsys.readouterr() == (f"wrote {path}\n", "")
    if suffix == ".png":
        height, width, _ = matplotlib.image.imread(path).shape
        assert width == 1500
        assert 500 < height < 1200
    else:
        assert path.stat().st_size > 1000


def test_memory_orders_of_the_command_line(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(plot, "draw", lambda config: drawn.append(config) or matplotlib.figure.Figure())
    common = ["plot-decomposition", "--grid", "16", "12", "8", "--pdims", "2", "3", "--output", str(tmp_path / "a.png")]
    assert main([*common, "--memory-order", "xyz", "YZX", "zxy", "--rank-order", "col"]) == 0
    assert main([*common, "--axis-contiguous"]) == 0
    assert main([*common, "--axis-contiguous", "y", "--grid-dist", "16", "12", "6"]) == 0
    expected = [
        GridDescConfig(
            gdims=(16, 12, 8), pdims=(2, 3), rank_order=2, transpose_mem_order=((0, 1, 2), (1, 2, 0), (2, 0, 1))
        ),
        GridDescConfig(gdims=(16, 12, 8), pdims=(2, 3), transpose_axis_contiguous=(True, True, True)),
        GridDescConfig(
            gdims=(16, 12, 8), pdims=(2, 3), gdims_dist=(16, 12, 6), transpose_axis_contiguous=(False, True, False)
        ),
    ]
    assert drawn == expected


def test_configurations_that_make_no_sense(tmp_path, capsys):
    arguments = ["--grid", "16", "12", "8", "--pdims", "2", "3", "--grid-dist", "17", "12", "8"]
    assert main(["plot-decomposition", *arguments, "--output", str(tmp_path / "a.png")]) == 2
    assert (
        "error: gdims_dist is (17, 12, 8) with gdims (16, 12, 8), expected 1 to 16 along X" in capsys.readouterr().err
    )
    with pytest.raises(InvalidUsageError, match="pdims"):
        plot.layouts(GridDescConfig(gdims=(16, 12, 8)))


def test_without_matplotlib(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = tmp_path / "a.png"
    assert main(["plot-decomposition", "--grid", "16", "12", "8", "--pdims", "2", "3", "--output", str(path)]) == 1
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("cudecomp: error: drawing needs matplotlib, which cannot be imported (")
    assert errors.endswith("); pip install 'cudecomp[plot]'\n")
    assert not path.exists()
