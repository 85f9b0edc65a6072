# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Lines and tables of the command line: coloured on a terminal where rich is installed, else plain text."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from cudecomp._cli.launchers import is_shown

_STYLES = {"good": "green", "bad": "bold red", "doubtful": "yellow", "quiet": "dim", "title": "bold"}


@dataclass(frozen=True)
class Table:
    """Rows of text under a title.

    Attributes:
        columns: Heads of the columns; all empty for a table without a head.
        rows: Cells of each row, as many as there are columns.
        title: Line above it.
        text_columns: How many columns, from the left, hold text; the others hold figures and are aligned to the right.
        styles: For some rows how they look on a terminal: a key of `_STYLES`.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    text_columns: int = 1
    styles: Sequence[str] = ()

    def as_text(self) -> str:
        """The table as aligned plain text."""
        head = [self.columns] if any(self.columns) else []
        widths = [max(map(len, column)) for column in zip(*head, *self.rows, strict=True)]
        lines = [self.title] if self.title else []
        for row in [*head, *self.rows]:
            cells = [
                cell.ljust(width) if column < self.text_columns else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


class Printer:
    """Writes to a stream, or nowhere: on ranks that do not speak it is made with None."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._console = _console(stream)

    def line(self, text: str = "", style: str = "") -> None:
        """Writes text, of one line or of several."""
        if self._console is not None:
            self._console.print(text, style=_STYLES.get(style, ""), markup=False, highlight=False, soft_wrap=True)
        elif self._stream is not None:
            print(text, file=self._stream, flush=True)

    def table(self, table: Table) -> None:
        if self._console is not None:
            self._console.print(_rich_table(table))
        elif self._stream is not None:
            print(table.as_text(), file=self._stream, flush=True)


def _console(stream: TextIO | None) -> Any:
    """A rich console for terminals, None for everything else and where rich is missing."""
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb" or not is_shown(1):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream)


def _rich_table(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=table.title or None,
        title_justify="left",
        title_style=_STYLES["title"],
        box=box.SIMPLE_HEAD,
        show_header=any(table.columns),
    )
    for column, head in enumerate(table.columns):
        drawn.add_column(head, justify="left" if column < table.text_columns else "right", overflow="fold")
    for index, row in enumerate(table.rows):
        style = table.styles[index] if index < len(table.styles) else ""
        drawn.add_row(*(Text(cell) for cell in row), style=_STYLES.get(style, ""))
    return drawn


def milliseconds(seconds: float | None) -> str:
    """Seconds as milliseconds with three or four figures; "-" for None."""
    if seconds is None:
        return "-"
    value = seconds * 1e3
    return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f}"
