# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Host arrays as operands: how a NumPy array tells its address, type and shape. Device arrays: `_device_arrays.pyx`."""

from cpython.buffer cimport PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t

import numpy as np

from cudecomp._enums import DataType
from cudecomp._errors import InvalidUsageError

cdef type ndarray = np.ndarray
cdef type masked_array = np.ma.MaskedArray

# The type objects of NumPy's own dtypes are singletons, so that one comparison of pointers tells them.
cdef object float32 = np.dtype(np.float32)
cdef object float64 = np.dtype(np.float64)
cdef object complex64 = np.dtype(np.complex64)
cdef object complex128 = np.dtype(np.complex128)

cdef int FLOAT = DataType.FLOAT
cdef int DOUBLE = DataType.DOUBLE
cdef int FLOAT_COMPLEX = DataType.FLOAT_COMPLEX
cdef int DOUBLE_COMPLEX = DataType.DOUBLE_COMPLEX

# The NumPy dtype of each DataType; its members are ints, so codes look it up too.
ELEMENT_TYPES = {FLOAT: float32, DOUBLE: float64, FLOAT_COMPLEX: complex64, DOUBLE_COMPLEX: complex128}


cdef int given_dtype(object dtype) except? 1:
    """The code of a `dtype` argument, 0 for None."""
    if dtype is None:
        return 0
    if type(dtype) is not DataType:
        raise TypeError(
            f"dtype must be a cudecomp.DataType or None, got {dtype!r} of type {type(dtype).__name__}; "
            "leave it out to take the type of the array"
        )
    cdef int code = dtype
    if not DOUBLE_COMPLEX <= code <= FLOAT:
        raise InvalidUsageError(f"dtype is {code}, expected one of {', '.join(map(str, DataType.__members__))}")
    return code


cdef int acquire_host(
    Operand* operand, object array, str name, int given, const int64_t* shape, int axis, object info
) except -1:
    """Fills an operand from a NumPy array, or raises; after success release_host() is due.

    `given` is the code of an explicit dtype or 0, `shape` that of the pencil of this axis, which `info` describes.
    """
    if type(array) is not ndarray:
        check_array_type(array, name)
    operand.dtype = array_dtype(array.dtype, name, given)
    operand.of_cupy = False
    PyObject_GetBuffer(array, &operand.view, PyBUF_STRIDED_RO)
    operand.data = operand.view.buf
    operand.nbytes = operand.view.len
    operand.writable = not operand.view.readonly
    if not has_shape(&operand.view, shape) or not is_contiguous(&operand.view):
        release_host(operand)
        raise_layout_error(array, name, axis, info)
    return 0


cdef void release_host(Operand* operand) noexcept:
    PyBuffer_Release(&operand.view)


cdef bint has_shape(const Py_buffer* view, const int64_t* shape) noexcept nogil:
    return (
        view.ndim == 3 and view.shape[0] == shape[0] and view.shape[1] == shape[1] and view.shape[2] == shape[2]
    )


cdef bint is_contiguous(const Py_buffer* view) noexcept nogil:
    """Whether a 3-D view is in C order; as in NumPy, strides of axes that are never stepped along do not count."""
    cdef Py_ssize_t expected = view.itemsize
    cdef int axis
    if view.len == 0:
        return True
    for axis in range(2, -1, -1):
        if view.shape[axis] != 1 and view.strides[axis] != expected:
            return False
        expected *= view.shape[axis]
    return True


cdef int array_dtype(object dtype, str name, int given) except? 1:
    """The DataType code of an array with this NumPy dtype, 0 for opaque storage that `given` explains."""
    cdef int code
    if dtype is float64:
        code = DOUBLE
    elif dtype is complex128:
        code = DOUBLE_COMPLEX
    elif dtype is float32:
        code = FLOAT
    elif dtype is complex64:
        code = FLOAT_COMPLEX
    else:
        code = unusual_dtype(dtype, name, given)
    check_given(dtype, code, name, given)
    return code


cdef int check_given(object dtype, int code, str name, int given) except -1:
    """An explicit dtype must agree with the array's, which `dtype` shows."""
    if given and code and code != given:
        given_name = DataType(given).name
        raise TypeError(f"{name} is of {dtype}, but dtype is DataType.{given_name}; arrays are never converted")
    return 0


cdef int unusual_dtype(object dtype, str name, int given) except? 1:
    """The code of a dtype that is no singleton: one with metadata, or opaque storage; raises for all others."""
    if dtype.kind == "V" and dtype.fields is None and dtype.subdtype is None:
        return check_opaque(dtype, name, given)
    if not dtype.isnative:
        raise TypeError(
            f"{name} is of {dtype.str} (byte-swapped {dtype.newbyteorder('=')}), expected native byte order; "
            f"use {name}.astype({name}.dtype.newbyteorder('='))"
        )
    for code, known in ((DOUBLE, float64), (DOUBLE_COMPLEX, complex128), (FLOAT, float32), (FLOAT_COMPLEX, complex64)):
        if dtype.num == known.num:
            return code
    raise TypeError(f"{name} is of {dtype}, expected float32, float64, complex64 or complex128")


cdef int check_opaque(object dtype, str name, int given) except? 1:
    if not given:
        raise TypeError(f"{name} is of {dtype}, opaque storage; pass dtype=cudecomp.DataType... to say what it holds")
    itemsize = ELEMENT_TYPES[given].itemsize
    if dtype.itemsize != itemsize:
        raise TypeError(
            f"{name} is of {dtype} with {dtype.itemsize} bytes per element, but DataType.{DataType(given).name} "
            f"has {itemsize}"
        )
    return 0


cdef int check_array_type(object array, str name) except -1:
    """Accepts subclasses of ndarray, other than those whose data does not stand for itself."""
    if isinstance(array, masked_array):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.filled(value)")
    if not isinstance(array, ndarray) and hasattr(type(array), "__cuda_array_interface__"):
        raise TypeError(
            f"{name} is a GPU array of type {type(array).__name__}, but this handle runs on the built-in engine, which "
            "works on NumPy arrays; install NVIDIA's library and set CUDECOMP_HOME to its folder, or copy the array to "
            f"the host (for CuPy, cupy.asnumpy({name}))"
        )
    if not isinstance(array, ndarray):
        raise TypeError(f"{name} must be a numpy.ndarray, got {array!r:.80} of type {type(array).__name__}")
    return 0


cdef int raise_layout_error(object array, str name, int axis, object info) except -1:
    halo, padding = info.halo_extents, info.padding
    remedy = f"numpy.empty(grid.get_pencil_info({axis}, {halo}, {padding}).shape, dtype)"
    if array.shape != info.shape:
        raise InvalidUsageError(
            f"{name} has shape {array.shape}, expected {info.shape}, the {'XYZ'[axis]}-pencil of this rank with halo "
            f"{halo} and padding {padding}; use {remedy}"
        )
    raise InvalidUsageError(
        f"{name} is not C-contiguous: its strides are {array.strides} for shape {array.shape} and {array.itemsize} "
        f"bytes per element; use numpy.ascontiguousarray, or {remedy}"
    )
