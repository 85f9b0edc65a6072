# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Streams as arguments: the handle behind everything that Python programs take for a CUDA stream.

=========================================  =================================================================
argument                                   stream
=========================================  =================================================================
None, the input array is CuPy's            CuPy's current stream
None, any other input array                the default stream, 0
an int, 0, 1 and 2 included                that handle; 1 is the legacy, 2 the per-thread default stream
an object with ``__cuda_stream__``         what the protocol tells: cuda.core, CuPy, PyTorch, Numba
an object with an integer ``ptr``          CuPy's streams of older versions
an object with an integer ``cuda_stream``  PyTorch's streams of older versions
=========================================  =================================================================
"""

from libc.stdint cimport uintptr_t

import operator
import sys

cdef object current_stream_of_cupy = None
cdef object zero = 0  # small ints are singletons, so that a comparison of pointers tells most of them


cdef int stream_handle(object stream, bint of_cupy, void** handle) except -1:
    """The handle of a `stream` argument; `of_cupy` says whether the input array is CuPy's."""
    cdef object value
    if stream is None:
        handle[0] = <void*><uintptr_t>(current_stream() if of_cupy else 0)
        return 0
    if type(stream) is int:
        value = stream
    else:
        value = handle_of_object(stream)
    if not 0 <= value < 1 << 64:
        raise ValueError(f"stream is {value}, expected a CUDA stream handle: an integer of at least 0 in 64 bits")
    handle[0] = <void*><uintptr_t>value
    return 0


cdef object current_stream():
    global current_stream_of_cupy
    if current_stream_of_cupy is None:
        current_stream_of_cupy = sys.modules["cupy"].cuda.get_current_stream
    return current_stream_of_cupy().ptr


cdef object handle_of_object(object stream):
    """The handle of a stream that is no plain int, as an int of any size."""
    if isinstance(stream, bool):
        raise TypeError(f"stream is {stream}, a bool; pass a stream object, an integer handle, or None")
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return handle_of_protocol(stream, protocol() if callable(protocol) else protocol)
    for name in ("ptr", "cuda_stream"):
        value = getattr(stream, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
    try:
        return operator.index(stream)  # NumPy's integers, say
    except TypeError:
        raise TypeError(
            f"stream is {stream!r:.80} of type {type(stream).__name__}, expected None, an integer handle, or an object "
            "with __cuda_stream__ or an integer ptr, such as cuda.core's, CuPy's and PyTorch's streams"
        ) from None


cdef object handle_of_protocol(object stream, object answer):
    kind = type(stream).__name__
    if type(answer) is tuple and len(<tuple>answer) == 2 and (<tuple>answer)[0] is zero:
        handle = (<tuple>answer)[1]
        if type(handle) is int:
            return handle
    try:
        version, handle = answer
        version, handle = operator.index(version), operator.index(handle)
    except (TypeError, ValueError):
        raise TypeError(
            f"stream is of type {kind}, whose __cuda_stream__ gives {answer!r:.80}, expected (0, handle)"
        ) from None
    if version != 0:
        raise TypeError(
            f"stream is of type {kind}, whose __cuda_stream__ has version {version}, but this package knows version 0; "
            "pass its integer handle"
        )
    return handle
