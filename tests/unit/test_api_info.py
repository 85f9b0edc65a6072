# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m cudecomp info`."""

import json
import os
import subprocess
import sys
from importlib import metadata

import numpy as np
from mpi4py import MPI

import cudecomp


def command(*arguments, **variables):
    """Runs the command line with the built-in engine, unless told otherwise."""
    return subprocess.run(
        [sys.executable, "-m", "cudecomp", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "CUDECOMP_LIBRARY": "builtin", **variables},
    )


def test_text():
    result = command("info")
    assert (result.returncode, result.stderr) == (0, "")
    rows = dict(line.strip().split("  ", 1) for line in result.stdout.splitlines())
    rows = {name: value.strip() for name, value in rows.items()}
    vendor, version = MPI.get_vendor()
    assert rows["cudecomp"] == cudecomp.__version__
    assert rows["NumPy"] == np.__version__
    assert rows["MPI"] == f"{vendor} {'.'.join(map(str, version))}"
    assert rows["library"] == "the built-in engine"
    assert rows["line"] == "cuDecomp 0.7"
    assert rows["path"].endswith("libcudecomp_builtin.so")
    assert rows["found via"] == "CUDECOMP_LIBRARY=builtin"
    assert rows["transposes"] == "MPI_P2P, MPI_P2P_PL, MPI_A2A"
    assert rows["halo updates"] == "MPI, MPI_BLOCKING"
    assert rows["data types"] == "FLOAT, DOUBLE, FLOAT_COMPLEX, DOUBLE_COMPLEX"
    assert rows["CUDECOMP_LIBRARY"] == "builtin"
    assert rows["searched"] == f"the built-in engine: {rows['path']}"
    assert rows["engine built with"].startswith(rows["MPI"])
    assert f"Matplotlib {metadata.version('matplotlib')}" in rows["optional packages"]


def test_json():
    result = command("info", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["error"] is None
    assert found["cudecomp"] == cudecomp.__version__
    assert found["mpi"]["vendor"] == MPI.get_vendor()[0]
    assert found["library"]["kind"] == "builtin"
    assert found["library"]["line"] == "0.7"
    assert os.path.isfile(found["library"]["path"])  # noqa: PTH113
    assert found["library"]["transpose_backends"] == ["MPI_P2P", "MPI_P2P_PL", "MPI_A2A"]
    assert found["library"]["engine"]["interface"].startswith("0.7")
    assert found["environment"]["CUDECOMP_LIBRARY"] == "builtin"
    assert found["searched"] == [{"place": "the built-in engine", "found": found["library"]["path"]}]
    assert found["built_with"]["mpi"].startswith(found["mpi"]["vendor"])
    assert set(found["gpus"]) == {"devices", "driver", "source"}
    assert found["packages"]["rich"] == metadata.version("rich")


def test_no_usable_library():
    path = "/nowhere/libcudecomp.so"
    result = command("info", CUDECOMP_LIBRARY=path)
    assert (result.returncode, result.stderr) == (1, "")
    assert f"none can be used: CUDECOMP_LIBRARY={path}: there is no such file" in result.stdout
    result = command("info", "--json", CUDECOMP_LIBRARY=path)
    assert result.returncode == 1
    found = json.loads(result.stdout)
    assert found["searched"] == [{"place": f"CUDECOMP_LIBRARY={path}", "found": "no such file"}]
    assert found["library"] is None
    assert path in found["error"]


def test_usage():
    result = command()
    assert result.returncode == 2
    assert "usage: python -m cudecomp" in result.stderr
    assert command("--help").returncode == 0
