# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The Python blocks of the documentation.

Most blocks are programs by themselves. Those whose first line is a comment with a file name, such as `# serial.py`,
are files that belong together: a page tells the reader to save them in one folder. Python that cannot run here is
written as a `{code-block}` in the pages, which looks the same to a reader and is not found here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Block:
    """A Python block of a page."""

    page: Path
    line: int  # lines of the page before the first one of the block
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name of the file that the block shows, None for a program by itself."""
        match = re.match(r"# (\w+\.py)\n", self.text)
        return match[1] if match else None

    @property
    def placed(self) -> str:
        """The text at its place in the page, so that tracebacks tell where it is."""
        return "\n" * self.line + self.text


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)]


def blocks() -> list[Block]:
    found = []
    for page in pages():
        text = page.read_text()
        fenced = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        found += [Block(page, text.count("\n", 0, match.start(1)), match[1]) for match in fenced]
    return found


def programs() -> list[Block]:
    """Blocks that are programs by themselves."""
    return [block for block in blocks() if block.file is None]


def files() -> dict[str, list[Block]]:
    """Files by the page that shows them, in the order of the page."""
    found: dict[str, list[Block]] = {}
    for block in blocks():
        if block.file is not None:
            found.setdefault(str(block.page.relative_to(ROOT)), []).append(block)
    return found


def save(page: str, folder: Path) -> list[str]:
    """Saves the files of a page, as a reader would; returns their names."""
    for block in files()[page]:
        assert block.file is not None
        (folder / block.file).write_text(block.text)
    return [str(block.file) for block in files()[page]]
