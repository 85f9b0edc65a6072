# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the sdist and from it the wheel, and checks what is in them: `python .ci/check_distribution.py FOLDER`."""

import subprocess
import sys
import tarfile
import zipfile
from fnmatch import fnmatch
from pathlib import Path

IN_SDIST = [
    "*/pyproject.toml",
    "*/setup.py",
    "*/build_backend/cudecomp_backend.py",
    "*/engine/include/cudecomp.h",
    "*/engine/src/*.cc",
    "*/codegen/__main__.py",
    "*/cudecomp/_core.pyx",
    "*/cudecomp_bindings/cycudecomp.pxd",
    "*/tests/run_mpi.py",
    "*/examples/common.py",
    "*/examples/poisson.py",
    "*/docs/images/pencils.svg",
    "*/README.md",
    "*/LICENSE",
]
IN_WHEEL = [
    "cudecomp/__init__.py",
    "cudecomp/py.typed",
    "cudecomp/_core.*.so",
    "cudecomp/_core.pyi",
    "cudecomp/_engine/libcudecomp_builtin.so",
    "cudecomp/_engine/build_info.json",
    "cudecomp_bindings/py.typed",
    "cudecomp_bindings/cudecomp.*.so",
    "cudecomp_bindings/cudecomp.pyi",
    "cudecomp_bindings/cycudecomp.*.so",
    "cudecomp_bindings/cycudecomp.pxd",
    "cudecomp_bindings/_internal/cudecomp.*.so",
    "cudecomp-*.dist-info/licenses/LICENSE",
]
NOT_IN_SDIST = ["*.so", "*.o", "*.pyc", "*/build_info.json", "*/build/*", "*/.venv/*"]
NOT_IN_WHEEL = ["*.pyx", "*.c", "*.cc", "*.cpp", "*.o", "tests/*", "codegen/*", "engine/*", "benchmarks/*", "docs/*"]


def check(archive, names, wanted, unwanted):
    missing = [pattern for pattern in wanted if not any(fnmatch(name, pattern) for name in names)]
    extra = [name for name in names if any(fnmatch(name, pattern) for pattern in unwanted)]
    if missing or extra:
        sys.exit(f"{archive.name}: missing {missing}, must not be there: {extra}")
    print(f"{archive.name}: {len(names)} files, nothing missing, nothing too much")


def main(folder):
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), "."], check=True, stdout=subprocess.DEVNULL)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        check(sdist, [member.name for member in archive if member.isfile()], IN_SDIST, NOT_IN_SDIST)
    with zipfile.ZipFile(wheel) as archive:
        check(wheel, archive.namelist(), IN_WHEEL, NOT_IN_WHEEL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
