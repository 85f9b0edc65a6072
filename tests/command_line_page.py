# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What docs/command_line.md shows, to be compared with what the commands print now, on any machine."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "command_line.md"


def samples() -> dict[str, str]:
    """The commands of the page, with the output shown below each."""
    blocks = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return dict(blocks)


def ranks_of(command: str) -> int:
    found = re.match(r"mpirun -n (\d+) ", command)
    return int(found[1]) if found else 1


def arguments_of(command: str, folder: Path) -> list[str]:
    """What follows `python -m cudecomp`, with files in a folder of their own."""
    words = shlex.split(command.partition("python -m cudecomp ")[2])
    return [str(folder / word) if re.search(r"\.(png|json)$", word) else word for word in words]


def stable(text: str) -> list[str]:
    """The lines without what changes from run to run and from machine to machine: figures, choices, names, warnings."""
    blocks = [block for block in text.strip().split("\n\n") if not block.startswith(("warning: ", "note: "))]
    lines = "\n\n".join(blocks).splitlines()
    return [_stable_line(line) for line in lines]


def _stable_line(line: str) -> str:
    if line.startswith("chosen: "):
        return re.sub(r", pdims=.*", "", line)
    line = re.sub(r"; \d+ warnings?$", "", line)
    line = re.sub(r"^(wrote ).*/", r"\1", line)
    line = re.sub(r"(on 1 node: ).*", r"\1", line)
    line = re.sub(r"^cudecomp .*", "cudecomp", line)
    line = re.sub(r"\d+\.\d+|\b\d+ s\b", "#", line)
    line = " ".join(re.sub(r" chosen ", " ", line).split())
    # Halo backends are measured on the process grid that the transposes have chosen.
    return re.sub(r"^\d+ x \d+ (?=MPI(_BLOCKING)? )", "# x # ", line)
