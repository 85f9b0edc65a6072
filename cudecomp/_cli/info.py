# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Tells what is installed: package, MPI, the library in use and where it was looked for, GPUs, optional packages."""

import argparse
import ctypes
import json
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from cudecomp import _info
from cudecomp._cli import gpus
from cudecomp._cli.launch import DONE, WRONG, run_alone
from cudecomp._cli.tables import Printer, Table
from cudecomp_bindings._internal import search

HELP = "what is installed, and which library is used"

#: Packages that this one works with but does not need, and the names that they are distributed under.
OPTIONAL = {
    "CuPy": ("cupy", "cupy-cuda12x", "cupy-cuda13x"),
    "cuda.core": ("cuda-core",),
    "tqdm": ("tqdm",),
    "rich": ("rich",),
    "Matplotlib": ("matplotlib",),
    "SciPy": ("scipy",),
    "h5py": ("h5py",),
    "Zarr": ("zarr",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    def work(printer: Printer) -> int:
        found = collect()
        if options.json:
            printer.line(json.dumps(found, indent=2))
        else:
            printer.table(as_table(found))
        return DONE if found["error"] is None else WRONG

    return run_alone(work)


def collect() -> dict[str, Any]:
    """Everything there is to know, ready for JSON. Opens the library, but does not start MPI."""
    return {
        **_info.collect(),
        "built_with": built_with(),
        "searched": [{"place": place, "found": found} for place, found in searched()],
        "gpus": asdict(gpus.find()),
        "packages": {name: installed(names) for name, names in OPTIONAL.items()},
    }


def built_with() -> dict[str, Any] | None:
    """The MPI and the compiler that the built-in engine was built with; None if there is no engine."""
    for folder in search.engine_folders():
        try:
            info: dict[str, Any] = json.loads((folder / "build_info.json").read_text())
        except (OSError, ValueError):
            continue
        return {
            "mpi": f"{info['mpi']['vendor']} {'.'.join(map(str, info['mpi']['version']))}",
            "mpi_library": info["mpi"]["library"],
            "compiler": info["compiler"],
        }
    return None


def searched() -> Iterator[tuple[str, str]]:
    """Where a library is looked for, in order, and what is there. Opens none, so that only the one in use is loaded."""
    chosen = os.environ.get("CUDECOMP_LIBRARY", "").strip()
    if chosen and chosen != "builtin":
        there = "there" if "/" not in chosen or Path(chosen).exists() else "no such file"
        yield f"CUDECOMP_LIBRARY={chosen}", there
        return
    if not chosen:
        yield "CUDA driver", "there" if has_driver() else "none, so NVIDIA's library is not looked for"
        if home := os.environ.get("CUDECOMP_HOME", "").strip():
            for name in ("lib", "lib64"):
                path = Path(home, name, search.NVIDIA_LIBRARY)
                yield f"CUDECOMP_HOME: {path}", "there" if path.exists() else "no such file"
        yield "the loader's path", on_loader_path() or f"no {search.NVIDIA_LIBRARY}"
    for folder in search.engine_folders():
        engine = folder / search.BUILTIN_LIBRARY
        yield "the built-in engine", str(engine) if engine.exists() else f"no such file: {engine}"


def has_driver() -> bool:
    """Whether there is a CUDA driver; opened as the search for a library does."""
    try:
        ctypes.CDLL(search.CUDA_DRIVER)
    except OSError:
        return False
    return True


def on_loader_path(cache: Path = Path("/etc/ld.so.cache")) -> str | None:
    """NVIDIA's library where the loader would find it: in LD_LIBRARY_PATH, or in the folders of its cache."""
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        path = Path(folder, search.NVIDIA_LIBRARY)
        if path.exists():
            return str(path)
    try:
        known = re.search(rb"[^\0]*/" + re.escape(search.NVIDIA_LIBRARY.encode()) + rb"(?=\0)", cache.read_bytes())
    except OSError:
        return None
    return known[0].decode(errors="replace") if known else None


def installed(distributions: tuple[str, ...]) -> str | None:
    """The version of the first of these that is installed; none is imported."""
    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def as_table(found: dict[str, Any]) -> Table:
    """What `collect` returned, to be read."""
    rows = [*_program_rows(found), *_library_rows(found), *_machine_rows(found)]
    rows += found["environment"].items()
    return Table(("", ""), rows, text_columns=2)


def _program_rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    mpi, built = found["mpi"], found["built_with"]
    yield "cudecomp", found["cudecomp"]
    yield "Python", f"{found['python']} on {platform.machine()}"
    yield "NumPy", found["numpy"]
    yield "mpi4py", mpi["mpi4py"]
    yield "MPI", f"not usable: {mpi['error']}" if mpi["error"] else f"{mpi['vendor']} {mpi['version']}"
    yield "engine built with", f"{built['mpi']}, {built['compiler']}" if built else "there is no built-in engine"


def _library_rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    library = found["library"]
    if library is None:
        yield "library", f"none can be used: {found['error']}"
    else:
        yield "library", "the built-in engine" if library["kind"] == "builtin" else "NVIDIA's"
        yield "  line", f"cuDecomp {library['line']}"
        yield "  path", library["path"]
        yield "  found via", library["found_via"]
        yield "  transposes", ", ".join(library["transpose_backends"])
        yield "  halo updates", ", ".join(library["halo_backends"])
        yield "  data types", ", ".join(library["data_types"])
        for name, value in (library["engine"] or {}).items():
            yield f"  {name.replace('_', ' ')}", _plain(value)
    for number, place in enumerate(found["searched"]):
        yield "" if number else "searched", f"{place['place']}: {place['found']}"


def _machine_rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    seen = found["gpus"]
    if seen["devices"]:
        for number, gpu in enumerate(seen["devices"]):
            memory = f", {gpu['memory'] / 2**30:.0f} GiB" if gpu["memory"] else ""
            yield "" if number else "GPUs", f"{gpu['name']}{memory}"
        yield "", f"driver {seen['driver']}, according to {seen['source']}"
    else:
        yield "GPUs", f"none seen, {seen['source']}"
    yield "optional packages", ", ".join(f"{name} {version or '-'}" for name, version in found["packages"].items())


def _plain(value: object) -> str:
    """A JSON value on one line, without the marks of JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
