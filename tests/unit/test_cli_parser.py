# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The command line before a command runs: help, versions, mistakes, and who speaks."""

import os
import subprocess
import sys

import pytest

import cudecomp
from cudecomp._cli import COMMANDS, launch, main, make_parser
from cudecomp._cli.launchers import Launcher, is_first_process, launcher_of, speaks

PLOT = ["plot-decomposition", "--grid", "16", "12", "8", "--pdims", "2", "3"]
LAUNCHED = [name for name in os.environ if name.startswith(("OMPI_COMM_WORLD", "PMI", "MV2_", "SLURM_"))]


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch):
    for name in LAUNCHED:
        monkeypatch.delenv(name)


def refused(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"] if command else ["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert f"usage: python -m cudecomp {command or ''}".rstrip() in text
    for name in COMMANDS if command is None else ():
        assert name in text


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"cudecomp {cudecomp.__version__}\n"


def test_help_starts_neither_mpi_nor_a_library_nor_matplotlib():
    program = """
import sys
from cudecomp._cli import COMMANDS, main
for command in COMMANDS:
    try:
        main([command, "--help"])
    except SystemExit:
        pass
from cudecomp_bindings._internal import cudecomp as internal
loaded = [name for name in ("mpi4py.MPI", "matplotlib", "rich", "tqdm", "cupy", "cuda") if name in sys.modules]
print("loaded:", loaded, internal.get_loaded_library())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.splitlines()[-1] == "loaded: [] None"
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["plot-decomposition"], "the following arguments are required: --grid, --pdims"),
        (["plot-decomposition", "--grid", "16", "12"], "argument --grid: expected 3 arguments"),
        (["plot-decomposition", "--grid", "16", "12", "0"], "argument --grid: 0 is less than 1"),
        (["plot-decomposition", "--grid", "16", "12", "x"], "argument --grid: 'x' is no integer"),
        ([*PLOT, "--memory-order", "xyz", "xxy", "zxy"], "'xxy' is no order of the axes, expected for example yzx"),
        ([*PLOT, "--output", "a.bmp"], "'a.bmp' does not end in .png, .svg, .pdf"),
        ([*PLOT, "--output", "/no/such/folder/a.png"], "'/no/such/folder/a.png' is in a folder that does not exist"),
    ],
)  # fmt: skip
def test_mistakes(arguments, text, capsys):
    assert text in refused(arguments, capsys)


OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "PMIX_RANK": "2", "SLURM_STEP_NUM_TASKS": "1"}


@pytest.mark.parametrize(
    ("environment", "launcher"),
    [
        ({}, None),
        ({"HOME": "/root", "SLURM_NTASKS": "4"}, None),
        (OPEN_MPI, Launcher("Open MPI's mpirun", 4, 2, "OMPI_COMM_WORLD_SIZE")),
        ({"PMI_SIZE": "3", "PMI_RANK": "0"}, Launcher("MPICH's mpiexec or another PMI launcher", 3, 0, "PMI_SIZE")),
        ({"MV2_COMM_WORLD_SIZE": "2"}, Launcher("MVAPICH's mpirun", 2, None, "MV2_COMM_WORLD_SIZE")),
        (
            {"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "7", "SLURM_NTASKS": "8"},
            Launcher("Slurm's srun", 8, 7, "SLURM_STEP_NUM_TASKS"),
        ),
        ({"PMIX_RANK": "5"}, Launcher("a PMIx launcher", None, 5, "PMIX_RANK")),
        ({"PMI_SIZE": "many"}, None),
    ],
)
def test_launchers(environment, launcher):
    assert launcher_of(environment) == launcher


def test_only_the_first_process_of_a_launcher_complains(monkeypatch, capsys):
    assert is_first_process()
    monkeypatch.setattr(launch, "GRACE", 0.0)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    assert "required: COMMAND" in refused([], capsys)
    assert speaks(0, 4)
    assert speaks(0, 1)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    assert refused([], capsys) == ""
    assert not speaks(3, 4)
    # Processes of a launcher that do not know of each other are all rank 0 of 1.
    assert not speaks(0, 1)
    # Ranks of a communicator may be numbered in another order than the launcher's.
    assert speaks(0, 4)


@pytest.mark.parametrize("rank", [0, 1])
def test_the_first_process_has_time_to_tell_what_is_wrong(rank, monkeypatch, capsys):
    """Launchers end the others as soon as one has failed."""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", str(rank))
    slept = []
    monkeypatch.setattr(launch.time, "sleep", slept.append)
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args(["bench"])
    assert ended.value.code == launch.USAGE
    assert launch.run_alone(lambda printer: launch.WRONG) == launch.WRONG
    assert launch.run_alone(lambda printer: launch.DONE) == launch.DONE
    assert slept == [launch.GRACE] * 2 * rank
    assert ("--grid" in capsys.readouterr().err) == (rank == 0)
