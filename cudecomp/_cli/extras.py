# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Optional packages, imported when a command needs them."""

import importlib
from types import ModuleType

from cudecomp._cli.launch import CommandError


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Imports a module; raises CommandError, which names the extra that brings it, where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise CommandError(
            f"{purpose} needs {package}, which cannot be imported ({error}); pip install 'cudecomp[{extra}]'"
        ) from None


def drawing() -> ModuleType:
    """Matplotlib, with its figures; pyplot and its windows stay out of it."""
    matplotlib = require("matplotlib", "plot", "drawing")
    for part in ("cm", "colors", "figure", "patches"):
        importlib.import_module(f"matplotlib.{part}")
    return matplotlib
