# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Every Python block of the README and the documentation pages is a program that runs.

A block that begins with `# needs: NAME` runs where that package is installed. Python that cannot run here is written as
a `{code-block}` in the pages, which is shown alike and not found here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)]


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
    assert len(blocks()) >= 12


@pytest.mark.parametrize(("program", "page"), blocks())
def test_program(program, page):
    for needed in re.findall(r"^# needs: (\w+)$", program, re.MULTILINE):
        pytest.importorskip(needed)
    exec(compile(program, page, "exec"), {"__name__": "__main__"})
