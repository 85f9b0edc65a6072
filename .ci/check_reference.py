# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that the built documentation has every public name: `python .ci/check_reference.py HTML_FOLDER`."""

import enum
import inspect
import sys
from pathlib import Path

from sphinx.util.inventory import InventoryFile

import cudecomp
import cudecomp.io
from cudecomp_bindings import cudecomp as bindings


def public_names(module, names):
    """Names of a module, with the members of its classes that are written here and not inherited."""
    for name in names:
        path = f"{module.__name__}.{name}"
        item = getattr(module, name)
        yield path
        if inspect.isclass(item):
            yield from (f"{path}.{member}" for member in members(item))


def members(kind):
    if issubclass(kind, enum.Enum):
        return list(kind.__members__)
    if issubclass(kind, BaseException):
        return []
    return [name for name in vars(kind) if not name.startswith("_")]


def main(html):
    inventory = InventoryFile.loads((html / "objects.inv").read_bytes(), uri="")
    documented = {name for role, entries in inventory.data.items() if role.startswith("py:") for name in entries}
    wanted = {
        *public_names(cudecomp, cudecomp.__all__),
        *public_names(cudecomp.io, cudecomp.io.__all__),
        *public_names(bindings, bindings.__all__),
    }
    missing = sorted(wanted - documented)
    if missing:
        sys.exit(f"not in the API reference: {', '.join(missing)}")
    print(f"the API reference has all {len(wanted)} public names")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
