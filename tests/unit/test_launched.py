# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Jobs of two ranks in which one rank fails: what docs/faq.md says of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
    command = [find_launcher(mpi_vendor()), "-n", "2", sys.executable, "-m", "mpi4py", str(program)]
    result = subprocess.run(
        command, env=launch_environment("/tmp"), capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == code, result.stdout + result.stderr
    assert text in result.stderr
