# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the three pencil layouts: `python docs/images/pencils.py [OUTPUT]`, by default pencils.svg beside this file."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("agg")
import matplotlib.pyplot as plt

ROWS, COLS = 2, 3
COLORS = ["#4477aa", "#3fa7c9", "#228833", "#b39b1f", "#ee6677", "#aa3377"]
# Where one step along X, Y and Z goes on the paper: to the right, away from the reader, up.
DIRECTIONS = np.array([[1.0, 0.0], [0.45, 0.36], [0.0, 1.0]])
GAP = 0.03
INK = "#222222"
CENTERED = {"ha": "center", "va": "center"}
# What is complete, and what is split over the rows and the columns of the process grid.
LAYOUTS = {"X-pencils": (0, 1, 2), "Y-pencils": (1, 0, 2), "Z-pencils": (2, 0, 1)}


def project(points):
    return np.asarray(points) @ DIRECTIONS


def draw_box(axes, low, high, color):
    """A box with its three visible faces: front (low y), right (high x) and top (high z)."""
    (x0, y0, z0), (x1, y1, z1) = low, high
    front = [(x0, y0, z0), (x1, y0, z0), (x1, y0, z1), (x0, y0, z1)]
    right = [(x1, y0, z0), (x1, y1, z0), (x1, y1, z1), (x1, y0, z1)]
    top = [(x0, y0, z1), (x1, y0, z1), (x1, y1, z1), (x0, y1, z1)]
    for corners, shade in ((front, 1.0), (right, 0.78), (top, 1.15)):
        rgb = np.clip(np.array(mpl.colors.to_rgb(color)) * shade, 0, 1)
        axes.fill(*project(corners).T, facecolor=rgb, edgecolor="white", linewidth=0.8, joinstyle="round")


def draw_layout(axes, title, complete, over_rows, over_cols):
    boxes = []
    for rank in range(ROWS * COLS):
        row, col = divmod(rank, COLS)
        low, high = np.zeros(3), np.ones(3)
        low[over_rows], high[over_rows] = row / ROWS, (row + 1) / ROWS
        low[over_cols], high[over_cols] = col / COLS, (col + 1) / COLS
        boxes.append((low + GAP / 2, high - GAP / 2, rank))
    # From the back to the front, so that nearer boxes cover the ones behind.
    boxes.sort(key=lambda box: (-box[0][1], box[0][2], box[0][0]))
    for low, high, rank in boxes:
        draw_box(axes, low, high, COLORS[rank])
    for low, high, rank in boxes:
        # The reader sees all ends of the pencils: at high X, low Y and high Z.
        end = (low + high) / 2
        end[complete] = low[complete] if complete == 1 else high[complete]
        axes.text(*project(end), str(rank), **CENTERED, fontsize=11, fontweight="bold", color="white")
    names = "XYZ"
    caption = (
        f"each rank has all of {names[complete]}\n"
        f"{names[over_rows]} split over {ROWS} rows, {names[over_cols]} over {COLS} columns"
    )
    axes.text(0.72, 1.62, title, **CENTERED, fontsize=14, fontweight="bold", color=INK)
    axes.text(0.72, -0.5, caption, **CENTERED, fontsize=10.5, color=INK)
    draw_axes(axes)
    axes.set_aspect("equal")
    axes.set_xlim(-0.35, 1.75)
    axes.set_ylim(-0.65, 1.7)
    axes.axis("off")


def draw_axes(axes):
    origin = project([-0.2, -0.12, -0.12])
    for name, direction in zip("XYZ", DIRECTIONS, strict=True):
        tip = origin + 0.24 * direction / np.linalg.norm(direction)
        arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", tip, origin, arrowprops=arrow)
        axes.text(*(origin + 0.31 * direction / np.linalg.norm(direction)), name, ha="center", va="center", color=INK)


def draw_transposes(figure):
    by_column = ", ".join("-".join(str(row * COLS + col) for row in range(ROWS)) for col in range(COLS))
    by_row = ", ".join("-".join(str(row * COLS + col) for col in range(COLS)) for row in range(ROWS))
    groups = ((0.345, "X ⇄ Y", f"column groups\n{by_column}"), (0.675, "Y ⇄ Z", f"row groups\n{by_row}"))
    for position, pair, group in groups:
        figure.text(position, 0.66, pair, **CENTERED, fontsize=13, fontweight="bold", color=INK)
        figure.text(position, 0.56, f"within\n{group}", **CENTERED, fontsize=9, color=INK)


def main(output):
    # The same picture from run to run, with text as outlines so that no font is missing.
    plt.rcParams.update({"svg.hashsalt": "cudecomp", "svg.fonttype": "path", "font.family": "DejaVu Sans"})
    figure, panels = plt.subplots(1, 3, figsize=(12, 4.5))
    for axes, (title, (complete, over_rows, over_cols)) in zip(panels, LAYOUTS.items(), strict=True):
        draw_layout(axes, title, complete, over_rows, over_cols)
    figure.subplots_adjust(left=0.01, right=0.99, top=0.99, bottom=0.01, wspace=0.12)
    draw_transposes(figure)
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None, facecolor="white", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg"))
