# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Exceptions: kinds, result codes, pickles; how ranks put their errors together."""

import copy
import pickle

import pytest

import cudecomp
from cudecomp import Result
from cudecomp._agreement import _by_value
from cudecomp._errors import error_from_result

KINDS = {
    Result.INVALID_USAGE: cudecomp.InvalidUsageError,
    Result.NOT_SUPPORTED: cudecomp.NotSupportedError,
    Result.INTERNAL_ERROR: cudecomp.InternalError,
    Result.CUDA_ERROR: cudecomp.CudaError,
    Result.CUTENSOR_ERROR: cudecomp.CutensorError,
    Result.MPI_ERROR: cudecomp.MpiError,
    Result.NCCL_ERROR: cudecomp.NcclError,
    Result.NVSHMEM_ERROR: cudecomp.NvshmemError,
    Result.NVML_ERROR: cudecomp.NvmlError,
}


def test_every_result_code_has_its_own_exception():
    assert set(KINDS) == set(Result) - {Result.SUCCESS}
    assert len(set(KINDS.values())) == len(KINDS)


@pytest.mark.parametrize(("result", "kind"), KINDS.items())
def test_exception_of_a_result_code(result, kind):
    error = error_from_result(int(result), "what happened")
    assert type(error) is kind
    assert isinstance(error, cudecomp.CudecompError)
    assert isinstance(error, RuntimeError)
    assert error.result is result
    assert str(error) == "what happened"
    assert kind("text").result is result


def test_builtin_bases():
    assert issubclass(cudecomp.InvalidUsageError, ValueError)
    assert issubclass(cudecomp.NotSupportedError, NotImplementedError)


def test_unknown_result_code():
    error = error_from_result(77, "text")
    assert type(error) is cudecomp.CudecompError
    assert error.result == 77
    assert isinstance(error.result, Result)


@pytest.mark.parametrize("kind", [*KINDS.values(), cudecomp.CudecompError])
def test_pickle_and_copy(kind):
    error = kind("a text", 5)
    error.add_note("a note")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind
        assert twin.args == ("a text",)
        assert twin.result is Result.CUTENSOR_ERROR
        assert twin.__notes__ == ["a note"]


def test_names_in_tracebacks_are_public():
    assert cudecomp.InvalidUsageError.__module__ == "cudecomp"
    assert cudecomp.GridDescConfig.__module__ == "cudecomp"


def test_ranks_in_texts():
    assert _by_value(list("aabaaabba")) == {"a": "ranks 0-1, 3-5, 8", "b": "ranks 2, 6-7"}
    assert _by_value(["x", "y", "x"]) == {"x": "ranks 0, 2", "y": "rank 1"}
