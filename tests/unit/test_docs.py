# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Facts that pages of the documentation state, checked against the code."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.snippets import DOCS, ROOT

#: What reads environment variables.
READERS = [
    "cudecomp/**/*.py",
    "cudecomp/**/*.pyx",
    "cudecomp_bindings/**/*.py",
    "engine/src/**/*.cc",
    "build_backend/*.py",
]


def test_every_environment_variable_is_documented() -> None:
    files = [path for pattern in READERS for path in ROOT.glob(pattern)]
    names = {name for path in files for name in re.findall(r"[\"'](CUDECOMP_[A-Z_]*[A-Z])[\"']", path.read_text())}
    assert len(names) > 10
    page = (DOCS / "environment.md").read_text()
    assert not {name for name in names if f"`{name}`" not in page}


def test_links_of_pages_outside_the_documentation_lead_somewhere() -> None:
    # Sphinx looks after those inside.
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_environment_files_ask_for_what_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    conda = (ROOT / "environments" / "conda.yml").read_text()
    for need in [
        *project["dependencies"],
        *(need for extra in ("io", "cli", "plot", "examples") for need in extras[extra]),
    ]:
        assert re.search(rf"^  - {re.escape(need)}(=|$)", conda, re.MULTILINE), f"conda.yml has no line for {need}"
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert all(f"  - {need}\n" in conda for need in build)
    named = re.search(r"^\.\[(.+)\]$", (ROOT / "environments" / "pip.txt").read_text(), re.MULTILINE)
    assert named
    assert set(named[1].split(",")) <= set(extras)


@pytest.mark.parametrize("script", ["pencils.py", "concepts.py"])
def test_pictures_can_be_drawn_again(script: str, tmp_path: Path) -> None:
    folder = DOCS / "images"
    target = tmp_path / "pencils.svg" if script == "pencils.py" else tmp_path
    subprocess.run([sys.executable, folder / script, target], check=True, timeout=100)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == (
        {"pencils.svg"} if script == "pencils.py" else {"process_grid.svg", "memory_orders.svg", "halo.svg"}
    )
    assert all((folder / name).exists() for name in drawn)


def grid_of(handle: cudecomp.Handle, **fields: object) -> cudecomp.GridDesc:
    return handle.create_grid(cudecomp.GridDescConfig(**{"gdims": (8, 6, 4), "pdims": (1, 1), **fields}))


def pencil(grid: cudecomp.GridDesc, dtype: str = "float64") -> np.ndarray:
    return np.zeros(grid.get_pencil_info(0).shape, dtype)


def use_after_the_end(handle: cudecomp.Handle) -> None:
    grid = grid_of(handle)
    grid.destroy()
    grid.get_pencil_info(0)


def with_grid(function: Callable[[cudecomp.GridDesc], object]) -> Callable[[cudecomp.Handle], None]:
    def run(handle: cudecomp.Handle) -> None:
        with grid_of(handle, transpose_axis_contiguous=(True, True, True)) as grid:
            try:
                function(grid)
            finally:
                grid.destroy()

    return run


MESSAGES: dict[str, Callable[[cudecomp.Handle], object]] = {
    "pdims is (0, 0) and there are no autotuning options": lambda handle: grid_of(handle, pdims=(0, 0)),
    "which makes 4 pencils, but the handle has 1 rank": lambda handle: grid_of(handle, pdims=(2, 2)),
    "expected at least 1 point along X": lambda handle: grid_of(handle, gdims=(0, 0, 0)),
    "moves GPU memory; the built-in engine works on host memory": lambda handle: grid_of(
        handle, transpose_comm_backend=cudecomp.TransposeCommBackend.NCCL
    ),
    "expected a permutation of (0, 1, 2)": lambda handle: grid_of(
        handle, transpose_mem_order=((0, 1, 2), (0, 0, 2), (0, 1, 2))
    ),
    "the X-pencil of this rank": with_grid(lambda grid: grid.transpose_x_to_y(np.zeros((8, 6, 4)))),
    "input is not C-contiguous": with_grid(lambda grid: grid.transpose_x_to_y(np.zeros((4, 8, 6)).transpose(0, 2, 1))),
    "expected float32, float64, complex64 or complex128": with_grid(
        lambda grid: grid.transpose_x_to_y(pencil(grid, "int64"))
    ),
    "arrays are never converted": with_grid(
        lambda grid: grid.transpose_x_to_y(pencil(grid), np.zeros(grid.get_pencil_info(1).shape, "float32"))
    ),
    "out is input, but the shape changes": with_grid(
        lambda grid: (lambda array: grid.transpose_x_to_y(array, array))(pencil(grid))
    ),
    "takes 3 integers (X, Y, Z)": with_grid(lambda grid: grid.update_halos_x(pencil(grid), (1, 1))),
    "still in use; call destroy() before Handle.finalize()": with_grid(lambda grid: grid.handle.finalize()),
    "this GridDesc is destroyed": use_after_the_end,
    "make a Handle only on the ranks of the communicator": lambda handle: cudecomp.Handle(MPI.COMM_NULL),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_of_the_errors_page(message: str) -> None:
    assert f"`{message}`" in (DOCS / "errors.md").read_text()
    with cudecomp.Handle(MPI.COMM_SELF) as handle:
        with pytest.raises((TypeError, ValueError, NotImplementedError)) as caught:
            MESSAGES[message](handle)
        assert message in str(caught.value)
