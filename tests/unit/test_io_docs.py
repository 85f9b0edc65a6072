# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The functions of cudecomp.io have docstrings with all parts, whose examples run."""

import doctest

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from tests.unit.test_api_docs import check_arguments, check_parts

PARTS = ["Args:", "Raises:", "Collective:", "Stream ordering:", "Threads:", "Example:", "See also:"]
FUNCTIONS = [pytest.param(getattr(cudecomp.io, name), id=name) for name in cudecomp.io.__all__]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_parts(function):
    check_parts(function, PARTS)
    check_arguments(function)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_examples_run(function, tmp_path, monkeypatch):
    pytest.importorskip("zarr" if "zarr" in function.__name__ else "h5py")
    monkeypatch.chdir(tmp_path)
    config = cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, 1))
    with cudecomp.Handle(MPI.COMM_SELF) as handle, handle.create_grid(config) as grid:
        names = {"cudecomp": cudecomp, "np": np, "grid": grid}
        test = doctest.DocTestParser().get_doctest(function.__doc__, names, function.__name__, None, 0)
        assert test.examples
        report = []
        failures = doctest.DocTestRunner().run(test, out=report.append).failed
        assert not failures, "".join(report)


def test_packages_are_not_imported_before_they_are_needed():
    import subprocess
    import sys

    code = "import sys, cudecomp.io; sys.exit(any(name in sys.modules for name in ('h5py', 'zarr', 'mpi4py.MPI')))"
    subprocess.run([sys.executable, "-c", code], check=True)
