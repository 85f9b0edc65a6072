# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Every Python block of the README and the documentation pages is a program that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks() -> list[object]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start(1))
            # Compiled with its place in the page, so that a traceback shows it.
            name = f"{page.relative_to(ROOT)}:{line}"
            found.append(pytest.param("\n" * line + match[1], str(page), id=name))
    return found


def test_there_are_programs():
    assert len(blocks()) >= 4


@pytest.mark.parametrize(("program", "page"), blocks())
def test_program(program, page):
    exec(compile(program, page, "exec"), {"__name__": "__main__"})
