# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Transposes and halo updates on one rank: results, and every array and argument that is refused."""

import sys
import threading

import numpy as np
import pytest
from mpi4py import MPI

import cudecomp
from cudecomp import DataType, GridDescConfig, Handle, InvalidUsageError

GDIMS = (4, 5, 6)
TRANSPOSES = {"x_to_y": (0, 1), "y_to_z": (1, 2), "z_to_y": (2, 1), "y_to_x": (1, 0)}
DTYPES = {
    np.float32: DataType.FLOAT,
    np.float64: DataType.DOUBLE,
    np.complex64: DataType.FLOAT_COMPLEX,
    np.complex128: DataType.DOUBLE_COMPLEX,
}


@pytest.fixture(scope="module")
def grid():
    """X-, Y- and Z-pencils each with their own axis fastest, so that shapes differ."""
    config = GridDescConfig(gdims=GDIMS, pdims=(1, 1), transpose_axis_contiguous=(True, True, True))
    with Handle(MPI.COMM_WORLD) as handle, handle.create_grid(config) as grid:
        yield grid


def global_field(dtype=np.float64):
    """A value for each cell that names it, indexed [x, y, z]."""
    cells = np.arange(np.prod(GDIMS)).reshape(GDIMS).astype(dtype)
    return cells + 0.5j * cells if np.iscomplexobj(cells) else cells


def pencil(grid, axis, dtype=np.float64, halo=(0, 0, 0), padding=(0, 0, 0), fill=-1):
    """The local array of the global field, halo and padding filled."""
    info = grid.get_pencil_info(axis, halo, padding)
    array = np.full(info.shape, fill, dtype)
    array[owned(info)] = global_field(dtype).transpose(info.order)
    return array


def owned(info):
    """The index of the cells that are neither halo nor padding."""
    extents = zip(info.order, info.lo, info.hi, strict=True)
    return tuple(slice(info.halo_extents[axis], info.halo_extents[axis] + hi - lo + 1) for axis, lo, hi in extents)


# --- transposes


@pytest.mark.parametrize("name", TRANSPOSES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transpose(grid, name, dtype):
    source, target = TRANSPOSES[name]
    array = pencil(grid, source, dtype)
    transpose = getattr(grid, f"transpose_{name}")
    result = transpose(array)
    assert (type(result), result.dtype) == (np.ndarray, dtype)
    np.testing.assert_array_equal(result, pencil(grid, target, dtype))
    np.testing.assert_array_equal(array, pencil(grid, source, dtype))

    out = np.empty_like(result)
    assert transpose(array + 1, out) is out
    np.testing.assert_array_equal(out, pencil(grid, target, dtype) + 1)
    assert transpose(input=array, out=out, dtype=DTYPES[dtype], stream=None) is out
    np.testing.assert_array_equal(out, result)


@pytest.mark.parametrize("name", TRANSPOSES)
def test_halo_and_padding_of_the_output_stay(grid, name):
    source, target = TRANSPOSES[name]
    before = {"halo": (1, 0, 2), "padding": (0, 3, 1)}
    after = {"halo": (0, 2, 1), "padding": (1, 0, 2)}
    out = np.full(grid.get_pencil_info(target, **prefixed("", after)).shape, -7.0)
    result = getattr(grid, f"transpose_{name}")(
        pencil(grid, source, **before), out, **prefixed("input_", before), **prefixed("output_", after)
    )
    assert result is out
    np.testing.assert_array_equal(out, pencil(grid, target, **after, fill=-7))


def prefixed(prefix, extents):
    return {f"{prefix}halo_extents": extents["halo"], f"{prefix}padding": extents["padding"]}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_in_place_with_pencils_of_different_size(grid, name):
    source, target = TRANSPOSES[name]
    halo = (0, 1, 0)
    before, after = grid.get_pencil_info(source), grid.get_pencil_info(target, halo)
    buffer = np.full(after.size + 10, -7.0)
    x = buffer[: before.size].reshape(before.shape)
    y = buffer[: after.size].reshape(after.shape)
    x[...] = pencil(grid, source)
    assert getattr(grid, f"transpose_{name}")(x, y, output_halo_extents=halo) is y
    index = owned(after)
    np.testing.assert_array_equal(y[index], pencil(grid, target, halo=halo)[index])
    np.testing.assert_array_equal(buffer[after.size :], -7)


def test_the_same_array_in_place():
    config = GridDescConfig(gdims=GDIMS, pdims=(1, 1))
    with Handle(MPI.COMM_WORLD) as handle, handle.create_grid(config) as grid:
        array = pencil(grid, 0)
        assert grid.transpose_x_to_y(array, array) is array
        np.testing.assert_array_equal(array, pencil(grid, 1))


def test_the_same_array_with_another_shape_is_refused(grid):
    array = pencil(grid, 0)
    with pytest.raises(
        ValueError,
        match=r"^out is input, but the shape changes from \(6, 5, 4\) to \(4, 6, 5\); to work in place pass two views "
        r"from the start of one buffer with 120 elements: buffer\[:size\]\.reshape\(shape\)$",
    ):
        grid.transpose_x_to_y(array, array)


def test_opaque_storage(grid):
    array = pencil(grid, 0, np.complex128)
    out = np.zeros(grid.get_pencil_info(1).shape, "V16")
    assert grid.transpose_x_to_y(array.view("V16"), out, dtype=DataType.DOUBLE_COMPLEX) is out
    np.testing.assert_array_equal(out.view(np.complex128), pencil(grid, 1, np.complex128))
    assert grid.transpose_x_to_y(array.view("V16"), dtype=DataType.DOUBLE_COMPLEX).dtype == np.dtype("V16")
    # One side may be of a proper type.
    grid.transpose_x_to_y(array.view("V16"), out.view(np.complex128), dtype=DataType.DOUBLE_COMPLEX)
    halo = np.zeros((8, 7, 6)).view("V8")
    grid.update_halos_x(halo, (1, 1, 1), dtype=DataType.DOUBLE)


def test_dtypes_that_are_equal_but_not_the_same_object(grid):
    dtype = np.dtype(np.float64, metadata={"unit": "m"})
    array = pencil(grid, 0).view(dtype)
    assert array.dtype is not np.dtype(np.float64)
    np.testing.assert_array_equal(grid.transpose_x_to_y(array), pencil(grid, 1))


def test_subclasses_and_mapped_files(grid, tmp_path):
    array = np.memmap(tmp_path / "data", np.float64, "w+", shape=grid.get_pencil_info(0).shape)
    array[...] = pencil(grid, 0)
    result = grid.transpose_x_to_y(array)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, pencil(grid, 1))


def test_streams_are_ignored_on_the_host(grid):
    for stream in (None, 0, 7, object()):
        moved = grid.transpose_x_to_y(pencil(grid, 0), stream=stream)
        np.testing.assert_array_equal(moved, pencil(grid, 1))
        wide = pencil(grid, 0, halo=(1, 0, 0))
        grid.update_halos_x(wide, (1, 0, 0), (True, False, False), stream=stream)
        assert (wide >= 0).all()  # filled with -1 where no cell is


def test_a_read_only_input_is_fine(grid):
    array = pencil(grid, 0)
    array.flags.writeable = False
    np.testing.assert_array_equal(grid.transpose_x_to_y(array), pencil(grid, 1))


def test_no_reference_is_kept(grid):
    array, out = pencil(grid, 0), pencil(grid, 1)
    before = sys.getrefcount(array), sys.getrefcount(out)
    for _ in range(3):
        grid.transpose_x_to_y(array, out)
        with pytest.raises(TypeError):
            grid.transpose_x_to_y(array, out.astype(np.float32))
        with pytest.raises(ValueError, match="shape"):
            grid.transpose_x_to_y(array[1:], out)
        grid.update_halos_x(array, (0, 0, 0))
    assert (sys.getrefcount(array), sys.getrefcount(out)) == before
    array.resize((1, 1, 1), refcheck=False)  # refused while a buffer is held


def test_the_interpreter_lock_is_released():
    """Another thread that waits for the lock gets it while a large transpose works."""
    config = GridDescConfig(gdims=(128, 128, 128), pdims=(1, 1), transpose_axis_contiguous=(True, True, True))
    with Handle(MPI.COMM_WORLD) as handle, handle.create_grid(config) as grid:
        array, out = np.ones((128, 128, 128)), np.empty((128, 128, 128))
        go, ran = threading.Event(), []
        thread = threading.Thread(target=lambda: (go.wait(), ran.append(True)))
        thread.start()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000.0)  # the lock changes hands only where it is released
        try:
            go.set()
            before = list(ran)
            for _ in range(50):
                grid.transpose_x_to_y(array, out)
                if ran:
                    break
            during = list(ran)
        finally:
            sys.setswitchinterval(interval)
            thread.join()
        assert (before, during) == ([], [True])


# --- arrays that the library makes


@pytest.mark.parametrize(("numpy_type", "dtype"), DTYPES.items())
def test_arrays_made_for_a_pencil(grid, numpy_type, dtype):
    for wanted in (dtype, numpy_type, np.dtype(numpy_type).name):
        array = grid.empty(1, wanted, (1, 0, 2), (0, 3, 0))
        assert (type(array), array.dtype) == (np.ndarray, np.dtype(numpy_type))
        assert array.shape == grid.get_pencil_info(1, (1, 0, 2), (0, 3, 0)).shape
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert not grid.zeros(1, dtype).any()


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transpose_between_arrays_that_the_library_made(grid, name):
    source, target = TRANSPOSES[name]
    array, out = grid.empty(source, DataType.DOUBLE), grid.empty(target, DataType.DOUBLE)
    array[...] = pencil(grid, source)
    assert getattr(grid, f"transpose_{name}")(array, out) is out
    np.testing.assert_array_equal(out, pencil(grid, target))


def test_arrays_outlive_their_handle():
    with Handle(MPI.COMM_WORLD) as handle, handle.create_grid(GridDescConfig(gdims=GDIMS, pdims=(1, 1))) as grid:
        array = grid.zeros(0, "float64")
        array += 1
        part = array[1:]
    del array
    assert part.sum() == 100


@pytest.mark.parametrize("dtype", [None, "float16", ">f8", int, object, "V8", True, -2])
def test_arrays_of_the_wrong_type(grid, dtype):
    with pytest.raises(TypeError):
        grid.empty(0, dtype)


def test_arrays_of_an_unknown_type(grid):
    with pytest.raises(InvalidUsageError, match=r"^dtype is -9, expected one of FLOAT, DOUBLE"):
        grid.empty(0, DataType(-9))


# --- arrays that are refused


REMEDY = r"(; use|, or) numpy\.empty\(grid\.get_pencil_info\(AXIS, \(0, 0, 0\), \(0, 0, 0\)\)\.shape, dtype\)$"

# A change to a good array of float64; the exception; its text. NAME, SHAPE, AXIS and PENCIL are those of the argument.
REFUSED_ARRAYS = {
    "list": (lambda a: a.tolist(), TypeError, r"^NAME must be a numpy\.ndarray, got \[\[\[.* of type list$"),
    "none": (lambda a: 1.0, TypeError, r"^NAME must be a numpy\.ndarray, got 1\.0 of type float$"),
    "memoryview": (memoryview, TypeError, r"^NAME must be a numpy\.ndarray, got <memory .* of type memoryview$"),
    "masked": (np.ma.masked_array, TypeError, r"^NAME is a masked array, whose mask would be lost; pass NAME\.filled"),
    "float16": (
        lambda a: a.astype("f2"),
        TypeError,
        r"^NAME is of float16, expected float32, float64, complex64 or comp",
    ),
    "longdouble": (lambda a: a.astype("g"), TypeError, r"^NAME is of (float128|longdouble), expected float32, float64"),
    "int64": (
        lambda a: a.astype("i8"),
        TypeError,
        r"^NAME is of int64, expected float32, float64, complex64 or complex128$",
    ),
    "bool": (lambda a: a.astype(bool), TypeError, r"^NAME is of bool, expected float32"),
    "object": (lambda a: a.astype(object), TypeError, r"^NAME is of object, expected float32, float64"),
    "datetime": (lambda a: a.view("M8[s]"), TypeError, r"^NAME is of datetime64\[s\], expected float32"),
    "bytes": (lambda a: a.view("S8"), TypeError, r"^NAME is of \|S8, expected float32"),
    "structured": (lambda a: a.view([("re", "f4"), ("im", "f4")]), TypeError, r"^NAME is of \[.*\], expected float32"),
    "big-endian": (
        lambda a: a.astype(">f8"),
        TypeError,
        r"^NAME is of >f8 \(byte-swapped float64\), expected native byte order; use NAME\.astype\(NAME\.",
    ),
    "opaque": (lambda a: a.view("V8"), TypeError, r"^NAME is of \|V8, opaque storage; pass dtype=cudecomp\.DataType"),
    "too short": (
        lambda a: a[1:],
        ValueError,
        r"^NAME has shape \(.*\), expected SHAPE, the PENCIL-pencil of this rank with ",
    ),
    "flat": (
        lambda a: a.ravel(),
        ValueError,
        r"^NAME has shape \(120,\), expected SHAPE, the PENCIL-pencil of .*" + REMEDY,
    ),
    "4-D": (lambda a: a[None], ValueError, r"^NAME has shape \(1, .*\), expected SHAPE"),
    "0-D": (lambda a: np.array(1.0), ValueError, r"^NAME has shape \(\), expected SHAPE"),
    "X, Y, Z": (lambda a: np.ones(GDIMS), ValueError, r"^NAME has shape \(4, 5, 6\), expected SHAPE.*" + REMEDY),
    "Fortran": (
        np.asfortranarray,
        ValueError,
        r"^NAME is not C-contiguous: its strides are \(8, .*\) for shape SHAPE and 8 bytes per element; use numpy",
    ),
    "every other": (lambda a: np.repeat(a, 2, 2)[..., ::2], ValueError, r"^NAME is not C-contiguous"),
    "reversed": (lambda a: a[::-1], ValueError, r"^NAME is not C-contiguous.*" + REMEDY),
    "broadcast": (lambda a: np.broadcast_to(np.float64(1), a.shape), ValueError, r"^NAME is not C-contiguous"),
}


def expected_text(text, grid, name, axis):
    shape = str(grid.get_pencil_info(axis).shape).replace("(", r"\(").replace(")", r"\)")
    return text.replace("NAME", name).replace("SHAPE", shape).replace("AXIS", str(axis)).replace("PENCIL", "XYZ"[axis])


@pytest.mark.parametrize("case", REFUSED_ARRAYS)
@pytest.mark.parametrize("name", TRANSPOSES)
def test_refused_input_and_output_of_a_transpose(grid, name, case):
    change, error, text = REFUSED_ARRAYS[case]
    source, target = TRANSPOSES[name]
    transpose = getattr(grid, f"transpose_{name}")
    good, out = pencil(grid, source), pencil(grid, target)
    with pytest.raises(error, match=expected_text(text, grid, "input", source)):
        transpose(change(good), out)
    np.testing.assert_array_equal(out, pencil(grid, target))
    with pytest.raises(error, match=expected_text(text, grid, "out", target)):
        transpose(good, change(out))


@pytest.mark.parametrize("case", REFUSED_ARRAYS)
@pytest.mark.parametrize("axis", range(3))
def test_refused_array_of_a_halo_update(grid, axis, case):
    change, error, text = REFUSED_ARRAYS[case]
    with pytest.raises(error, match=expected_text(text, grid, "input", axis)):
        getattr(grid, f"update_halos_{'xyz'[axis]}")(change(pencil(grid, axis)), (0, 0, 0))


def test_values_are_invalid_usage(grid):
    with pytest.raises(InvalidUsageError) as caught:
        grid.transpose_x_to_y(np.ones((1, 1, 1)))
    assert caught.value.result is cudecomp.Result.INVALID_USAGE


def test_input_and_output_of_different_types(grid):
    with pytest.raises(TypeError, match=r"^out is of complex128, but input is of float64; arrays are never converted$"):
        grid.transpose_x_to_y(pencil(grid, 0), pencil(grid, 1, np.complex128))


def test_read_only_output(grid):
    array, out = pencil(grid, 0), pencil(grid, 1)
    out.flags.writeable = False
    with pytest.raises(ValueError, match=r"^out is read-only; pass a writable array$"):
        grid.transpose_x_to_y(array, out)
    array.flags.writeable = False
    with pytest.raises(ValueError, match=r"^input is read-only, but its halo is to be written; pass a writable array$"):
        grid.update_halos_x(array, (0, 0, 0))


@pytest.mark.parametrize("shift", [1, 60, 119])
@pytest.mark.parametrize("input_first", [True, False])
def test_overlap(grid, shift, input_first):
    buffer = np.zeros(240)
    first, second = (0, shift) if input_first else (shift, 0)
    array = buffer[first : first + 120].reshape(grid.get_pencil_info(0).shape)
    out = buffer[second : second + 120].reshape(grid.get_pencil_info(1).shape)
    distance = 8 * (second - first)
    with pytest.raises(
        ValueError, match=rf"^input and out overlap in part: out starts {distance} bytes after input; let"
    ):
        grid.transpose_x_to_y(array, out)


def test_neighbours_in_memory_do_not_overlap(grid):
    buffer = np.zeros(240)
    first, second = buffer[:120], buffer[120:]
    for array, out in ((first, second), (second, first)):
        array[:] = pencil(grid, 0).ravel()
        grid.transpose_x_to_y(array.reshape(6, 5, 4), out.reshape(4, 6, 5))
        np.testing.assert_array_equal(out.reshape(4, 6, 5), pencil(grid, 1))


@pytest.mark.parametrize(
    "dtype", [np.float64, np.dtype(np.float64), "float64", float, -2, True, cudecomp.RankOrder.DEFAULT, "DOUBLE"]
)
def test_dtype_arguments_of_the_wrong_type(grid, dtype):
    text = (
        r"^dtype must be a cudecomp\.DataType or None, got .* of type .*; leave it out to take the type of the array$"
    )
    with pytest.raises(TypeError, match=text):
        grid.transpose_x_to_y(pencil(grid, 0), dtype=dtype)
    with pytest.raises(TypeError, match=text):
        grid.update_halos_x(pencil(grid, 0), (0, 0, 0), dtype=dtype)


def test_dtype_that_does_not_agree(grid):
    with pytest.raises(
        TypeError, match=r"^input is of float64, but dtype is DataType\.FLOAT; arrays are never converted$"
    ):
        grid.transpose_x_to_y(pencil(grid, 0), dtype=DataType.FLOAT)
    with pytest.raises(
        TypeError, match=r"^out is of float32, but dtype is DataType\.DOUBLE; arrays are never converted$"
    ):
        grid.transpose_x_to_y(pencil(grid, 0), pencil(grid, 1, np.float32), dtype=DataType.DOUBLE)
    with pytest.raises(TypeError, match=r"^input is of \|V8 with 8 bytes per element, but DataType\.FLOAT has 4$"):
        grid.transpose_x_to_y(pencil(grid, 0).view("V8"), dtype=DataType.FLOAT)
    with pytest.raises(
        ValueError, match=r"^dtype is -9, expected one of FLOAT, DOUBLE, FLOAT_COMPLEX, DOUBLE_COMPLEX$"
    ):
        grid.transpose_x_to_y(pencil(grid, 0), dtype=DataType(-9))


def test_arguments_by_position(grid):
    with pytest.raises(TypeError, match="positional"):
        grid.transpose_x_to_y(pencil(grid, 0), None, DataType.DOUBLE)
    with pytest.raises(TypeError, match="unexpected keyword"):
        grid.transpose_x_to_y(pencil(grid, 0), halo_extents=(0, 0, 0))


# --- halo updates


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("dtype", DTYPES)
def test_periodic_halo(grid, axis, dtype):
    halo, padding = (1, 2, 1), (0, 1, 3)
    array = pencil(grid, axis, dtype, halo, padding)
    update = getattr(grid, f"update_halos_{'xyz'[axis]}")
    assert update(array, halo, (True, True, True), padding=padding, dtype=DTYPES[dtype]) is None
    info = grid.get_pencil_info(axis, halo, padding)
    wrapped = np.pad(global_field(dtype), [(h, h) for h in halo], mode="wrap").transpose(info.order)
    expected = np.pad(wrapped, [(0, padding[dim]) for dim in info.order], constant_values=-1)
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("dim", range(3))
@pytest.mark.parametrize("periods", [None, (False, False, False), (True, False, False), [np.True_, True, True]])
def test_one_dim(grid, dim, periods):
    halo = (1, 1, 1)
    array = pencil(grid, 0, halo=halo)
    expected = array.copy()
    if periods is not None and periods[dim]:
        array_axis = grid.get_pencil_info(0).order.index(dim)
        low, high = (np.take(array, [index], array_axis) for index in (1, -2))
        index = [slice(None)] * 3
        index[array_axis] = slice(-1, None)
        expected[tuple(index)] = low
        index[array_axis] = slice(0, 1)
        expected[tuple(index)] = high
    grid.update_halos_x(array, halo, periods, dim)
    np.testing.assert_array_equal(array, expected)


def test_dims_in_turn_are_what_leaving_out_dim_does(grid):
    halo, periods = (1, 2, 1), (True, False, True)
    together, apart = pencil(grid, 1, halo=halo), pencil(grid, 1, halo=halo)
    grid.update_halos_y(together, halo, periods)
    for dim in range(3):
        grid.update_halos_y(apart, halo, periods, dim=np.int8(dim))
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize(
    ("periods", "error", "text"),
    [
        (True, TypeError, r"^halo_periods takes 3 bools \(X, Y, Z\), got True of type bool$"),
        ((True, False), ValueError, r"^halo_periods takes 3 bools \(X, Y, Z\), got 2: \(True, False\)$"),
        ((1, 0, 1), TypeError, r"^halo_periods\[0\] takes True or False, got 1 of type int$"),
    ],
)
def test_refused_periods(grid, periods, error, text):
    with pytest.raises(error, match=text):
        grid.update_halos_x(pencil(grid, 0), (0, 0, 0), periods)


def test_more_halo_than_there_is(grid):
    halo = (0, 6, 0)
    array = pencil(grid, 0, halo=halo)
    with pytest.raises(InvalidUsageError, match=r"6.*5|5.*6"):
        grid.update_halos_x(array, halo, (True, True, True), 1)
    np.testing.assert_array_equal(array, pencil(grid, 0, halo=halo))
