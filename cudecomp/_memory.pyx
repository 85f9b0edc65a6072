# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of the built-in engine that other ranks of the node can reach into."""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport intptr_t

from cudecomp_bindings._internal.cudecomp import _get_optional_symbol

ctypedef int (*AllocateFunction)(void*, size_t, void**, void**) noexcept nogil
ctypedef void (*ReleaseFunction)(void*) noexcept nogil


cdef class SharedBlock:
    """A buffer of the engine's memory, zeroed; it goes back to the system when the last array over it dies."""

    cdef void* _data
    cdef void* _block
    cdef Py_ssize_t _bytes
    cdef ReleaseFunction _release

    def __init__(self):
        raise TypeError("SharedBlock objects come from allocate()")

    def __dealloc__(self):
        if self._block is not NULL:
            self._release(self._block)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self._data, self._bytes, 0, flags)

    def __len__(self):
        return self._bytes


def allocate(intptr_t handle, size_t size):
    """Allocates `size` bytes for the handle at this address; a SharedBlock."""
    cdef intptr_t allocate_address = _get_optional_symbol("cudecompBuiltinAllocate")
    cdef intptr_t release_address = _get_optional_symbol("cudecompBuiltinRelease")
    cdef SharedBlock block = SharedBlock.__new__(SharedBlock)
    cdef int result
    with nogil:
        result = (<AllocateFunction>allocate_address)(<void*>handle, size, &block._data, &block._block)
    if result != 0:
        raise MemoryError(f"the engine cannot allocate {size} bytes")
    block._bytes = size
    block._release = <ReleaseFunction>release_address
    return block
