# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what autotuning has measured: process grid x backend, one panel for transposes and one for halo updates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cudecomp._autotune import AutotuneCandidate, AutotuneReport
from cudecomp._cli.arguments import DTYPES
from cudecomp._cli.extras import drawing
from cudecomp._cli.plot import INK, luminance

TITLES = {"transpose": "transposes", "halo": "halo updates"}
SKIPPED = "#dddddd"
# Inches: of a cell, and around a panel for what stands beside and above it.
CELL = (1.15, 0.5)
LEFT, RIGHT, ABOVE, BELOW = 0.95, 0.95, 0.35, 0.35
#: For the title and for the note at the bottom.
HEAD, FOOT = 0.5, 0.4
#: The colours end at the slowest candidate, but not before this many times the fastest: small differences look small.
LEAST_RANGE = 1.5


def draw(report: AutotuneReport) -> Any:
    """A Matplotlib Figure; each cell has the milliseconds of a candidate, the chosen one has a frame."""
    matplotlib = drawing()
    kinds = {kind: [entry for entry in report.candidates if entry.kind == kind] for kind in TITLES}
    panels = {kind: _Panel(candidates) for kind, candidates in kinds.items() if candidates}
    width = max(LEFT + RIGHT + CELL[0] * max(panel.columns for panel in panels.values()), 6.0)
    height = HEAD + FOOT + sum(ABOVE + panel.rows * CELL[1] + BELOW for panel in panels.values())
    with matplotlib.rc_context({"svg.hashsalt": "cudecomp", "font.family": "DejaVu Sans", "font.size": 9}):
        figure = matplotlib.figure.Figure(figsize=(width, height))
        top = height - HEAD
        for kind, panel in panels.items():
            wide, high = panel.columns * CELL[0], panel.rows * CELL[1]
            bottom = top - ABOVE - high
            axes = figure.add_axes((LEFT / width, bottom / height, wide / width, high / height))
            panel.draw(figure, axes, TITLES[kind])
            top = bottom - BELOW
        figure.text(
            0.5, 1 - 0.12 / height, _title(report), fontsize=12, fontweight="bold", ha="center", va="top", color=INK
        )
        note = "milliseconds by process grid (rows x columns) and backend; framed: chosen"
        figure.text(0.5, 0.12 / height, note, ha="center", va="bottom", color=INK)
    return figure


def _title(report: AutotuneReport) -> str:
    size = " x ".join(map(str, report.config.gdims.tolist()))
    dtype = next((name for name, member in DTYPES.items() if member == report.options.dtype), "")
    return f"{size} points of {dtype} on {report.ranks} rank{'s' * (report.ranks != 1)}"


class _Panel:
    """The candidates of one kind."""

    def __init__(self, candidates: Sequence[AutotuneCandidate]) -> None:
        self._candidates = candidates
        self._grids = list(dict.fromkeys(entry.pdims for entry in candidates))
        self._backends = list(dict.fromkeys(entry.backend for entry in candidates))
        self.rows, self.columns = len(self._grids), len(self._backends)

    def draw(self, figure: Any, axes: Any, title: str) -> None:
        times = np.full((self.rows, self.columns), np.nan)
        for entry in self._candidates:
            if entry.total is not None:
                times[self._place(entry)] = entry.total * 1e3
        axes.set_facecolor(SKIPPED)
        fastest, slowest = color_range(times)
        image = axes.imshow(np.ma.masked_invalid(times), cmap="YlOrRd", vmin=fastest, vmax=slowest, aspect="auto")
        for entry in self._candidates:
            self._draw_cell(axes, image, entry)
        axes.set_xticks(range(self.columns), [backend.name for backend in self._backends])
        axes.set_yticks(range(self.rows), [f"{rows} x {cols}" for rows, cols in self._grids])
        axes.tick_params(length=0)
        axes.tick_params(axis="x", labelsize=9 if self._longest() < 13 else 7.5)
        axes.set_title(title, fontsize=11, fontweight="bold", color=INK, loc="left")
        # White lines between the cells.
        axes.set_xticks(np.arange(0.5, self.columns - 1), minor=True)
        axes.set_yticks(np.arange(0.5, self.rows - 1), minor=True)
        axes.grid(which="minor", color="white", linewidth=2)
        axes.tick_params(which="minor", length=0)
        axes.spines[:].set_visible(False)
        self._draw_scale(figure, axes, image)

    def _draw_scale(self, figure: Any, axes: Any, image: Any) -> None:
        bar = figure.colorbar(image, cax=axes.inset_axes((1.03, 0.0, 0.16 / (self.columns * CELL[0]), 1.0)))
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8)
        bar.ax.set_title("ms", fontsize=8, loc="left")

    def _longest(self) -> int:
        return max(len(backend.name) for backend in self._backends)

    def _place(self, entry: AutotuneCandidate) -> tuple[int, int]:
        return self._grids.index(entry.pdims), self._backends.index(entry.backend)

    def _draw_cell(self, axes: Any, image: Any, entry: AutotuneCandidate) -> None:
        row, column = self._place(entry)
        text, ink = "skipped", INK
        if entry.total is not None:
            text = f"{entry.total * 1e3:.3g}"
            ink = "white" if luminance(image.cmap(image.norm(entry.total * 1e3))) < 0.5 else INK
        weight = "bold" if entry.chosen else "normal"
        axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=10, fontweight=weight)
        if entry.chosen:
            frame = drawing().patches.Rectangle(
                (column - 0.47, row - 0.44), 0.94, 0.88, fill=False, edgecolor="black", linewidth=2.2, zorder=5
            )
            axes.add_patch(frame)


def color_range(times: Any) -> tuple[float, float]:
    """The times that the first and the last colour stand for; (0, 1) where nothing was measured."""
    known = times[np.isfinite(times)]
    if not known.size or not known.min() > 0:
        return 0.0, 1.0
    fastest = float(known.min())
    return fastest, max(float(known.max()), LEAST_RANGE * fastest)
