# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t


cdef struct Operand:
    # What an operation needs to know of an array, wherever its memory is. `view` keeps host memory in place.
    void* data
    int64_t nbytes
    int dtype  # a cudecompDataType_t, 0 for opaque storage
    bint writable
    bint of_cupy
    Py_buffer view


cdef int FLOAT, DOUBLE, FLOAT_COMPLEX, DOUBLE_COMPLEX
cdef int array_dtype(object dtype, str name, int given) except? 1
cdef int check_given(object dtype, int code, str name, int given) except -1
cdef int given_dtype(object dtype) except? 1
cdef int acquire_host(
    Operand* operand, object array, str name, int given, const int64_t* shape, int axis, object info
) except -1
cdef void release_host(Operand* operand) noexcept
