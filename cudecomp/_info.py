# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What this package, its MPI and the library it would use are."""

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
