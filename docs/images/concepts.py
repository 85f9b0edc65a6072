# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the concepts page: `python docs/images/concepts.py [FOLDER] [SUFFIX]`, by default .svg here.

process_grid: numbering of ranks, rows and columns. memory_orders: what lies where in memory. halo: the parts of an
array, and how updates fill them.
"""

import itertools
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch, Rectangle

INK, PALE = "#222222", "#dddddd"
RANKS = ["#4477aa", "#3fa7c9", "#228833", "#b39b1f", "#ee6677", "#aa3377"]
AXES = {"x": "#aa3377", "y": "#228833", "z": "#4477aa"}
CENTERED = {"ha": "center", "va": "center"}
MONO = {"family": "DejaVu Sans Mono"}


def blank(axes, width, height):
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.set_aspect("equal")
    axes.axis("off")


# --- process grid


def draw_process_grid():
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.1))
    titles = {
        "row-major (default)": ("rank = row · cols + col", lambda row, col: row * 3 + col),
        "column-major": ("rank = col · rows + row", lambda row, col: col * 2 + row),
    }
    for axes, (title, (formula, rank)) in zip(panels, titles.items(), strict=True):
        draw_numbering(axes, title, formula, rank)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.01, wspace=0.04)
    return figure


def draw_numbering(axes, title, formula, rank):
    blank(axes, 6.2, 4.6)
    left, low, width, height = 1.35, 1.15, 1.2, 1.0
    axes.text(left + 1.5 * width, 4.35, title, **CENTERED, fontsize=14, fontweight="bold", color=INK)
    axes.text(left + 1.5 * width, 3.98, formula, **CENTERED, fontsize=10.5, color=INK, **MONO)
    for row, col in itertools.product(range(2), range(3)):
        x, y = left + col * width, low + (1 - row) * height
        number = rank(row, col)
        box = Rectangle((x + 0.08, y + 0.08), width - 0.16, height - 0.16, facecolor=RANKS[number])
        axes.add_patch(box)
        axes.text(x + width / 2, y + height / 2, str(number), **CENTERED, fontsize=16, fontweight="bold", color="white")
    for row in range(2):
        axes.text(left - 0.12, low + (1.5 - row) * height, f"row {row}", ha="right", va="center", fontsize=11)
    for col in range(3):
        axes.text(left + (col + 0.5) * width, low + 2 * height + 0.2, f"col {col}", **CENTERED, fontsize=11)
    outline = {"fill": False, "linewidth": 1.6, "boxstyle": "round,pad=0,rounding_size=0.12"}
    axes.add_patch(
        FancyBboxPatch((left - 0.04, low + height + 0.02), 3 * width + 0.14, height - 0.04, edgecolor=INK, **outline)
    )
    column = (left + 2 * width + 0.02, low - 0.06)
    axes.add_patch(
        FancyBboxPatch(column, width - 0.04, 2 * height + 0.12, edgecolor=INK, linestyle=(0, (4, 3)), **outline)
    )
    rows = "   ".join("-".join(str(rank(row, col)) for col in range(3)) for row in range(2))
    cols = "   ".join("-".join(str(rank(row, col)) for row in range(2)) for col in range(3))
    for y, line, text in (
        (0.66, "-", f"row groups {rows}: Y ⇄ Z"),
        (0.26, (0, (4, 3)), f"column groups {cols}: X ⇄ Y"),
    ):
        axes.plot([0.75, 1.2], [y, y], color=INK, linewidth=1.6, linestyle=line)
        axes.text(1.35, y, text, va="center", fontsize=11, color=INK)


# --- memory orders

EXTENTS = {"x": 4, "y": 3, "z": 2}


def draw_memory_orders():
    """The first elements of a 4 x 3 x 2 grid on one rank, in both usual orders."""
    figure, panels = plt.subplots(1, 2, figsize=(12.4, 4.3))
    settings = {
        "default": ["xyz", "xyz", "xyz"],
        "transpose_axis_contiguous": ["xyz", "yzx", "zxy"],
    }
    for axes, (title, orders) in zip(panels, settings.items(), strict=True):
        blank(axes, 7.6, 5.4)
        axes.text(0.0, 5.18, title, ha="left", va="center", fontsize=13, fontweight="bold", color=INK)
        for place, order in enumerate(orders):
            draw_strip(axes, 3.5 - 1.5 * place, "XYZ"[place], order)
        axes.annotate("", (7.3, 0.17), (0.95, 0.17), arrowprops={"arrowstyle": "-|>", "color": INK})
        axes.text(0.05, 0.17, "memory", va="center", fontsize=10, color=INK)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.02, wspace=0.05)
    return figure


def draw_strip(axes, low, name, order):
    """Cells in the order of memory, with the global indices that they hold; `order` has the fastest axis first."""
    shown, width = 12, 0.6
    array = ", ".join(reversed(order))
    entries = ", ".join(str("xyz".index(axis)) for axis in order)
    axes.text(0.05, low + 1.13, f"{name}-pencil", va="center", fontsize=11, fontweight="bold", color=INK)
    axes.text(1.75, low + 1.13, f"array[{array}]", va="center", fontsize=11, color=INK, **MONO)
    axes.text(4.25, low + 1.13, f"mem_order ({entries})", va="center", fontsize=10, color=INK, **MONO)
    fastest = order[0]
    for place in range(shown):
        rest, index = place, {}
        for axis in order:
            rest, index[axis] = divmod(rest, EXTENTS[axis])
        x = 0.05 + place * width
        shade = np.array(mpl.colors.to_rgb(AXES[fastest]))
        run = place // EXTENTS[fastest]
        axes.add_patch(
            Rectangle(
                (x, low), width, 0.85, facecolor=1 - (1 - shade) * (0.34 if run % 2 == 0 else 0.14), edgecolor="white"
            )
        )
        for line, axis in enumerate("xyz"):
            weight = "bold" if axis == fastest else "normal"
            color = AXES[axis] if axis == fastest else "#555555"
            text = f"{axis}={index[axis]}"
            axes.text(
                x + width / 2, low + 0.68 - 0.25 * line, text, **CENTERED, fontsize=8.5, color=color, fontweight=weight
            )


# --- halo and padding

OWNED, HALO, PADDING = "#4477aa", "#f4f4f4", "#cfcfcf"
FROM_Y, FROM_Z, CORNER = "#b39b1f", "#228833", "#ee6677"


def draw_halo():
    figure = plt.figure(figsize=(12.4, 4.7))
    left = figure.add_axes([0.0, 0.02, 0.42, 0.96])
    right = figure.add_axes([0.43, 0.02, 0.57, 0.96])
    draw_parts(left)
    draw_updates(right)
    return figure


def cells(axes, x0, y0, size, colors):
    for (row, col), color in np.ndenumerate(colors):
        axes.add_patch(
            Rectangle(
                (x0 + col * size, y0 + row * size), size, size, facecolor=color, edgecolor="#999999", linewidth=0.6
            )
        )


def parts(along_y, along_z, fill):
    """Colours of a plane of an array: rows run along Z, columns along Y."""
    colors = np.full((along_z[0], along_y[0]), PADDING, dtype=object)
    for z, y in np.ndindex(colors.shape):
        kinds = []
        for index, (_, halo, owned) in ((y, along_y), (z, along_z)):
            if index >= owned + 2 * halo:
                kinds.append("padding")
            else:
                kinds.append("owned" if halo <= index < halo + owned else "halo")
        colors[z, y] = PADDING if "padding" in kinds else fill[tuple(kinds)]
    return colors


def fill_of(y_halo, z_halo, corner):
    return {
        ("owned", "owned"): OWNED,
        ("halo", "owned"): y_halo,
        ("owned", "halo"): z_halo,
        ("halo", "halo"): corner,
    }


def draw_parts(axes):
    """A plane of an array with 6 x 4 owned points, halos of 2 along Y and 1 along Z, and a padding of 1 along Y."""
    blank(axes, 8.9, 8.4)
    x0, y0, size = 1.3, 1.5, 0.62
    cells(axes, x0, y0, size, parts((11, 2, 6), (6, 1, 4), fill_of(HALO, HALO, HALO)))
    axes.text(4.6, 8.0, "parts of an array", **CENTERED, fontsize=14, fontweight="bold", color=INK)
    axes.text(x0 + 5 * size, y0 + 3 * size, "owned", **CENTERED, fontsize=14, fontweight="bold", color="white")
    axes.text(x0 + 1 * size, y0 + 3 * size, "halo", **CENTERED, fontsize=11, color=INK, rotation=90)
    axes.text(x0 + 9 * size, y0 + 3 * size, "halo", **CENTERED, fontsize=11, color=INK, rotation=90)
    axes.text(x0 + 5 * size, y0 + 0.5 * size, "halo", **CENTERED, fontsize=11, color=INK)
    axes.text(x0 + 5 * size, y0 + 5.5 * size, "halo", **CENTERED, fontsize=11, color=INK)
    axes.text(x0 + 10.5 * size, y0 + 3 * size, "padding", **CENTERED, fontsize=11, color=INK, rotation=90)
    top = y0 + 6 * size + 0.35
    for start, end, text in ((0, 2, "h = 2"), (2, 8, "n = 6"), (8, 10, "h = 2"), (10, 11, "p = 1")):
        bracket(axes, x0 + start * size, x0 + end * size, top)
        axes.text(x0 + (start + end) / 2 * size, top + 0.3, text, **CENTERED, fontsize=9.5, color=INK)
    axes.text(x0 + 5.5 * size, top + 0.95, "shape along Y: n + 2 h + p = 11", **CENTERED, fontsize=10.5, color=INK)
    for column, text in ((2.5, "lo"), (7.5, "hi")):
        x = x0 + column * size
        axes.annotate(
            text,
            (x, y0 + size),
            (x, y0 - 0.55),
            ha="center",
            va="center",
            fontsize=11,
            color=INK,
            arrowprops={"arrowstyle": "-|>", "color": INK},
        )
    axes.text(x0 + 5 * size, y0 - 0.55, "global indices", **CENTERED, fontsize=9.5, color=INK)
    for tip, text, place in (((x0 - 0.5 + 0.9, 0.3), "Y", (x0 + 0.62, 0.3)), ((x0 - 0.5, 1.2), "Z", (x0 - 0.5, 1.42))):
        axes.annotate(
            "", tip, (x0 - 0.5, 0.3), arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}
        )
        axes.text(*place, text, **CENTERED, fontsize=10.5, color=INK)


def bracket(axes, start, end, y):
    axes.annotate(
        "",
        (end, y),
        (start, y),
        arrowprops={"arrowstyle": "|-|,widthA=0.25,widthB=0.25", "color": INK, "shrinkA": 1, "shrinkB": 1},
    )


def draw_updates(axes):
    blank(axes, 12.1, 8.4)
    axes.text(6.0, 8.0, "halo updates, dim by dim", **CENTERED, fontsize=14, fontweight="bold", color=INK)
    steps = [
        ("before", fill_of(HALO, HALO, HALO)),
        ("after dim=1 (Y)", fill_of(FROM_Y, HALO, HALO)),
        ("after dim=2 (Z)", fill_of(FROM_Y, FROM_Z, CORNER)),
    ]
    size, low = 0.5, 3.3
    for place, (title, fill) in enumerate(steps):
        x = 0.25 + place * 4.05
        cells(axes, x, low, size, parts((7, 1, 5), (7, 1, 5), fill))
        axes.text(x + 3.5 * size, low + 7 * size + 0.35, title, **CENTERED, fontsize=11, color=INK)
        axes.text(x + 3.5 * size, low + 3.5 * size, "owned", **CENTERED, fontsize=11, fontweight="bold", color="white")
        if place < 2:
            axes.annotate(
                "",
                (x + 3.95, low + 3.5 * size),
                (x + 3.6, low + 3.5 * size),
                arrowprops={"arrowstyle": "-|>", "color": INK},
            )
    legend = [
        (HALO, "not yet filled"),
        (FROM_Y, "from the neighbour along Y"),
        (FROM_Z, "from the neighbour along Z"),
        (
            CORNER,
            "corner: from the neighbour along Z, whose own Y halo was\nfilled before: points of the diagonal neighbour",
        ),
    ]
    for line, (color, text) in enumerate(legend):
        y = 2.45 - 0.55 * line
        axes.add_patch(Rectangle((0.6, y - 0.17), 0.4, 0.34, facecolor=color, edgecolor="#999999", linewidth=0.6))
        top = y + 0.17 if "\n" in text else None
        axes.text(1.2, y if top is None else top, text, va="center" if top is None else "top", fontsize=10.5, color=INK)


PICTURES = {"process_grid": draw_process_grid, "memory_orders": draw_memory_orders, "halo": draw_halo}


def main(folder, suffix):
    # The same pictures from run to run, with text as outlines so that no font is missing.
    plt.rcParams.update({"svg.hashsalt": "cudecomp", "svg.fonttype": "path", "font.family": "DejaVu Sans"})
    for name, draw in PICTURES.items():
        metadata = {"Date": None} if suffix == ".svg" else None
        draw().savefig(folder / f"{name}{suffix}", metadata=metadata, facecolor="white", dpi=110)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent,
        sys.argv[2] if len(sys.argv) > 2 else ".svg",
    )
