# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What a handle on a GPU keeps beside NVIDIA's library: its device, and the workspaces of its operations.

Workspaces. The library wants scratch memory with each operation. All grids of a handle whose backends want the same
kind of memory share one workspace, which grows as needed and is freed with the last of those grids, so a repeated call
allocates nothing. Two operations must not use it at once. On one stream they never do. The first time another stream
comes along, the device is synchronized once; from then on an event is recorded after each operation, and an operation
on another stream than the one before waits for it, on the GPU.

Graphs. A captured operation uses the workspace when the graph is launched. What has been captured is never freed or
moved before the last grid goes, and launches are ordered against other operations by the program, as all accesses are.
"""

from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int64_t

from cudecomp_bindings.cycudecomp cimport cudecompFree, cudecompGridDesc_t, cudecompHandle_t, cudecompMalloc

from cudecomp._driver cimport (
    create_event,
    current_context,
    current_device,
    destroy_event,
    device_identity,
    open_driver,
    push_context,
    record_event,
    synchronize_context,
    wait_for_event,
)

import re
from pathlib import Path

from cudecomp import _gpu_backends
from cudecomp._agreement import agree
from cudecomp._errors import CudecompError, InvalidUsageError, error_from_result

# What an operation passes that needs no workspace: NVIDIA's library refuses null pointers.
cdef int64_t SMALLEST_WORKSPACE = 256
# The handle of the default stream of each thread, from the driver's documentation.
cdef size_t PER_THREAD_STREAM = 2
# The last release that does not manage workspaces itself.
LAST_WITHOUT_WORKSPACES = (0, 7, 0)


def manages_workspaces(path):
    """Whether the library in this file takes a null workspace; False where its name does not tell its release."""
    found = re.search(r"\.so\.(\d+)\.(\d+)\.(\d+)$", str(Path(path).resolve()))
    return found is not None and tuple(map(int, found.groups())) > LAST_WITHOUT_WORKSPACES


def sharing_ranks(identities):
    """The first ranks that use one GPU, as text such as 'ranks 0 and 2'; an empty text if each has its own."""
    first = {}
    for rank, identity in enumerate(identities):
        if identity in first:
            return f"ranks {first[identity]} and {rank}"
        first[identity] = rank
    return ""


cdef class Workspace:
    """Scratch memory for all grids of a handle that want the same kind of it."""

    def __cinit__(self):
        self.data = NULL
        self.nbytes = 0
        self.retired = []

    cdef int grow(self, cudecompGridDesc_t grid, int64_t nbytes, object ranks) except -1:
        """Larger memory instead of what there is; `ranks` is the communicator of those that raise alike, or None."""
        cdef object error = None
        try:
            self.replace(grid, nbytes)
        except CudecompError as caught:
            if ranks is None:
                raise
            error = caught
        if ranks is not None:
            self.nbytes = 0  # if one rank has failed, all find theirs too small next time
            agree(ranks, "a workspace", error, {})
            self.nbytes = nbytes
        return 0

    cdef int replace(self, cudecompGridDesc_t grid, int64_t nbytes) except -1:
        cdef int result
        cdef size_t size = nbytes
        synchronize_context()
        self.let_go(grid)
        with nogil:
            result = cudecompMalloc(self.handle, grid, &self.data, size)
        if result != 0:
            self.data = NULL
            raise error_from_result(result, f"the library cannot allocate a workspace of {nbytes} bytes on the GPU")
        self.nbytes = nbytes
        return 0

    cdef int let_go(self, cudecompGridDesc_t grid) except -1:
        cdef void* data = self.data
        cdef bint captured = self.captured
        self.data, self.nbytes, self.captured = NULL, 0, False
        if captured:
            self.retired.append(<size_t>data)
        elif data is not NULL:
            free_memory(self.handle, grid, data)
        return 0

    cdef int release(self, cudecompGridDesc_t grid) except -1:
        self.captured = False
        self.let_go(grid)
        while self.retired:
            free_memory(self.handle, grid, <void*><size_t>self.retired.pop())
        return 0


cdef unsigned long thread_of(void* stream) noexcept:
    """The thread whose stream it is; 0 for those that are the same stream in all threads."""
    return PyThread_get_thread_ident() if <size_t>stream == PER_THREAD_STREAM else 0


cdef int free_memory(cudecompHandle_t handle, cudecompGridDesc_t grid, void* data) except -1:
    cdef int result
    with nogil:
        result = cudecompFree(handle, grid, data)
    if result != 0:
        raise error_from_result(result, "the library cannot free a workspace")
    return 0


cdef class Gpu:
    """The GPU of a handle: the device that was current when the handle was made."""

    def __init__(self, library_path):
        open_driver()
        current_context(&self.context)
        if self.context is NULL:
            raise InvalidUsageError(
                "no GPU is current; choose one before making a Handle, for example with "
                "cuda.core.Device(0).set_current()"
            )
        self.device = current_device()
        self.identity = device_identity(self.device)
        self.library_has_workspaces = manages_workspaces(library_path)
        self.workspaces = {}
        self.members = {}
        create_event(&self.event)

    def compare_devices(self, private, checks):
        """What concerns all ranks, a collective step; with `checks` growing workspaces is one, too."""
        everyone = private.allgather((self.identity, _gpu_backends.mpi_takes_gpu_memory()))
        self.shared = sharing_ranks([identity for identity, _ in everyone])
        self.mpi_takes_memory = all(takes for _, takes in everyone)
        self.ranks = private if checks else None

    def __dealloc__(self):
        if self.event is not NULL:
            destroy_event(self.event)

    cdef Workspace join(self, cudecompHandle_t handle, Py_ssize_t number, object kind):
        """The workspace for one more grid whose backends want memory of this kind."""
        cdef Workspace workspace = self.workspaces.get(kind)
        if workspace is None:
            workspace = self.workspaces[kind] = Workspace()
            workspace.handle = handle
        workspace.grids += 1
        self.members[number] = workspace
        return workspace

    cdef int leave(self, Py_ssize_t number, cudecompGridDesc_t grid) except -1:
        """Waits for all work on the GPU; frees the workspace with its last grid, which must still exist.

        A grid that leaves again, because ending it has failed, does not count twice.
        """
        synchronize_context()
        cdef Workspace workspace = self.members.pop(number, None)
        if workspace is not None:
            workspace.grids -= 1
            if workspace.grids == 0:
                workspace.release(grid)
        return 0

    cdef int make_current(self) except -1:
        """For what ends: it is collective, so it works whatever device is current. After True pop_context() is due."""
        cdef void* context = NULL
        current_context(&context)
        if context == self.context:
            return False
        push_context(self.context)
        return True

    cdef int require_current(self) except -1:
        cdef void* context = NULL
        current_context(&context)
        if context == self.context:
            return 0
        if context is NULL:
            where = "this thread has no current GPU"
        elif current_device() == self.device:
            where = f"another context of device {self.device} is current"
        else:
            where = f"the current device is {current_device()}"
        raise InvalidUsageError(
            f"{where}, but the handle was made on device {self.device}; make that one current before the call, for "
            f"example with cuda.core.Device({self.device}).set_current()"
        )

    cdef int begin(
        self, cudecompGridDesc_t grid, Workspace workspace, int64_t nbytes, void* stream, bint capturing, void** work
    ) except -1:
        """The workspace for an operation on a stream, ordered after what has used it before."""
        if self.library_has_workspaces:
            work[0] = NULL
            return 0
        if nbytes < SMALLEST_WORKSPACE:
            nbytes = SMALLEST_WORKSPACE
        if nbytes > workspace.nbytes:
            if capturing:
                raise InvalidUsageError(
                    f"the operation needs a workspace of {nbytes} bytes, which cannot be allocated while a stream is "
                    "captured; call it once with the same arrays before the capture"
                )
            workspace.grow(grid, nbytes, self.ranks)
        if capturing:
            workspace.captured = True
        elif self.used and (stream != self.last_stream or thread_of(stream) != self.last_thread):
            self.change_stream(stream)
        work[0] = workspace.data
        return 0

    cdef int change_stream(self, void* stream) except -1:
        """Orders a stream after the last operation, which was on another."""
        if self.several_streams:
            wait_for_event(stream, self.event)
        else:
            # The stream before may be gone, so it cannot be asked any more where it stands.
            synchronize_context()
            self.several_streams = True
        return 0

    cdef int end(self, void* stream, bint capturing) except -1:
        if capturing:
            return 0
        self.used = True
        self.last_stream, self.last_thread = stream, thread_of(stream)
        if self.several_streams:
            record_event(self.event, stream)
        return 0
