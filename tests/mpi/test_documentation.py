# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Every Python block of the README and the documentation pages is a program that runs, on any number of ranks.

A block that has a line `# needs: NAME` runs where that package is installed.
"""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mpi4py import MPI

from tests import snippets


def test_there_are_programs() -> None:
    assert len(snippets.programs()) >= 12
    assert list(snippets.files()) == ["docs/tutorial.md"]


@pytest.mark.parametrize("block", snippets.programs(), ids=lambda block: block.name)
def test_program(block: snippets.Block) -> None:
    require(block.text)
    exec(compile(block.placed, str(block.page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", snippets.files())
def test_files_of_a_page(page: str, world: MPI.Comm) -> None:
    """All files of a page in turn, in one folder, as its reader has them."""
    with shared_folder(world) as folder:
        if world.rank == 0:
            snippets.save(page, folder)
        world.Barrier()
        with inside(folder):
            for block in snippets.files()[page]:
                require(block.text)
                runpy.run_path(str(block.file), run_name="__main__")
                world.Barrier()


def require(text: str) -> None:
    for needed in re.findall(r"^# needs: (\w+)$", text, re.MULTILINE):
        pytest.importorskip(needed)


@contextlib.contextmanager
def shared_folder(comm: MPI.Comm) -> Iterator[Path]:
    """An empty folder that all ranks see, for the duration of a block."""
    with tempfile.TemporaryDirectory() if comm.rank == 0 else contextlib.nullcontext("") as own:
        yield Path(comm.bcast(own))
        comm.Barrier()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """The folder as working directory and as a place of modules, without arguments of the command line.

    Modules and changes of the environment are forgotten at the end.
    """
    before, modules, variables, arguments = Path.cwd(), set(sys.modules), dict(os.environ), sys.argv
    sys.argv = sys.argv[:1]
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)
        sys.argv = arguments
        os.environ.clear()
        os.environ.update(variables)
        for name in set(sys.modules) - modules:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
