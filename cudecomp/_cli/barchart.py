# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what a benchmark has measured: a bar for each operation, as long as its speed against a plain copy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cudecomp._cli.extras import drawing
from cudecomp._cli.plot import COLORS, INK
from cudecomp._cli.tables import milliseconds

if TYPE_CHECKING:
    from cudecomp._cli.bench import Result

#: Inches.
WIDTH, BAR, BETWEEN, HEAD, FOOT, LEFT, RIGHT = 8.0, 0.24, 0.14, 0.95, 0.55, 1.35, 1.75


def draw(title: str, results: Sequence["Result"]) -> Any:
    """A Matplotlib Figure: operations one below the other, a bar for each kind of arrays; copies are the line at 1.

    Args:
        title: That of `bench.title_of`.
        results: What was timed; the copies among them are left out.
    """
    matplotlib = drawing()
    measured = [result for result in results if result.fraction is not None]
    operations = list(dict.fromkeys(result.operation for result in measured))
    kinds = list(dict.fromkeys(result.arrays for result in measured))
    block = len(kinds) * BAR + BETWEEN
    height = HEAD + len(operations) * block + FOOT
    with matplotlib.rc_context({"svg.hashsalt": "cudecomp", "font.family": "DejaVu Sans", "font.size": 9}):
        figure = matplotlib.figure.Figure(figsize=(WIDTH, height))
        inner = (LEFT / WIDTH, FOOT / height, (WIDTH - LEFT - RIGHT) / WIDTH, len(operations) * block / height)
        axes = figure.add_axes(inner)
        axes.set_xlim(0, max(1.0, *(result.fraction or 0 for result in measured)) * 1.02)
        axes.set_ylim(len(operations) * block, 0)
        for result in measured:
            kind = kinds.index(result.arrays)
            middle = operations.index(result.operation) * block + BETWEEN / 2 + (kind + 0.5) * BAR
            axes.barh(middle, result.fraction, 0.9 * BAR, color=COLORS[kind], label=result.arrays)
            label = f"{milliseconds(result.timing.median)} ms, {result.bandwidth / 1e9:.3g} GB/s"
            axes.annotate(
                label,
                (1, middle),
                (6, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                color=INK,
            )
        axes.axvline(1, color=INK, linewidth=1, linestyle="--")
        axes.set_yticks([(place + 0.5) * block for place in range(len(operations))], operations)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("speed against a plain copy of as many bytes (dashed: as fast)")
        axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        unique = dict(zip(labels, handles, strict=True))
        figure.legend(
            unique.values(),
            unique.keys(),
            loc="upper center",
            bbox_to_anchor=(0.5, 1 - 0.5 / height),
            ncols=len(unique),
            frameon=False,
        )
        what, _, how = title.partition(", ")
        style = {"ha": "center", "va": "top", "color": INK}
        figure.text(0.5, 1 - 0.12 / height, what, fontsize=11, fontweight="bold", **style)
        figure.text(0.5, 1 - 0.36 / height, how, **style)
    return figure
