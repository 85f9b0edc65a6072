# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3

from libc.stdint cimport int64_t

from cudecomp._arrays cimport Operand


cdef int acquire_device(
    Operand* operand, object array, str name, int given, const int64_t* shape, int axis, object info, int device
) except -1
