# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what each rank holds of the grid in X-, Y- and Z-pencils. Needs no MPI and no launcher."""

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudecomp import _geometry as geometry
from cudecomp._checks import check_arguments
from cudecomp._cli import arguments
from cudecomp._cli.extras import drawing
from cudecomp._cli.launch import DONE, run_alone
from cudecomp._cli.launchers import is_first_process
from cudecomp._cli.tables import Printer
from cudecomp._config import GridDescConfig
from cudecomp._enums import RankOrder

HELP = "draw which rank holds what, into a file"

NAMES = "XYZ"
INK = "#222222"
# Well apart for most eyes, also in print.
COLORS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#997700", "#bbbbbb")
#: Ranks up to which each has an entry in the legend and a number on its pencils.
MOST_LABELLED = 32
MOST_NUMBERED = 256
SMALLEST_FONT = 4.5
#: How bright the faces are that are ends of X-, Y- and Z-pencils: right, front and top.
SHADES = (0.8, 1.0, 1.12)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_grid(parser, "process grid", pdims_required=True)
    parser.add_argument(
        "--output",
        type=arguments.picture,
        default=Path("decomposition.png"),
        metavar="FILE",
        help="a .png, .svg or .pdf file (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    def work(printer: Printer) -> int:
        config = arguments.config_of(options)
        figure = draw(config)
        if is_first_process():
            figure.savefig(options.output, dpi=150, facecolor="white")
        printer.line(f"wrote {options.output}")
        return DONE

    return run_alone(work)


@dataclass(frozen=True)
class Layout:
    """The pencils along one axis: what each rank owns, as global indices along X, Y, Z; and the memory order."""

    axis: int
    boxes: tuple[tuple[range, range, range], ...]
    order: tuple[int, int, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the local array of rank 0."""
        return tuple(len(self.boxes[0][dim]) for dim in reversed(self.order))

    def starts(self, dim: int) -> list[int]:
        """Where along `dim` the parts begin, and where the last one ends."""
        owned = [box[dim] for box in self.boxes if len(box[dim])]
        return sorted({part.start for part in owned} | {max(part.stop for part in owned)})

    def idle(self) -> int:
        """How many ranks own nothing."""
        return sum(not all(map(len, box)) for box in self.boxes)


def layouts(config: GridDescConfig) -> tuple[Layout, Layout, Layout]:
    """The three layouts of a configuration; raises InvalidUsageError for one that makes no sense."""
    pdims = tuple(config.pdims.tolist())
    ranks = pdims[0] * pdims[1]
    check_arguments(config, None, ranks)
    gdims = config.gdims.tolist()
    distributed = geometry.split_points(gdims, config.gdims_dist.tolist())
    places = [geometry.place_of(rank, pdims, is_col_major(config)) for rank in range(ranks)]

    def layout(axis: int) -> Layout:
        boxes = tuple(geometry.owned_box(axis, place, gdims, distributed, pdims) for place in places)
        contiguous, explicit = config.transpose_axis_contiguous.tolist(), config.transpose_mem_order.tolist()
        return Layout(axis, boxes, geometry.memory_order(axis, contiguous, explicit))

    return layout(0), layout(1), layout(2)


def is_col_major(config: GridDescConfig) -> bool:
    if config.rank_order == RankOrder.DEFAULT:
        return os.environ.get("CUDECOMP_USE_COL_MAJOR_RANK_ORDER") == "1"
    return config.rank_order == RankOrder.COL_MAJOR


def draw(config: GridDescConfig) -> Any:
    """A figure with the three layouts, a Matplotlib Figure. Each pencil is drawn as its three visible faces."""
    three = layouts(config)
    matplotlib = drawing()
    gdims, pdims = config.gdims.tolist(), tuple(config.pdims.tolist())
    colors = rank_colors(matplotlib, pdims[0] * pdims[1])
    view = View(gdims)
    sheet = Sheet(view, words=5 if any(layout.idle() for layout in three) else 4, key=_key_height(len(colors)))
    with matplotlib.rc_context({"svg.hashsalt": "cudecomp", "font.family": "DejaVu Sans", "font.size": 9}):
        figure = matplotlib.figure.Figure(figsize=(sheet.WIDTH, sheet.height))
        for number, layout in enumerate(three):
            _Panel(figure, sheet, number, view, layout, pdims, colors).draw()
        size = " x ".join(map(str, gdims))
        title = f"{size} points on {pdims[0]} x {pdims[1]} ranks (rows x columns)"
        sheet.write(figure, 0.5 * sheet.WIDTH, sheet.height - 0.12, title, fontsize=12, fontweight="bold")
        _explain_colors(matplotlib, figure, sheet, colors, pdims, is_col_major(config))
    return figure


class View:
    """How a grid is seen: from the front (low Y), from the right (high X) and from above (high Z)."""

    # Where one step along X, Y and Z goes on the paper: to the right, away from the reader, up.
    STEPS = ((1.0, 0.0), (0.45, 0.36), (0.0, 1.0))
    # Flat grids are drawn thicker than they are, so that their pencils can be told apart.
    THINNEST = 0.4

    def __init__(self, gdims: Sequence[int]) -> None:
        self.gdims = gdims
        self.lengths = [max(points / max(gdims), self.THINNEST) for points in gdims]
        self.width, self.height = self.project(self.lengths)

    def project(self, point: Sequence[float]) -> tuple[float, float]:
        x, y = (sum(part * step[i] for part, step in zip(point, self.STEPS, strict=True)) for i in range(2))
        return x, y

    def along(self, dim: int, index: float) -> float:
        """Where a global index lies along an axis."""
        return index / self.gdims[dim] * self.lengths[dim]


class Sheet:
    """Where things are on the paper, in inches; y counts from below."""

    WIDTH = 10.0
    PANEL = WIDTH / 3
    # Around a drawing, for the scales of its axes.
    LEFT, RIGHT, BELOW = 0.56, 0.45, 0.5
    LINE = 0.185  # of text

    def __init__(self, view: View, words: int, key: float) -> None:
        self.scale = min((self.PANEL - self.LEFT - self.RIGHT) / view.width, 3.0 / view.height)
        self.drawing = view.width * self.scale, view.height * self.scale
        self.words_top = key + 0.1 + words * self.LINE
        self.bottom = self.words_top + self.BELOW
        self.titles = self.bottom + self.drawing[1] + 0.35
        self.height = self.titles + 0.5

    def center(self, panel: int) -> float:
        return (panel + 0.5) * self.PANEL

    def axes(self, figure: Any, panel: int) -> Any:
        """Axes that a drawing fills exactly; what is drawn beyond them shows as well."""
        width, height = self.drawing
        left = self.center(panel) - width / 2 + (self.LEFT - self.RIGHT) / 2
        place = (left / self.WIDTH, self.bottom / self.height, width / self.WIDTH, height / self.height)
        axes = figure.add_axes(place)
        axes.set_xlim(0, width / self.scale)
        axes.set_ylim(0, height / self.scale)
        axes.axis("off")
        return axes

    def write(self, figure: Any, x: float, top: float, text: str, **style: Any) -> None:
        figure.text(x / self.WIDTH, top / self.height, text, color=INK, ha="center", va="top", **style)


def _key_height(ranks: int) -> float:
    """Inches that the explanation of the colours takes."""
    return 0.7 if ranks > MOST_LABELLED else 0.35 + 0.21 * math.ceil(ranks / _legend_columns(ranks))


def rank_colors(matplotlib: Any, ranks: int) -> list[Any]:
    """A colour for each rank."""
    if ranks <= len(COLORS):
        return list(COLORS[:ranks])
    colormap = matplotlib.colormaps["turbo"]
    return [colormap(0.05 + 0.9 * rank / (ranks - 1)) for rank in range(ranks)]


def _legend_columns(ranks: int) -> int:
    return min(ranks, 8)


def _explain_colors(
    matplotlib: Any, figure: Any, sheet: Sheet, colors: list[Any], pdims: tuple[int, int], col_major: bool
) -> None:
    """A legend; where it would be too long, a bar."""
    ranks = len(colors)
    if ranks <= MOST_LABELLED:
        entries = [
            matplotlib.patches.Patch(facecolor=color, label=f"{rank} ({row}, {col})")
            for rank, color in enumerate(colors)
            for row, col in [geometry.place_of(rank, pdims, col_major)]
        ]
        figure.legend(
            handles=_by_rows(entries, _legend_columns(ranks)),
            title="rank (row, column)",
            ncols=_legend_columns(ranks),
            loc="lower center",
            frameon=False,
            fontsize=9,
            title_fontsize=9,
            handlelength=1.2,
            columnspacing=1.4,
        )
        return
    colormap = matplotlib.colors.ListedColormap(colors)
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(-0.5, ranks - 0.5), colormap)
    axes = figure.add_axes((0.3, 0.45 / sheet.height, 0.4, 0.16 / sheet.height))
    bar = figure.colorbar(scale, cax=axes, orientation="horizontal")
    bar.set_ticks([round(part * (ranks - 1) / 4) for part in range(5)])
    order = "down the columns" if col_major else "along the rows"
    bar.set_label(f"rank, numbered {order} of the process grid", fontsize=9)


def _by_rows(entries: list[Any], columns: int) -> list[Any]:
    """Legends are filled by columns; this order makes them read by rows."""
    return [entry for column in range(columns) for entry in entries[column::columns]]


class _Panel:
    """The drawing of one layout, with its words."""

    def __init__(
        self,
        figure: Any,
        sheet: Sheet,
        number: int,
        view: View,
        layout: Layout,
        pdims: tuple[int, int],
        colors: list[Any],
    ) -> None:
        self.figure, self.sheet, self.number, self.view = figure, sheet, number, view
        self.layout, self.pdims, self.colors = layout, pdims, colors
        self.axes = sheet.axes(figure, number)

    def draw(self) -> None:
        # From the back to the front, so that nearer boxes cover the ones behind.
        boxes = [(box, rank) for rank, box in enumerate(self.layout.boxes) if all(map(len, box))]
        boxes.sort(key=lambda entry: (-entry[0][1].start, entry[0][2].start, entry[0][0].start))
        for box, rank in boxes:
            self._draw_box(box, self.colors[rank])
        if len(self.layout.boxes) <= MOST_NUMBERED:
            for box, rank in boxes:
                self._draw_number(box, rank)
        for dim in range(3):
            self._draw_scale(dim)
        self._write()

    def _corners(self, box: Sequence[range]) -> list[tuple[float, float]]:
        """Low and high end along X, Y, Z, with a gap to the neighbours."""
        ends = []
        for dim, part in enumerate(box):
            low, high = self.view.along(dim, part.start), self.view.along(dim, part.stop)
            gap = min(0.012, 0.1 * (high - low))
            ends.append((low + gap, high - gap))
        return ends

    def _draw_box(self, box: Sequence[range], color: Any) -> None:
        (x0, x1), (y0, y1), (z0, z1) = self._corners(box)
        front = [(x0, y0, z0), (x1, y0, z0), (x1, y0, z1), (x0, y0, z1)]
        right = [(x1, y0, z0), (x1, y1, z0), (x1, y1, z1), (x1, y0, z1)]
        top = [(x0, y0, z1), (x1, y0, z1), (x1, y1, z1), (x0, y1, z1)]
        for corners, shade in ((front, SHADES[1]), (right, SHADES[0]), (top, SHADES[2])):
            points = [self.view.project(corner) for corner in corners]
            face = shaded(color, shade)
            self.axes.fill(*zip(*points, strict=True), facecolor=face, edgecolor="white", linewidth=0.5, clip_on=False)

    def _draw_number(self, box: Sequence[range], rank: int) -> None:
        """On the end of the pencil that the reader sees, if it is large enough."""
        ends, axis = self._corners(box), self.layout.axis
        middle = [(low + high) / 2 for low, high in ends]
        middle[axis] = ends[axis][0 if axis == 1 else 1]
        width, height = (72 * self.sheet.scale * length for length in self._end_size(ends))
        digits = len(str(len(self.layout.boxes) - 1))
        size = min(11.0, 0.75 * height, 1.3 * width / digits)
        if size >= SMALLEST_FONT:
            ink = "white" if luminance(shaded(self.colors[rank], SHADES[axis])) < 0.48 else "black"
            style = {"ha": "center", "va": "center", "fontweight": "bold", "color": ink, "fontsize": size}
            self.axes.text(*self.view.project(middle), str(rank), **style)

    def _end_size(self, ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """Width and height of the visible end of a pencil, as far as an upright text can use them."""
        x, y, z = (high - low for low, high in ends)
        slope = self.view.STEPS[1]
        if self.layout.axis == 0:
            return y * slope[0], max(z - 0.4 * y * slope[1], 0.3 * z)
        if self.layout.axis == 1:
            return x, z
        return max(x - 0.4 * y * slope[0], 0.3 * x), y * slope[1]

    def _draw_scale(self, dim: int) -> None:
        """The name of an axis along an edge of the grid, and the indices where parts begin."""
        x = self.view.lengths[0]
        # In points from the edge: to the numbers, and from there to the name.
        edge, numbers, name, aligned = (
            (lambda at: (at, 0, 0), (0, -4), (0, -23), {"ha": "center", "va": "top"}),
            (lambda at: (x, at, 0), (4, -2), (19, -20), {"ha": "left", "va": "top"}),
            (lambda at: (0, 0, at), (-5, 0), (-30, 0), {"ha": "right", "va": "center"}),
        )[dim]
        starts = thinned(self.layout.starts(dim), self._most_numbers(dim))
        for index in starts[1 if dim == 1 else 0 :]:  # X numbers the common corner
            self._write_beside(edge(self.view.along(dim, index)), numbers, str(index), fontsize=8, **aligned)
        middle = edge(self.view.lengths[dim] / 2)
        self._write_beside(middle, name, NAMES[dim], fontsize=11, fontweight="bold", ha="center", va="center")

    def _most_numbers(self, dim: int) -> int:
        """How many numbers along an axis do not touch each other."""
        digits = len(str(self.view.gdims[dim]))
        length = 72 * self.sheet.scale * self.view.lengths[dim]
        needed = (6 * digits + 6, 9.5 / self.view.STEPS[1][1], 12)[dim]
        return min(5, max(2, 1 + int(length / needed)))

    def _write_beside(self, point: Sequence[float], offset: tuple[int, int], text: str, **style: Any) -> None:
        at = self.view.project(point)
        self.axes.annotate(text, at, offset, textcoords="offset points", color=INK, annotation_clip=False, **style)

    def _write(self) -> None:
        layout, (rows, cols) = self.layout, self.pdims
        over_rows, over_cols = (dim for dim in range(3) if dim != layout.axis)
        array_axes = ", ".join(NAMES[dim] for dim in reversed(layout.order))
        lines = [
            f"each rank has all of {NAMES[layout.axis]}",
            f"{NAMES[over_rows]} over {_counted(rows, 'row')}, {NAMES[over_cols]} over {_counted(cols, 'column')}",
            f"fastest in memory first: {', '.join(NAMES[dim] for dim in layout.order)}",
            f"array axes ({array_axes}), rank 0: {layout.shape}",
        ]
        if layout.idle():
            lines.append(f"{_counted(layout.idle(), 'rank')} with nothing")
        center = self.sheet.center(self.number)
        title = f"{NAMES[layout.axis]}-pencils"
        self.sheet.write(self.figure, center, self.sheet.titles, title, fontsize=12, fontweight="bold")
        self.sheet.write(self.figure, center, self.sheet.words_top, "\n".join(lines), fontsize=9, linespacing=1.3)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def thinned(values: Sequence[int], most: int) -> list[int]:
    """At most that many of the values, evenly; the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(part * (len(values) - 1) / (most - 1))] for part in range(most)]


def shaded(color: Any, factor: float) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(min(part * factor, 1.0) for part in to_rgb(color))


def luminance(color: Sequence[float]) -> float:
    red, green, blue = color[:3]
    return 0.299 * red + 0.587 * green + 0.114 * blue
