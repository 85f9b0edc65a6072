# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Doc comments (``/** */``, ``///``, ``///<``) as text that a docstring can hold."""

from __future__ import annotations

import re

from .model import Comment

_COMMAND = re.compile(r"^\s*[@\\](\w+)(?:\[[^\]]*\])?\s*(.*)$")
# Commands inside a line that only mark up the word after them.
_WORD_MARKUP = re.compile(r"[@\\](?:p|c|a|b|e|ref)\s+")
# Whole lines without text of their own.
_SILENT = {"cond", "endcond", "file", "brief", "short", "details", "addtogroup", "ingroup", "name"}


def parse_comment(raw: str | None) -> Comment:
    """Splits a raw comment into summary, paragraphs, parameters, return value and titled sections."""
    if not raw:
        return Comment()
    blocks = list(_blocks(raw))
    paragraphs = [text for command, _, text in blocks if command == "" and text]
    return Comment(
        summary=paragraphs[0] if paragraphs else "",
        details=tuple(paragraphs[1:]),
        parameters={name: text for command, name, text in blocks if command == "param"},
        returns=" ".join(text for command, _, text in blocks if command in ("return", "returns", "result")),
        sections=tuple((name, text) for command, name, text in blocks if command == "par"),
    )


def _blocks(raw: str):
    """Yields (command, name, text): a paragraph, or a command with the lines that follow it."""
    command, name, words = "", "", []
    for line in raw.splitlines():
        line = _WORD_MARKUP.sub("", _strip(line))
        match = _COMMAND.match(line)
        if not match and line.strip():
            words.append(line.strip())
            continue
        yield command, name, " ".join(words)
        command, name, words = "", "", []
        if match and match[1] in _SILENT:
            words = [match[2]] if match[1] in ("brief", "short", "details") and match[2] else []
        elif match and match[1] == "param":
            command = "param"
            name, _, text = match[2].partition(" ")
            words = [text.strip()]
        elif match and match[1] == "par":
            command, name = "par", match[2]
        elif match:
            command, words = match[1], [match[2]]
    yield command, name, " ".join(words)


def _strip(line: str) -> str:
    """Removes what makes a line a comment."""
    line = re.sub(r"\s*\*+/\s*$", "", line)
    return re.sub(r"^\s*(?:/\*[*!]<?|//[/!]<?|\*+)?", "", line).rstrip()
