# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3

from libc.stdint cimport int64_t

from cudecomp_bindings.cycudecomp cimport cudecompGridDesc_t, cudecompHandle_t


cdef class Workspace:
    cdef void* data
    cdef int64_t nbytes
    cdef int grids
    cdef bint captured
    cdef list retired
    cdef cudecompHandle_t handle

    cdef int grow(self, cudecompGridDesc_t grid, int64_t nbytes, object ranks) except -1
    cdef int replace(self, cudecompGridDesc_t grid, int64_t nbytes) except -1
    cdef int let_go(self, cudecompGridDesc_t grid) except -1
    cdef int release(self, cudecompGridDesc_t grid) except -1


cdef class Gpu:
    cdef void* context
    cdef readonly int device
    cdef readonly bint library_has_workspaces
    cdef readonly bytes identity
    cdef readonly str shared  # which ranks share a GPU, empty if none do
    cdef readonly bint mpi_takes_memory
    cdef dict workspaces  # by the kind of memory
    cdef dict members  # the workspace of each grid, by the number of the grid
    cdef object ranks
    cdef void* last_stream
    cdef unsigned long last_thread
    cdef bint used
    cdef bint several_streams
    cdef void* event

    cdef Workspace join(self, cudecompHandle_t handle, Py_ssize_t number, object kind)
    cdef int leave(self, Py_ssize_t number, cudecompGridDesc_t grid) except -1
    cdef int make_current(self) except -1
    cdef int require_current(self) except -1
    cdef int begin(
        self, cudecompGridDesc_t grid, Workspace workspace, int64_t nbytes, void* stream, bint capturing, void** work
    ) except -1
    cdef int change_stream(self, void* stream) except -1
    cdef int end(self, void* stream, bint capturing) except -1
