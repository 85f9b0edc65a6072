# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What the command line does on GPU arrays, over a GPU that is not there and arrays that refuse what CuPy's refuse."""

from __future__ import annotations

import io
import types
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from cudecomp._cli import bench, make_parser
from cudecomp._cli.arrays import Arrays
from cudecomp._cli.launch import Watchdog
from cudecomp._cli.selftest import SelfTest
from cudecomp._cli.tables import Printer
from tests.fakegpu import FakeArray, FakeGpu

pytestmark = pytest.mark.only_fake


class DeviceArray(FakeArray):
    """As much of a CuPy array as the command line uses; like it, it does not turn into a NumPy array by itself."""

    __array_ufunc__ = None

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    def __getitem__(self, index: object) -> DeviceArray:
        return DeviceArray(self.host[index])

    def reshape(self, *shape: Any) -> DeviceArray:
        return DeviceArray(self.host.reshape(*shape))

    def __setitem__(self, index: object, values: DeviceArray) -> None:
        assert isinstance(values, DeviceArray), type(values)
        self.host[index] = values.host

    def fill(self, value: float) -> None:
        self.host.fill(value)

    @property
    def size(self) -> int:
        return self.host.size

    @property
    def dtype(self) -> np.dtype:
        return self.host.dtype


class Stream:
    """The current stream, which counts how often it was waited for."""

    waits = 0

    def synchronize(self) -> None:
        Stream.waits += 1


def fake_cupy(gpu: FakeGpu) -> Any:
    def asnumpy(array: DeviceArray) -> np.ndarray:
        assert isinstance(array, DeviceArray), type(array)
        return array.host.copy()

    def copyto(target: DeviceArray, source: DeviceArray) -> None:
        target.host[...] = source.host

    return types.SimpleNamespace(
        empty=lambda shape, dtype: DeviceArray(np.empty(shape, dtype), gpu),
        ones=lambda shape, dtype: DeviceArray(np.ones(shape, dtype), gpu),
        asarray=lambda values: DeviceArray(np.array(values), gpu),
        asnumpy=asnumpy,
        copyto=copyto,
        cuda=types.SimpleNamespace(get_current_stream=Stream),
    )


@pytest.fixture
def arrays(gpu: FakeGpu) -> Arrays:
    return Arrays(fake_cupy(gpu))


def test_self_test(handle: cudecomp.Handle, comm: MPI.Comm, arrays: Arrays) -> None:
    assert (arrays.name, arrays.on_gpu) == ("CuPy", True)
    test = SelfTest(handle, arrays, Watchdog(comm, 100))
    outcomes = list(test.run())
    test.close()
    assert [outcome for outcome in outcomes if outcome.problem] == []
    assert {outcome.what for outcome in outcomes} == {
        "pencil geometry",
        "transposes",
        "transposes in place",
        "halo updates",
        "autotuning",
    }
    calls = {(outcome.what, outcome.where): outcome.calls for outcome in outcomes}
    assert calls["transposes", f"1 x {comm.size}, x fastest"] == 32 * comm.size


def test_bench(comm: MPI.Comm, arrays: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "choose", lambda comm: arrays)
    monkeypatch.setattr(Stream, "waits", 0)
    stream = io.StringIO()
    options = make_parser().parse_args("bench --grid 18 12 10 --repeat 3 --warmup 1".split())
    assert bench.bench(comm, Printer(stream), options) == 0
    text = stream.getvalue()
    for name in ("x_to_y", "y_to_z", "z_to_y", "y_to_x", "copy", "halos of x-pencils", "halos of z-pencils"):
        assert text.count(f"\n{name} ") == 1
    assert "CuPy" in text
    assert "GridDesc.empty" not in text
    # Before and after each of four repetitions of four transposes and a copy, and of three times an update and a copy.
    assert Stream.waits == 2 * 4 * (5 + 3 * 2)
