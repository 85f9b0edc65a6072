# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles the built-in engine into one shared library, rebuilding only what changed."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mpi_toolchain import BuildError, MpiToolchain, find_compiler, find_toolchain, soname_of_mpi

LIBRARY = "libcudecomp_builtin.so"
BUILD_INFO = "build_info.json"

# No -march: one library serves every machine of the architecture, faster instructions are chosen when it runs.
_COMPILE_FLAGS = (
    "-std=c++17",
    "-O3",
    "-pthread",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-Wall",
    "-Wextra",
)
# The deprecated C++ interfaces of MPI would draw in a second library.
_DEFINES = ("-DOMPI_SKIP_MPICXX=1", "-DMPICH_SKIP_MPICXX=1")
# Some compilers link their C++ library statically: a copy of it must not meet those of other libraries.
_LINK_FLAGS = (
    "-shared",
    "-pthread",
    "-Wl,-z,defs",
    "-Wl,--as-needed",
    "-Wl,--exclude-libs,ALL",
    f"-Wl,-soname,{LIBRARY}",
)


def build_engine(root: Path, outputs: list[Path], scratch: Path, version: str, jobs: int | None = None) -> None:
    """Brings the engine and its build information in each of the folders `outputs` up to date."""
    engine = root / "engine"
    sources = sorted((engine / "src").rglob("*.cc"))
    if not sources:
        raise BuildError(f"The engine has no sources: nothing matches {engine / 'src' / '**' / '*.cc'}.")
    headers = sorted([*engine.rglob("*.h"), *engine.rglob("*.inc")])
    compiler = find_compiler()
    mpi = find_toolchain(compiler)
    flags = [*_COMPILE_FLAGS, *_sanitizer_flags(), *shlex.split(os.environ.get("CXXFLAGS", ""))]
    link = [*_LINK_FLAGS, *_sanitizer_flags(link=True), *shlex.split(os.environ.get("LDFLAGS", ""))]
    identity = {
        "version": version,
        "mpi": {"vendor": mpi.vendor, "version": list(mpi.version)},
        "compiler": _first_line([*compiler, "--version"]),
        "flags": shlex.join(flags),
    }
    # Objects of each compiler, MPI and set of flags live apart: changing back and forth rebuilds nothing.
    objects = scratch / f"engine-{_digest([identity, link])}"
    compile_command = [
        *compiler,
        *flags,
        *_DEFINES,
        f'-DCUDECOMP_BUILTIN_VERSION="{version}"',
        f"-I{engine / 'include'}",
        f"-I{engine / 'src'}",
        f"-I{engine / 'stubs'}",
        *mpi.compile_flags,
    ]
    newest_header = max((header.stat().st_mtime for header in headers), default=0.0)
    object_files = _compile(sources, engine / "src", objects, compile_command, newest_header, jobs)
    _link(object_files, objects / LIBRARY, [*compiler, *link], mpi)
    identity["mpi"]["library"] = soname_of_mpi(objects / LIBRARY)
    for output in outputs:
        _install((objects / LIBRARY).read_bytes(), output / LIBRARY)
        _install((json.dumps(identity, indent=2) + "\n").encode(), output / BUILD_INFO)


def _compile(
    sources: list[Path], base: Path, objects: Path, command: list[str], newest_header: float, jobs: int | None
) -> list[Path]:
    targets = {source: objects / source.relative_to(base).with_suffix(".o") for source in sources}
    stale = [
        source for source, target in targets.items() if _mtime(target) < max(source.stat().st_mtime, newest_header)
    ]
    for source in stale:
        targets[source].parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as pool:
        list(pool.map(lambda source: _run([*command, "-c", str(source), "-o", str(targets[source])]), stale))
    return list(targets.values())


def _link(object_files: list[Path], library: Path, command: list[str], mpi: MpiToolchain) -> None:
    names = "\n".join(str(file) for file in object_files)
    listing = library.with_suffix(".objects")
    unchanged = listing.exists() and listing.read_text() == names
    if unchanged and _mtime(library) >= max(_mtime(file) for file in object_files):
        return
    _run([*command, *map(str, object_files), "-o", str(library), *mpi.link_flags])
    listing.write_text(names)


def _install(content: bytes, path: Path) -> None:
    """Puts a new file in place without touching the one that running processes have mapped."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_bytes() == content:
        return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.chmod(0o755 if path.suffix == ".so" else 0o644)
    fresh.replace(path)


def _sanitizer_flags(link: bool = False) -> list[str]:
    """`CUDECOMP_SANITIZE=address,undefined` builds an engine that reports its own memory errors."""
    names = os.environ.get("CUDECOMP_SANITIZE", "").strip()
    if not names:
        return []
    sanitize = [f"-fsanitize={names}"]
    return sanitize if link else [*sanitize, "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1"]


def _run(command: list[str]) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        raise BuildError(f"The compiler exited with {result.returncode}:\n  {shlex.join(command)}\n{result.stdout}")
    # In one piece, since others run beside this one.
    sys.stdout.write(f"{shlex.join(command)}\n{result.stdout}")
    sys.stdout.flush()


def _first_line(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _mtime(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
