# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How the command line writes: aligned text, frames on a terminal, nothing on other ranks."""

import io
import sys

import pytest

from cudecomp._cli import tables
from cudecomp._cli.tables import Printer, Table, milliseconds

TABLE = Table(
    ("operation", "arrays", "ms"),
    [("x_to_y", "NumPy", "1.250"), ("[bold]y_to_z", "shared", "12.50")],
    title="Transposes",
    text_columns=2,
    styles=("", "bad"),
)
TEXT = """\
Transposes
operation     arrays     ms
x_to_y        NumPy   1.250
[bold]y_to_z  shared  12.50"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_text():
    assert TABLE.as_text() == TEXT


def test_without_head_and_title():
    assert Table(("", ""), [("a", "1"), ("bcd", "2")], text_columns=2).as_text() == "a    1\nbcd  2"


def test_without_rows():
    assert Table(("a", "b"), []).as_text() == "a  b"


def test_to_a_file():
    stream = io.StringIO()
    printer = Printer(stream)
    printer.table(TABLE)
    printer.line()
    printer.line("done", "good")
    assert stream.getvalue() == f"{TEXT}\n\ndone\n"


@pytest.fixture(autouse=True)
def _standard_output_is_shown(monkeypatch):
    monkeypatch.setattr(tables, "is_shown", lambda descriptor: True)


def test_to_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    printer = Printer(stream)
    printer.table(TABLE)
    printer.line("done [red]", "good")
    text = stream.getvalue()
    assert "\x1b[" in text
    assert "─" in text
    for cell in ("Transposes", "operation", "12.50", "[bold]y_to_z", "done [red]"):
        assert cell in text


@pytest.mark.parametrize("obstacle", ["dumb terminal", "no rich", "launcher that writes to a file"])
def test_to_a_terminal_that_gets_plain_text(monkeypatch, obstacle):
    monkeypatch.setenv("TERM", "dumb" if obstacle == "dumb terminal" else "xterm")
    if obstacle == "no rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    if obstacle.startswith("launcher"):
        monkeypatch.setattr(tables, "is_shown", lambda descriptor: False)
    stream = Terminal()
    Printer(stream).table(TABLE)
    assert stream.getvalue() == f"{TEXT}\n"


def test_other_ranks_are_silent(capfd):
    printer = Printer(None)
    printer.table(TABLE)
    printer.line("done")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0.0000123, "0.012"), (0.00999, "9.990"), (0.0123456, "12.35"), (1.5, "1500.0")],
)
def test_milliseconds(seconds, text):
    assert milliseconds(seconds) == text
