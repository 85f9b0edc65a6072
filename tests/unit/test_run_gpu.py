# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The script that runs everything on GPUs, where there are none."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "run_gpu.py"


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_it_says_why_nothing_is_run() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--no-build"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing is run: CuPy is not installed\n"), done.stderr
