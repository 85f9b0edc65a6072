# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Every public name has a docstring with all parts, and its example runs."""

import doctest
import inspect

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp

PARTS = {
    "method": ["Raises:", "Collective:", "Stream ordering:", "Threads:", "Example:", "See also:"],
    "class": ["Raises:", "Collective:", "Threads:", "Example:", "See also:"],
    "value": ["Attributes:", "Example:", "See also:"],
}
COLLECTIVE_CLASSES = {
    "Handle": "class",
    "GridDesc": "class",
    "GridDescConfig": "class",
    "GridDescAutotuneOptions": "class",
    "OperationPerformance": "value",
    "PencilInfo": "value",
    "PerformanceReport": "value",
    "PerformanceSample": "value",
    "AutotuneCandidate": "value",
    "AutotuneChoice": "value",
    "AutotuneMachine": "value",
    "AutotuneReport": "value",
    "AutotuneTimes": "value",
    "CudecompError": "value",
}
ENUMS = {"AutotuneGridMode", "DataType", "HaloCommBackend", "RankOrder", "Result", "TransposeCommBackend"}


def methods():
    for owner in (cudecomp.Handle, cudecomp.GridDesc):
        for name, member in vars(owner).items():
            if not name.startswith("_") and callable(member):
                yield pytest.param(member, id=f"{owner.__name__}.{name}")


def documented():
    for name in COLLECTIVE_CLASSES:
        yield pytest.param(getattr(cudecomp, name), id=name)
    yield from methods()


def test_every_public_name_is_of_a_kind_that_is_checked():
    errors = {kind.__name__ for kind in cudecomp.CudecompError.__subclasses__()}
    assert set(cudecomp.__all__) == {*COLLECTIVE_CLASSES, *ENUMS, *errors, "__version__"}
    for name in ENUMS | errors:
        doc = getattr(cudecomp, name).__doc__
        assert doc
        assert doc.strip().endswith(".") or "\n" in doc, name
    for name in errors:
        assert "CUDECOMP_RESULT_" in getattr(cudecomp, name).__doc__


@pytest.mark.parametrize(("name", "kind"), COLLECTIVE_CLASSES.items())
def test_parts_of_class_docstrings(name, kind):
    check_parts(getattr(cudecomp, name), PARTS[kind])


@pytest.mark.parametrize("method", [*methods()])
def test_parts_of_method_docstrings(method):
    check_parts(method, PARTS["method"])
    check_arguments(method)


def check_arguments(function):
    doc = inspect.getdoc(function)
    assert "cudecomp" in doc[doc.index("See also:") :], "See also names the C function"
    parameters = [name for name in inspect.signature(function).parameters if name != "self"]
    assert ("Args:" in doc) == bool(parameters)
    for name in parameters:
        assert f"\n    {name}: " in doc, f"{name} is not among the Args"


def check_parts(documented, parts):
    doc = inspect.getdoc(documented)
    summary = doc.split("\n")[0]
    assert summary.endswith("."), summary
    assert len(summary) <= 120
    found = [part for part in parts if f"\n{part}" in doc]
    assert found == parts


def test_properties_are_documented():
    for owner in (cudecomp.Handle, cudecomp.GridDesc):
        for name, member in vars(owner).items():
            if not name.startswith("_") and inspect.isdatadescriptor(member):
                assert member.__doc__, f"{owner.__name__}.{name}"


@pytest.mark.parametrize("item", [*documented(), pytest.param(cudecomp, id="package")])
def test_examples_run(item):
    config = cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, 1))
    with cudecomp.Handle(MPI.COMM_WORLD) as handle, handle.create_grid(config) as grid:
        names = {**vars(cudecomp), "cudecomp": cudecomp, "np": np, "MPI": MPI, "handle": handle, "grid": grid}
        test = doctest.DocTestParser().get_doctest(item.__doc__, names, str(item), None, 0)
        assert test.examples
        report = []
        failures = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=report.append).failed
        assert not failures, "".join(report)
