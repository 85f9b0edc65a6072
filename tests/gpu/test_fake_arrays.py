# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""What is read from device arrays, and what is refused, over arrays that are none."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from cudecomp._device_arrays import examine

import cudecomp
from tests.fakegpu import FakeArray

pytestmark = pytest.mark.only_fake

SHAPE = (2, 3, 4)
INFO = cudecomp.PencilInfo(
    shape=SHAPE, lo=(0, 0, 0), hi=(1, 2, 3), order=(2, 1, 0), halo_extents=(0, 0, 0), padding=(0, 0, 0), size=24
)
DTYPES = {"float32": "FLOAT", "float64": "DOUBLE", "complex64": "FLOAT_COMPLEX", "complex128": "DOUBLE_COMPLEX"}


@pytest.fixture
def make(device: Any, handle: Any) -> Any:
    """Makes a fake array; the handle has opened the driver."""

    def make(dtype: str = "float64", shape: tuple[int, ...] = SHAPE, **interface: Any) -> FakeArray:
        return FakeArray(np.zeros(shape, dtype), device.gpu, **interface)

    return make


def look(array: Any, dtype: cudecomp.DataType | None = None, shape: tuple[int, ...] = SHAPE) -> dict[str, Any]:
    return examine(array, "input", dtype, shape, INFO)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_versions_and_types(make: Any, version: int, dtype: str) -> None:
    array = make(dtype, version=version)
    assert look(array) == {
        "data": array.host.ctypes.data,
        "nbytes": array.host.nbytes,
        "dtype": cudecomp.DataType[DTYPES[dtype]],
        "writable": True,
        "of_cupy": False,
    }


@pytest.mark.parametrize("strides", [..., None, (96, 32, 8)])
def test_strides_of_contiguous_arrays(make: Any, strides: Any) -> None:
    assert look(make(strides=strides))["nbytes"] == 192


def test_strides_of_axes_of_length_one_do_not_count(make: Any) -> None:
    array = make(shape=(1, 3, 4), strides=(7, 32, 8))
    assert look(array, shape=(1, 3, 4))["nbytes"] == 96


def test_read_only(make: Any) -> None:
    array = make()
    array.host.flags.writeable = False
    assert not look(array)["writable"]


def test_extra_entries_and_producer_streams_mean_nothing(make: Any, gpu: Any) -> None:
    assert look(make(stream=7, descr=[("", "<f8")], more=1))["nbytes"] == 192
    assert gpu.events() == [""]


@pytest.mark.parametrize("pointer", [0, None])
def test_empty_arrays_have_no_address(make: Any, pointer: int | None) -> None:
    assert look(make(shape=(0, 3, 4), data=(pointer, False)), shape=(0, 3, 4))["nbytes"] == 0


def test_opaque_storage(make: Any) -> None:
    array = make("V16", descr=[("", "|V16")])
    seen = look(array, cudecomp.DataType.DOUBLE_COMPLEX)
    assert (seen["dtype"], seen["nbytes"]) == (None, 384)


class NoInterface:
    pass


REFUSED = {
    "opaque without dtype": (
        {"dtype": "V16"}, None, TypeError,
        r"^input is of \|V16, opaque storage; pass dtype=cudecomp.DataType",
    ),
    "opaque of another size": (
        {"dtype": "V8"}, cudecomp.DataType.DOUBLE_COMPLEX, TypeError,
        r"^input is of \|V8 with 8 bytes per element, but DataType.DOUBLE_COMPLEX has 16$",
    ),
    "another dtype": (
        {}, cudecomp.DataType.FLOAT, TypeError,
        r"^input is of float64, but dtype is DataType.FLOAT; arrays are never converted$",
    ),
    "structured": (
        {"dtype": "V16", "descr": [("a", "<f8"), ("b", "<f8")]}, cudecomp.DataType.DOUBLE_COMPLEX, TypeError,
        r"^input is of a structured type, .*, expected float32, float64, complex64 or complex128$",
    ),
    "big-endian": (
        {"dtype": ">f8"}, None, TypeError, r"^input is of >f8 \(byte-swapped float64\), expected native byte order",
    ),
    "integers": ({"dtype": "int64"}, None, TypeError, "^input is of int64, expected float32, float64"),
    "no type": ({"typestr": "<q9"}, None, TypeError, "has typestr '<q9', which names no type$"),
    "a mask": ({"mask": object()}, None, TypeError, "^input has a mask, which would be lost"),
    "version 4": ({"version": 4}, None, TypeError, "has version 4, expected 0 to 3$"),
    "no version": ({"version": ...}, None, TypeError, "lacks an entry or has a malformed one"),
    "a bool as version": ({"version": True}, None, TypeError, "has version True, expected 0 to 3$"),
    "data that is no pair": ({"data": 5}, None, TypeError, "lacks an entry or has a malformed one"),
    "strides of another length": (
        {"strides": (8,)}, None, TypeError, r"a malformed one \(ValueError\('strides \(8,\) for 3 axes'\)\); expected",
    ),
    "another shape": (
        {"shape": (2, 3, 5)}, None, cudecomp.InvalidUsageError,
        r"^input has shape \(2, 3, 5\), expected \(2, 3, 4\), the X-pencil .* use grid.empty\(0, dtype, \(0, 0, 0\), ",
    ),
    "another rank": ({"shape": (24,)}, None, cudecomp.InvalidUsageError, r"^input has shape \(24,\), expected"),
    "Fortran order": (
        {"strides": (8, 16, 48)}, None, cudecomp.InvalidUsageError,
        r"^input is not C-contiguous: its strides are \(8, 16, 48\) bytes for shape \(2, 3, 4\) and 8 bytes",
    ),
    "a null pointer": (
        {"data": (0, False)}, None, cudecomp.InvalidUsageError, "^input has a null pointer, but 192 bytes$",
    ),
    "host memory": (
        {"data": (4096, False)}, None, cudecomp.InvalidUsageError,
        "^input is at 0x1000, which is no GPU memory; pass an array on device 0$",
    ),
    "another device": (
        {"device": 1}, None, cudecomp.InvalidUsageError,
        "^input is on device 1, but the handle was made on device 0; copy it there, or make the handle after",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(make: Any, case: str) -> None:
    settings, dtype, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        look(make(**settings), dtype)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (
            np.zeros(SHAPE),
            "^input is a numpy.ndarray, but this handle runs on NVIDIA's library, which works on GPU arrays; ",
        ),
        (np.ma.zeros(SHAPE), "^input is a numpy.ma.*MaskedArray, but this handle runs on NVIDIA's library"),
        (
            NoInterface(),
            "^input must be a GPU array: an object with __cuda_array_interface__, such as cupy.ndarray; got ",
        ),
        (None, "^input must be a GPU array: .* got None of type NoneType$"),
    ],
)
def test_no_device_arrays(make: Any, array: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        look(array)


def test_interface_must_be_a_dict(make: Any) -> None:
    class Odd:
        __cuda_array_interface__ = 5

    with pytest.raises(TypeError, match=r"^input.__cuda_array_interface__ is of type int, expected a dict$"):
        look(Odd())


# --- through the operations


def test_new_outputs_are_for_cupy(grid: Any, device: Any) -> None:
    info = grid.get_pencil_info(0)
    array = device.from_host(np.zeros(info.shape))
    shape = str(grid.get_pencil_info(1).shape).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(
        TypeError, match=rf"^out is None, but only for CuPy's .* FakeArray: pass an array of shape {shape}"
    ):
        grid.transpose_x_to_y(array)


def test_read_only_outputs(grid: Any, device: Any) -> None:
    source, target = (device.from_host(np.zeros(grid.get_pencil_info(axis).shape)) for axis in (0, 1))
    target.host.flags.writeable = False
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^out is read-only; pass a writable array$"):
        grid.transpose_x_to_y(source, target)
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^input is read-only, but its halo is to be written"):
        grid.update_halos_y(target, (0, 0, 0))


def test_empty_needs_cupy(grid: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(cudecomp.NotSupportedError, match=r"^new arrays on a GPU are CuPy's, and CuPy is not installed"):
        grid.empty(0, "float64")


# --- providers that are asked directly, by modules that stand for them


def test_cupy_is_asked_directly(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    class ndarray:  # noqa: N801
        def __init__(self, host: np.ndarray) -> None:
            self.data = types.SimpleNamespace(ptr=host.ctypes.data)
            self.shape, self.strides, self.dtype = host.shape, host.strides, host.dtype

    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(ndarray=ndarray))
    backing = make()
    assert look(ndarray(backing.host))["of_cupy"]
    with pytest.raises(cudecomp.InvalidUsageError, match=r"^input is not C-contiguous"):
        look(ndarray(backing.host.reshape(4, 3, 2).transpose(2, 1, 0)))


class Tensor:
    """As much of torch.Tensor as is asked for."""

    requires_grad, device = False, "cpu"

    def __init__(self, host: np.ndarray, dtype: object) -> None:
        self.host, self.dtype, self.shape = host, dtype, host.shape
        self.flags = {"conj": False, "neg": False}

    def data_ptr(self) -> int:
        return self.host.ctypes.data

    def is_contiguous(self) -> bool:
        return self.host.flags.c_contiguous

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.host.itemsize for step in self.host.strides)

    def is_conj(self) -> bool:
        return self.flags["conj"]

    def is_neg(self) -> bool:
        return self.flags["neg"]


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    import sys

    import cudecomp._device_arrays as module

    names = ("float32", "float64", "complex64", "complex128", "int32")
    fake = types.SimpleNamespace(Tensor=Tensor, **{name: type(name, (), {}) for name in names})
    monkeypatch.setitem(sys.modules, "torch", fake)
    yield fake
    module.forget_types()


def test_torch_is_asked_directly(make: Any, torch: Any) -> None:
    backing = make()
    assert look(Tensor(backing.host, torch.float64)) == {
        "data": backing.host.ctypes.data, "nbytes": 192, "dtype": cudecomp.DataType.DOUBLE, "writable": True,
        "of_cupy": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"dtype": "int32"}, TypeError, "expected torch.float32, float64, complex64 or complex128$"),
        (
            {"requires_grad": True},
            TypeError,
            "^input requires grad, which this package does not track; pass input.detach",
        ),
        ({"flags": {"conj": False, "neg": True}}, TypeError, "^input is a lazily conjugated or negated view"),
    ],
)
def test_tensors_that_are_refused(make: Any, torch: Any, change: Any, error: Any, text: str) -> None:
    tensor = Tensor(make().host, torch.float64)
    for name, value in change.items():
        setattr(tensor, name, getattr(torch, value) if name == "dtype" else value)
    with pytest.raises(error, match=text):
        look(tensor)


def test_conjugated_tensors_are_refused(make: Any, torch: Any) -> None:
    tensor = Tensor(make("complex128").host, torch.complex128)
    tensor.flags["conj"] = True
    with pytest.raises(TypeError, match=r"^input is a lazily conjugated or negated view; pass input.resolve_conj"):
        look(tensor)


def test_tensors_of_the_host_are_refused(make: Any, torch: Any) -> None:
    with pytest.raises(TypeError, match=r"^input is a tensor on cpu, expected one on a GPU; pass input.cuda\(\)$"):
        look(Tensor(np.zeros(SHAPE), torch.float64))


def test_strided_tensors_are_refused(make: Any, torch: Any) -> None:
    backing = make()
    with pytest.raises(
        cudecomp.InvalidUsageError, match=r"^input is not C-contiguous: its strides are \(8, 16, 48\) bytes"
    ):
        look(Tensor(backing.host.reshape(4, 3, 2).transpose(2, 1, 0), torch.float64))


def test_arrays_of_jax_are_inputs_only(make: Any) -> None:
    kind = type("ArrayImpl", (FakeArray,), {"__module__": "jaxlib._jax"})
    assert not look(kind(make().host))["writable"]
