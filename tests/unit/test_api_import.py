# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What `import cudecomp` does not do, and what it offers."""

import subprocess
import sys
import tomllib
from pathlib import Path

import cudecomp

ROOT = Path(__file__).parents[2]


def test_import_loads_neither_mpi_nor_gpu_packages_nor_a_library():
    program = """
import sys, cudecomp
from cudecomp_bindings._internal import cudecomp as internal
print([name for name in ("mpi4py.MPI", "cupy", "torch", "cuda", "cuda.core") if name in sys.modules])
print(internal.get_loaded_library())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "[]\nNone\n"
    assert result.stderr == ""


def test_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cudecomp.__version__ == project["version"]


def test_public_names():
    assert cudecomp.__all__ == sorted(cudecomp.__all__)
    assert all(hasattr(cudecomp, name) for name in cudecomp.__all__)
    public = {name for name in vars(cudecomp) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(cudecomp, name)).__name__ == "module"}
    assert public - modules == set(cudecomp.__all__) - {"__version__"}
