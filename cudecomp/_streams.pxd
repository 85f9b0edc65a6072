# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3


cdef int stream_handle(object stream, bint of_cupy, void** handle) except -1
