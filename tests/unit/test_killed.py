# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""A rank that is killed in the middle: the job ends, and no shared memory is left anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.run_mpi import ROOT, find_launcher, launch_environment, mpi_vendor

PROGRAM = """
import os, signal
from mpi4py import MPI
import cudecomp

comm = MPI.COMM_WORLD
handle = cudecomp.Handle(comm)
grid = handle.create_grid(cudecomp.GridDescConfig(gdims=(32, 32, 32), pdims=(1, comm.size)))
y, z = grid.zeros(1, "float64"), grid.zeros(2, "float64")
grid.transpose_y_to_z(y, z)
print("pid", os.getpid(), flush=True)
comm.Barrier()
for step in range(10**9):
    if step == 1000 and comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    grid.transpose_y_to_z(y, z)
"""


def shared_files() -> set[str]:
    """Names in the folder for shared memory that are ours."""
    return {path.name for path in Path("/dev/shm").glob("*cudecomp*")}


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.timeout(150)
def test_a_killed_rank() -> None:
    before = shared_files()
    with tempfile.TemporaryDirectory(prefix="cdt", dir="/tmp") as tmpdir:
        environment = {**launch_environment(tmpdir), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        command = [find_launcher(mpi_vendor()), "-n", "2", sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    pids = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("pid ")]
    assert len(pids) == 2, done.stdout + done.stderr
    deadline = time.monotonic() + 20  # launchers end the other ranks, but some do not wait for their ends
    while (left := [pid for pid in pids if is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    assert shared_files() <= before
