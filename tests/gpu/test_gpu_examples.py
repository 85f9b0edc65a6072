# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The example programs on GPUs: the files that tests/mpi runs on NumPy."""

from __future__ import annotations

from typing import Any

import pytest

import cudecomp
from cudecomp._gpu_backends import mpi_takes_gpu_memory
from tests.mpi.support import EXAMPLE_RUNS, load_example

pytestmark = pytest.mark.only_gpu


@pytest.mark.parametrize("name", ["gpu_cuda_core", "gpu_torch"])
def test_program_for_gpus(device: Any, capsys: pytest.CaptureFixture[str], name: str) -> None:
    pytest.importorskip({"gpu_cuda_core": "cuda.core", "gpu_torch": "torch"}[name])
    code = load_example(name).main(["--grid", "24", "16", "20"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize(("name", "arguments"), EXAMPLE_RUNS)
def test_program(device: Any, capsys: pytest.CaptureFixture[str], name: str, arguments: str) -> None:
    code = load_example(name).main([*arguments.split(), "--device", "gpu"])
    assert code == 0, capsys.readouterr().out


def test_autotuned(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--grid", "16", "12", "20", "--trials", "1", "--device", "gpu"]
    if mpi_takes_gpu_memory():
        assert load_example("autotuned").main(arguments) == 0, capsys.readouterr().out
        return
    with pytest.raises(cudecomp.NotSupportedError, match=r"hands GPU memory to MPI when it has tuned transposes"):
        load_example("autotuned").main(arguments)
