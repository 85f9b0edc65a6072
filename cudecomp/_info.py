# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What this package and the library it would use are, for `python -m cudecomp info`."""

import ctypes
import json
import os
import platform
from typing import Any

import numpy as np

from cudecomp._enums import DataType, HaloCommBackend, TransposeCommBackend
from cudecomp._version import __version__
from cudecomp_bindings._internal import cudecomp as loader


def collect() -> dict[str, Any]:
    """Everything there is to know, ready for JSON; `error` says why no library can be used, or is None.

    Opens the library, but does not start MPI, so that it works without a launcher.
    """
    found: dict[str, Any] = {
        "cudecomp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi": _describe_mpi(),
        "environment": {name: value for name, value in sorted(os.environ.items()) if name.startswith("CUDECOMP_")},
        "library": None,
        "error": None,
    }
    try:
        found["library"] = _describe_library(loader.load_library())
    except (loader.LibraryLoadError, OSError) as error:
        found["error"] = str(error)
    return found


def _describe_mpi() -> dict[str, Any]:
    import mpi4py

    mpi4py.rc.initialize = False
    described: dict[str, Any] = {"mpi4py": mpi4py.__version__, "error": None}
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        return described | {"error": str(error)}
    vendor, version = MPI.get_vendor()
    return described | {
        "vendor": vendor,
        "version": ".".join(map(str, version)),
        "library": MPI.Get_library_version().rstrip("\0").strip(),
    }


def _describe_library(library: loader.LoadedLibrary) -> dict[str, Any]:
    engine = _engine_info() or {}
    return {
        "kind": library.kind,
        "line": library.line,
        "path": library.path,
        "found_via": library.found_via,
        # NVIDIA's library may be built without some of its backends, and does not tell.
        "transpose_backends": engine.pop("transpose_backends", list(TransposeCommBackend.__members__)),
        "halo_backends": engine.pop("halo_backends", list(HaloCommBackend.__members__)),
        "data_types": list(DataType.__members__),
        "engine": engine or None,
    }


def _engine_info() -> dict[str, Any] | None:
    """What the built-in engine says of itself; None for another library."""
    address = loader._get_optional_symbol("cudecompBuiltinGetInfo")
    if not address:
        return None
    text = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return json.loads(text)  # type: ignore[no-any-return]


def as_text(found: dict[str, Any]) -> str:
    """What `collect` returned as lines to read."""
    mpi, library = found["mpi"], found["library"]
    rows: list[tuple[str, str]] = [
        ("cudecomp", found["cudecomp"]),
        ("Python", found["python"]),
        ("NumPy", found["numpy"]),
        ("mpi4py", mpi["mpi4py"]),
        ("MPI", f"not usable: {mpi['error']}" if mpi["error"] else f"{mpi['vendor']} {mpi['version']}"),
    ]
    if library is None:
        rows.append(("library", f"none can be used: {found['error']}"))
    else:
        rows += [
            ("library", "the built-in engine" if library["kind"] == "builtin" else "NVIDIA's"),
            ("  line", f"cuDecomp {library['line']}"),
            ("  path", library["path"]),
            ("  found via", library["found_via"]),
            ("  transposes", ", ".join(library["transpose_backends"])),
            ("  halo updates", ", ".join(library["halo_backends"])),
            ("  data types", ", ".join(library["data_types"])),
            *((f"  {name.replace('_', ' ')}", _plain(value)) for name, value in (library["engine"] or {}).items()),
        ]
    rows += [(name, value) for name, value in found["environment"].items()]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows)


def _plain(value: object) -> str:
    """A JSON value on one line, without the marks of JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
