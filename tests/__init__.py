# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Tests. A source tree without compiled modules steps behind an installed package on the import path."""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent

if not list((_ROOT / "cudecomp").glob("_core*.so")) and str(_ROOT) in sys.path:
    # "python -m" and pytest put the tree first; its `cudecomp` cannot work before an in-place build.
    sys.path[:] = [entry for entry in sys.path if entry not in ("", str(_ROOT))] + [str(_ROOT)]
