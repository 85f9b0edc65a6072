# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles libraries that answer to cudecomp.h and do nothing (fakelib.c)."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def build(folder: Path, *macros: str, name: str = "libfake.so") -> Path:
    """Compiles fakelib.c into ``folder``.

    Args:
        folder: Where the library goes.
        macros: ``FAKE_OLD_LINE`` (exports what 0.5 and 0.6 export), ``FAKE_WITHOUT_SHIFTED_RANK`` (lacks
            cudecompGetShiftedRank), ``FAKE_LAST_ERROR`` (explains errors as the built-in engine does).
        name: File name of the library.
    """
    library = folder / name
    command = [
        *os.environ.get("CC", "cc").split(), "-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC",
        *(f"-D{macro}" for macro in macros),
        f"-I{ROOT / 'engine' / 'include'}", "-idirafter", str(ROOT / "codegen" / "stubs"),
        str(Path(__file__).with_name("fakelib.c")), "-o", str(library),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return library
