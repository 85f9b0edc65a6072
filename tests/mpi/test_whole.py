# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Whole-array tools: scatter, gather and comparisons, against the reference on the global array."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI

import cudecomp
from cudecomp import _whole
from tests import reference as ref
from tests.mpi.support import GDIMS, make_config
from tests.mpi.test_geometry import assert_nothing_wrong, config_of
from tests.parallel import assert_raises_everywhere, same_everywhere
from tests.strategies import EXTENTS, decompositions

EXAMPLES = settings(max_examples=40)
POISON = -7.0
DTYPES = st.sampled_from([*ref.DTYPES, "int16", ">f8", "S3"])


@pytest.fixture(params=[2**24, 40], ids=["pieces as they are", "tiny pieces"])
def piece_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(_whole, "PIECE_BYTES", request.param)
    monkeypatch.setattr(_whole, "TILE", 3)
    return request.param


@pytest.fixture
def grid(handle: cudecomp.Handle) -> Iterator[cudecomp.GridDesc]:
    with handle.create_grid(make_config(handle.nranks)) as grid:
        yield grid


def whole_field(gdims: tuple[int, int, int], dtype: str = "float64") -> np.ndarray:
    """A global array with another value in every cell, as far as the type goes."""
    return np.arange(1, math.prod(gdims) + 1).reshape(gdims).astype(dtype)


@EXAMPLES
@given(data=st.data())
def test_scatter_and_gather(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm, piece_bytes: int) -> None:
    decomposition = data.draw(decompositions(comm.size))
    axis, root = data.draw(st.integers(0, 2)), data.draw(st.integers(0, comm.size - 1))
    halo, padding = data.draw(EXTENTS), data.draw(EXTENTS)
    dtype, new, turned = data.draw(DTYPES), data.draw(st.booleans()), data.draw(st.booleans())
    extents = {"halo_extents": halo, "padding": padding}
    pencil = decomposition.pencil(axis, comm.rank, halo, padding)
    field = whole_field(decomposition.gdims, dtype)
    source = np.asfortranarray(field) if turned else field
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        around = np.zeros((), dtype) if new else np.full((), POISON).astype(dtype)
        out = None if new else np.full(pencil.shape, around)
        array = grid.scatter(source if comm.rank == root else None, axis, root, out=out, **extents)
        if not (new or array is out):
            problems.append("scatter did not return out")
        expected = pencil.fill(np.full(pencil.shape, around), field)
        if not ref.same_bits(array, expected):
            problems.append(f"scatter: saw {array}, expected {expected}")

        result = np.empty(decomposition.gdims, dtype, "F") if turned else None
        whole = grid.gather(array, axis, root, out=result if comm.rank == root else None, **extents)
        if comm.rank != root and whole is not None:
            problems.append(f"gather gave {whole!r} on a rank that is not the root")
        if comm.rank == root and not (np.array_equal(whole, field) and whole.dtype == field.dtype):
            problems.append(f"gather: saw {whole}, expected {field}")
        if comm.rank == root and turned and whole is not result:
            problems.append("gather did not return out")
        if not ref.same_bits(array, expected):
            problems.append("gather changed its input")
    assert_nothing_wrong(comm, problems)


@EXAMPLES
@given(data=st.data())
def test_slices_of_pencils(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """Each of the three ways to say which cells a rank owns."""
    decomposition = data.draw(decompositions(comm.size))
    halo, padding = data.draw(EXTENTS), data.draw(EXTENTS)
    field = whole_field(decomposition.gdims)
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        for axis in range(3):
            info = grid.get_pencil_info(axis, halo, padding)
            pencil = decomposition.pencil(axis, comm.rank, halo, padding)
            expected = pencil.fill(np.zeros(pencil.shape), field)
            for source in (
                field[info.global_slices_xyz].transpose(info.order),
                field.transpose(info.order)[info.global_slices],
            ):
                seen = np.zeros(info.shape)
                seen[info.interior] = source
                if not ref.same_bits(seen, expected):
                    problems.append(f"axis {axis}: {info}")
    assert_nothing_wrong(comm, problems)


@EXAMPLES
@given(data=st.data())
def test_coordinates_and_wavenumbers(data: st.DataObject, handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    decomposition = data.draw(decompositions(comm.size))
    halo, padding = data.draw(EXTENTS), data.draw(EXTENTS)
    axis, real_axis = data.draw(st.integers(0, 2)), data.draw(st.sampled_from([None, 0, 1, 2]))
    lengths, origin, endpoint = (2.0, 3.0, 5.0), (0.5, -1.0, 0.0), data.draw(st.booleans())
    gdims = decomposition.gdims
    indices = np.meshgrid(*map(np.arange, gdims), indexing="ij")
    problems = []
    with handle.create_grid(config_of(decomposition)) as grid:
        info = grid.get_pencil_info(axis, halo, padding)
        pencil = decomposition.pencil(axis, comm.rank, halo, padding)
        lines = grid.coordinates(axis, lengths, origin=origin, endpoint=endpoint, halo_extents=halo, padding=padding)
        if np.broadcast_shapes(*(line.shape for line in lines)) != info.shape:
            problems.append(f"coordinates: {[line.shape for line in lines]} do not fit {info.shape}")
        for dim, line in enumerate(lines):
            points = origin[dim] + lengths[dim] * indices[dim] / (max(1, gdims[dim] - 1) if endpoint else gdims[dim])
            owned = np.broadcast_to(line, info.shape)[info.interior]
            expected = pencil.of_global(points).transpose(info.order)
            if not np.allclose(owned, expected, rtol=1e-14, atol=1e-14):
                problems.append(f"coordinates along {'XYZ'[dim]}: saw {owned}, expected {expected}")
            if line.size > 1 and not np.allclose(np.diff(line.ravel()), np.diff(line.ravel())[0]):
                problems.append(f"halo and padding do not go on evenly: {line.ravel()}")

        bare = grid.get_pencil_info(axis)
        for dim, line in enumerate(grid.wavenumbers(axis, lengths, real_axis=real_axis)):
            n, spacing = gdims[dim], lengths[dim] / gdims[dim]
            modes = np.arange(n) / (n * spacing) if dim == real_axis else np.fft.fftfreq(n, spacing)
            expected = 2 * np.pi * modes[pencil.lo[dim] : pencil.hi[dim]]
            if not np.allclose(line.ravel(), expected, rtol=1e-14, atol=1e-14):
                problems.append(f"wavenumbers along {'XYZ'[dim]}: saw {line.ravel()}, expected {expected}")
            if np.broadcast_shapes(line.shape, bare.shape) != bare.shape:
                problems.append(f"wavenumbers: {line.shape} does not fit {bare.shape}")
    assert_nothing_wrong(comm, problems)


def test_the_last_point_is_the_end(handle: cudecomp.Handle) -> None:
    """Of 50 points on a length of 1, 49 times the spacing is less than 1."""
    lengths, origin = (1.0, 0.3, 2.0), (0.0, 0.1, -2.0)
    with handle.create_grid(make_config(handle.nranks, gdims=(50, 98, 50))) as grid:
        for axis in range(3):
            line = grid.coordinates(axis, lengths, origin=origin, endpoint=True)[axis].ravel()
            assert (line[0], line[-1]) == (origin[axis], origin[axis] + lengths[axis])
            ghosts = grid.coordinates(axis, lengths, origin=origin, halo_extents=(1, 1, 1))[axis].ravel()
            assert ghosts[-1] == origin[axis] + lengths[axis]


def test_memory_that_is_not_there(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    """NumPy's own MemoryError takes more than a text, which is all that other ranks have of it."""
    with handle.create_grid(make_config(comm.size, gdims=(30000, 30000, 30000))) as grid:
        one = np.zeros(1)
        pencil = np.lib.stride_tricks.as_strided(one, grid.get_pencil_info(0).shape, (0, 0, 0))
        assert_raises_everywhere(comm, MemoryError, "Unable to allocate", lambda: grid.gather(pencil, 0))


def test_wavenumbers_differentiate(grid: cudecomp.GridDesc) -> None:
    """A derivative along X of a real field, through the halved spectrum of numpy.fft.rfft."""
    lengths = (2.0, 3.0, 5.0)
    nx = GDIMS[0]
    x, y, _ = grid.coordinates(0, lengths)
    field = np.broadcast_to(np.sin(2 * np.pi / lengths[0] * x) * (1 + y), grid.get_pencil_info(0).shape)
    spectrum = np.fft.rfft(field, axis=2)
    config = make_config(grid.handle.nranks, gdims=(nx // 2 + 1, *GDIMS[1:]))
    with grid.handle.create_grid(config) as spectral:
        kx, _, _ = spectral.wavenumbers(0, lengths, real_axis=0)
        derivative = np.fft.irfft(1j * kx * spectrum, n=nx, axis=2)
    exact = 2 * np.pi / lengths[0] * np.cos(2 * np.pi / lengths[0] * x) * (1 + y)
    assert grid.allclose(derivative, np.broadcast_to(exact, field.shape), 0)


def test_comparisons(grid: cudecomp.GridDesc, comm: MPI.Comm, piece_bytes: int) -> None:
    """One cell of one rank decides for all."""
    info = grid.get_pencil_info(1, (1, 1, 1))
    rng = np.random.default_rng(comm.rank)
    a = rng.random(info.shape)
    for rank in range(comm.size):
        b = rng.random(info.shape)  # the halos differ
        b[info.interior] = a[info.interior]
        b[1, 1, 1] += 2.0 if comm.rank == rank else 0.0  # an owned cell
        options = {"axis": 1, "halo_extents": (1, 1, 1)}
        assert grid.allclose(a, a + 1e-9, **options) is True
        assert grid.allclose(a, b, **options) is False
        assert grid.allclose(a, b, atol=3.0, **options) is True
        difference = grid.max_difference(a, b, **options)
        assert abs(difference - 2.0) < 1e-12
        same_everywhere(comm, difference)
        b[1, 1, 1] = np.nan if comm.rank == rank else b[1, 1, 1]
        assert math.isnan(grid.max_difference(a, b, **options))
        assert not grid.allclose(b, b, **options)
        assert grid.allclose(b, b, equal_nan=True, **options)


def test_comparisons_with_numbers_and_other_types(grid: cudecomp.GridDesc) -> None:
    shape = grid.get_pencil_info(0).shape
    assert grid.allclose(np.full(shape, 2.0), 2, 0)
    assert grid.max_difference(np.full(shape, 3, np.uint8), 5, 0) == 2.0
    assert grid.max_difference(np.full(shape, 3 + 4j, np.complex64), 0, 0) == 5.0
    assert grid.max_difference(np.full(shape, np.inf), np.full(shape, np.inf, np.float32), 0) == 0.0
    assert grid.max_difference(np.full(shape, np.inf), -np.inf, 0) == math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grid.max_difference(np.full(shape, 1.5e308), -1.5e308, 0) == math.inf
        signaling = np.full(shape, 0x7FA00000, np.uint32).view(np.float32)
        assert math.isnan(grid.max_difference(signaling, 0, 0))


class Odd(np.ndarray):
    """A subclass that goes its own way."""

    def __eq__(self, other: object) -> object:  # type: ignore[override]
        raise AssertionError("compared by the subclass")

    __hash__ = None  # type: ignore[assignment]


def test_subclasses_are_taken_as_plain_arrays(grid: cudecomp.GridDesc) -> None:
    array = np.arange(float(grid.get_pencil_info(0).size)).reshape(grid.get_pencil_info(0).shape)
    odd = array.copy().view(Odd)
    assert grid.max_difference(odd, array + 1, 0) == 1.0
    out = np.zeros_like(array).view(Odd)
    whole = grid.gather(odd, 0)
    assert grid.scatter(whole, 0, out=out) is out
    assert np.array_equal(out.view(np.ndarray), array)


def test_empty_pencils_compare_as_equal(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    config = cudecomp.GridDescConfig(gdims=(2, 1, 3), pdims=(1, comm.size))
    with handle.create_grid(config) as grid:
        array = np.ones(grid.get_pencil_info(2).shape)
        assert grid.allclose(array, array, 2)
        assert grid.max_difference(array, 0, 2) == 1.0


#: What one rank gets wrong: the call, the exception that all ranks see, and its text.
ERRORS = {
    "scatter: shape": ("scatter", {"global_array": np.zeros((3, 3, 3))}, ValueError, r"global_array has shape \(3, 3"),
    "scatter: turned": ("scatter", {"global_array": np.zeros(GDIMS[::-1])}, ValueError, r"pass global_array.T if"),
    "scatter: nothing": (
        "scatter",
        {"global_array": None},
        TypeError,
        r"global_array must be a numpy.ndarray or a GPU",
    ),
    "scatter: objects": ("scatter", {"global_array": np.zeros(GDIMS, object)}, TypeError, "a type of fixed size"),
    "scatter: masked": ("scatter", {"global_array": np.ma.zeros(GDIMS)}, TypeError, "whose mask would be lost"),
    "scatter: axis": ("scatter", {"axis": 3}, ValueError, "axis is 3, expected 0, 1 or 2"),
    "scatter: other axis": ("scatter", {"axis": 1}, ValueError, "must get the same on all ranks, but axis is"),
    "scatter: halo": ("scatter", {"halo_extents": (0, -1, 0)}, ValueError, r"halo_extents is \(0, -1, 0\)"),
    "scatter: root": ("scatter", {"root": -1}, ValueError, "root is -1, expected a rank of the handle, 0 to"),
    "scatter: root's type": ("scatter", {"root": 0.0}, TypeError, "root takes an integer, got 0.0"),
    "scatter: out's shape": ("scatter", {"out": np.zeros((1, 2, 3))}, ValueError, r"out has shape \(1, 2, 3\), exp"),
    "gather: shape": ("gather", {"array": np.zeros((1, 2, 3))}, ValueError, r"array has shape \(1, 2, 3\), expected"),
    "gather: list": ("gather", {"array": [1, 2]}, TypeError, "array must be a numpy.ndarray or a GPU array"),
    "gather: root": ("gather", {"root": 1000}, ValueError, "root is 1000, expected a rank of the handle, 0 to"),
    "gather: out": ("gather", {"out": np.zeros(GDIMS, "f")}, TypeError, "out is of float32, but array is of float64"),
    "gather: out's shape": ("gather", {"out": np.zeros((1, 1, 1))}, ValueError, r"out has shape \(1, 1, 1\), exp"),
    "allclose: shape": ("allclose", {"a": np.zeros((1, 2, 3))}, ValueError, r"a has shape \(1, 2, 3\), expected"),
    "allclose: type": ("allclose", {"b": "text"}, TypeError, "b must be a numpy.ndarray or a GPU array, got 'text'"),
    "max_difference: shape": ("max_difference", {"b": np.zeros(2)}, ValueError, r"b has shape \(2,\), expected"),
}


def arguments_of(call: str, grid: cudecomp.GridDesc) -> dict[str, object]:
    pencil = np.zeros(grid.get_pencil_info(0).shape)
    return {
        "scatter": {"global_array": np.zeros(GDIMS), "axis": 0},
        "gather": {"array": pencil, "axis": 0},
        "allclose": {"a": pencil, "b": pencil, "axis": 0},
        "max_difference": {"a": pencil, "b": pencil, "axis": 0},
    }[call]


@pytest.mark.parametrize("case", ERRORS)
def test_errors_of_rank_0_raise_everywhere(case: str, grid: cudecomp.GridDesc, comm: MPI.Comm) -> None:
    call, wrong, kind, text = ERRORS[case]
    if case == "scatter: other axis" and comm.size == 1:
        pytest.skip("needs another rank")
    arguments = {**arguments_of(call, grid), **(wrong if comm.rank == 0 else {})}
    assert_raises_everywhere(comm, kind, text, lambda: getattr(grid, call)(**arguments))
    assert grid.allclose(np.ones(grid.get_pencil_info(0).shape), 1, 0)  # nobody is out of step


def test_out_of_another_type_on_one_rank(grid: cudecomp.GridDesc, comm: MPI.Comm) -> None:
    out = np.zeros(grid.get_pencil_info(0).shape, np.float32 if comm.rank == comm.size - 1 else np.float64)
    whole = np.zeros(GDIMS) if comm.rank == 0 else None
    text = "out is of float32, but global_array is of float64; arrays are never converted"
    assert_raises_everywhere(comm, TypeError, text, lambda: grid.scatter(whole, 0, out=out))


def test_read_only_outputs(grid: cudecomp.GridDesc, comm: MPI.Comm) -> None:
    pencil, whole = np.zeros(grid.get_pencil_info(0).shape), np.zeros(GDIMS)
    pencil.flags.writeable = whole.flags.writeable = False
    assert_raises_everywhere(comm, ValueError, "out is read-only", lambda: grid.scatter(whole, 0, out=pencil))
    assert_raises_everywhere(comm, ValueError, "out is read-only", lambda: grid.gather(pencil, 0, out=whole))


def test_arrays_of_different_types_are_not_gathered(grid: cudecomp.GridDesc, comm: MPI.Comm) -> None:
    if comm.size == 1:
        pytest.skip("needs another rank")
    array = np.zeros(grid.get_pencil_info(0).shape, np.float32 if comm.rank else np.float64)
    text = "GridDesc.gather must get the same on all ranks, but the dtype of array is float64 on rank 0, float32 on"
    assert_raises_everywhere(comm, ValueError, text, lambda: grid.gather(array, 0))


def test_calls_on_a_destroyed_grid(handle: cudecomp.Handle, comm: MPI.Comm) -> None:
    grid = handle.create_grid(make_config(comm.size))
    grid.destroy()
    assert_raises_everywhere(comm, ValueError, "this GridDesc is destroyed", lambda: grid.gather(np.zeros(GDIMS), 0))


def test_a_gpu_array_without_cupy(grid: cudecomp.GridDesc, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    class Tensor:
        __cuda_array_interface__ = {}  # noqa: RUF012

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    text = "global_array is a GPU array of type Tensor, which is copied to the host with CuPy; import cupy in the"
    assert_raises_everywhere(comm, TypeError, text, lambda: grid.scatter(Tensor(), 0))


class DeviceArray:
    """An array that NumPy cannot reach, with as much of CuPy's as the tools may use."""

    def __init__(self, data: np.ndarray, read_only: bool = False) -> None:
        self._data = data
        self.shape, self.dtype = data.shape, data.dtype
        self.__cuda_array_interface__ = {"data": (1, read_only)}

    def __array__(self, *arguments: object, **options: object) -> np.ndarray:
        raise TypeError("implicit conversion to a NumPy array")

    def __getitem__(self, box: object) -> DeviceArray:
        return DeviceArray(self._data[box])

    def __setitem__(self, box: object, values: object) -> None:
        assert not isinstance(values, np.ndarray), "host memory cannot be assigned to a device array"
        self._data[box] = values._data if isinstance(values, DeviceArray) else values

    def transpose(self, axes: object) -> DeviceArray:
        return DeviceArray(self._data.transpose(axes))


class DevicePackage:
    """What the tools use of CuPy."""

    def __init__(self) -> None:
        self.cuda = self
        self.synchronized = 0

    def asarray(self, array: object) -> DeviceArray:
        return array if isinstance(array, DeviceArray) else DeviceArray(np.array(array))

    def asnumpy(self, array: DeviceArray, order: str) -> np.ndarray:
        return np.array(array._data, order=order)

    def get_current_stream(self) -> DevicePackage:
        return self

    def synchronize(self) -> None:
        self.synchronized += 1


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_device_arrays_go_through_the_host(
    dtype: str, grid: cudecomp.GridDesc, comm: MPI.Comm, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = DevicePackage()
    monkeypatch.setitem(sys.modules, "cupy", package)
    field = whole_field(GDIMS, dtype)
    options = {"axis": 1, "halo_extents": (1, 0, 2)}
    info = grid.get_pencil_info(**options)
    pencil = DeviceArray(np.full(info.shape, -1, dtype))
    assert grid.scatter(DeviceArray(field.copy()), out=pencil, **options) is pencil
    assert package.synchronized == 1
    expected = np.full(info.shape, -1, dtype)
    expected[info.interior] = field[info.global_slices_xyz].transpose(info.order)
    assert np.array_equal(pencil._data, expected)
    assert grid.allclose(pencil, expected, **options)
    assert grid.max_difference(expected, DeviceArray(expected + 2), **options) == 2.0
    for out in (None, DeviceArray(np.zeros(GDIMS, dtype))):
        whole = grid.gather(pencil, out=out, **options)
        assert comm.rank != 0 or np.array_equal(whole._data if out else whole, field)


def test_read_only_device_arrays(grid: cudecomp.GridDesc, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", DevicePackage())
    out = DeviceArray(np.zeros(grid.get_pencil_info(0).shape), read_only=comm.rank == 0)
    assert_raises_everywhere(comm, ValueError, "out is read-only", lambda: grid.scatter(np.zeros(GDIMS), 0, out=out))
