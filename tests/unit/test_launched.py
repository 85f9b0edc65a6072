# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Jobs that the documentation describes: some that fail, and the tutorial on the numbers of ranks that it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import snippets
from tests.run_mpi import find_launcher, launch_environment, mpi_vendor

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
import cudecomp

comm = MPI.COMM_WORLD
config = cudecomp.GridDescConfig(gdims=(8, 8, 8), pdims=(comm.size, 1))
with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
    x = np.ones(grid.get_pencil_info(0).shape)
    if comm.rank == 1:
        {fault}
    grid.transpose_x_to_y(x)  # waits for rank 1
"""


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [("raise ValueError('mine')", 1, "ValueError: mine"), ("sys.exit(3)", 3, "")],
    ids=["exception", "exit"],
)
def test_one_rank_fails_under_mpi4py(tmp_path: Path, fault: str, code: int, text: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(fault=fault))
    result = launch(2, "-m", "mpi4py", str(program), folder=tmp_path)
    assert result.returncode == code, result.stdout + result.stderr
    assert text in result.stderr


def launch(ranks: int, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [find_launcher(mpi_vendor()), "-n", str(ranks), sys.executable, *arguments]
    environment = {**launch_environment("/tmp"), "PYTHONPATH": str(snippets.ROOT), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


#: What the tutorial's programs print on rank 0, in its order.
TUTORIAL = [
    (1, "serial.py", r"serial: error \d\.\de-1\d\n"),
    (4, "pencils.py", r"rank 3 Z-pencil: array\[y, x, z\] of shape \(20, 24, 32\), x 24:48, y 20:40, z 0:32\n"),
    (4, "parallel.py", r"4 ranks: error \d\.\de-1\d, difference from the serial program \d\.\de-1\d\n"),
    (2, "solver.py", r"2 ranks: .* ms per solve before, .* ms now\n"),
    (4, "save.py", r"4 ranks: saved u in solution\.h5\n"),
    (3, "restart.py", r"3 ranks: read u of shape \(48, 40, 32\), error \d\.\de-1\d\n"),
    (1, "restart.py", r"1 ranks: read u of shape \(48, 40, 32\), error \d\.\de-1\d\n"),
    (4, "tune.py", r"9 candidates on 4 ranks in .*ms per solve\n"),
    (2, "anywhere.py", r"2 ranks, numpy: error \d\.\de-1\d\n"),
]


@pytest.mark.timeout(300)
def test_the_tutorial_on_other_ranks_at_each_step(tmp_path: Path) -> None:
    names = snippets.save("docs/tutorial.md", tmp_path)
    assert list(dict.fromkeys(name for _, name, _ in TUTORIAL)) == names
    for ranks, name, expected in TUTORIAL:
        result = launch(ranks, name, folder=tmp_path)
        assert result.returncode == 0, result.stdout + result.stderr
        assert re.search(expected, result.stdout, re.DOTALL), f"{name} printed {result.stdout!r}"
