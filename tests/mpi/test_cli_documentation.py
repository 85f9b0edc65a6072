# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The output that docs/command_line.md shows is what the commands print, but for figures and choices."""

from __future__ import annotations

from pathlib import Path

import pytest
from mpi4py import MPI

from cudecomp._cli import main
from tests.command_line_page import PAGE, arguments_of, ranks_of, samples, stable

SAMPLES = samples()


def test_the_page_shows_every_command():
    assert [command.partition("python -m cudecomp ")[2].split()[0] for command in SAMPLES] == [
        "info",
        "check",
        "autotune",
        "bench",
        "plot-decomposition",
    ]
    for name in ("autotune.png", "bench.png", "decomposition.png"):
        assert f"](images/{name})" in PAGE.read_text()
        assert (PAGE.parent / "images" / name).is_file()


@pytest.mark.parametrize("command", [command for command in SAMPLES if not command.endswith(" info")])
def test_sample(comm: MPI.Comm, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str) -> None:
    if comm.size != ranks_of(command):
        pytest.skip(f"shown for {ranks_of(command)} ranks")
    assert main(arguments_of(command, comm.bcast(tmp_path))) == 0
    if comm.rank == 0:
        assert stable(capsys.readouterr().out) == stable(SAMPLES[command])


def test_sample_of_info(capsys: pytest.CaptureFixture[str], comm: MPI.Comm) -> None:
    """What is on the left: what is on the right is another machine's."""
    assert main(["info"]) == 0
    if comm.rank == 0:
        shown, seen = (_names(text) for text in (SAMPLES["python -m cudecomp info"], capsys.readouterr().out))
        assert [name for name in seen if not name.startswith("CUDECOMP_")] == shown


def _names(text: str) -> list[str]:
    names = [line[:18].strip() for line in text.splitlines()]
    return [name for name in names if name]
