# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The few functions of the CUDA driver that this package needs beside NVIDIA's library.

The driver library is there wherever a GPU is, whatever Python packages are; it is opened by the first handle on a GPU.
Contexts, streams and events are the plain pointers of the C interface.
"""

from libc.stdint cimport uintptr_t

from cudecomp._errors import CudaError, InvalidUsageError, NotSupportedError

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char*, int)
    void* dlsym(void*, const char*)
    const char* dlerror()
    int RTLD_NOW

# CUresult and CUpointer_attribute values, from the driver's documentation.
cdef enum:
    CUDA_SUCCESS = 0
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906
    POINTER_MEMORY_TYPE = 2
    POINTER_DEVICE_ORDINAL = 9
    MEMORY_TYPE_DEVICE = 2
    MEMORY_TYPE_UNIFIED = 4
    EVENT_DISABLE_TIMING = 2

ctypedef int (*PointerToInt)(void*) noexcept nogil
ctypedef int (*NothingToInt)() noexcept nogil
ctypedef int (*PointerAttributes)(unsigned int, int*, void**, uintptr_t) noexcept nogil
ctypedef int (*IntPointerToInt)(int*) noexcept nogil
ctypedef int (*StreamCapturing)(void*, int*) noexcept nogil
ctypedef int (*EventCreate)(void**, unsigned int) noexcept nogil
ctypedef int (*TwoPointersToInt)(void*, void*) noexcept nogil
ctypedef int (*StreamWait)(void*, void*, unsigned int) noexcept nogil
ctypedef int (*ErrorName)(int, const char**) noexcept nogil
ctypedef int (*DeviceUuid)(void*, int) noexcept nogil

cdef PointerToInt cuCtxGetCurrent = NULL
cdef PointerToInt cuCtxPushCurrent = NULL
cdef PointerToInt cuCtxPopCurrent = NULL
cdef IntPointerToInt cuCtxGetDevice = NULL
cdef NothingToInt cuCtxSynchronize = NULL
cdef PointerAttributes cuPointerGetAttributes = NULL
cdef StreamCapturing cuStreamIsCapturing = NULL
cdef EventCreate cuEventCreate = NULL
cdef PointerToInt cuEventDestroy = NULL
cdef TwoPointersToInt cuEventRecord = NULL
cdef StreamWait cuStreamWaitEvent = NULL
cdef ErrorName cuGetErrorName = NULL
cdef DeviceUuid cuDeviceGetUuid = NULL
cdef bint opened = False


cdef void* symbol(void* library, const char* name) except NULL:
    cdef void* address = dlsym(library, name)
    if address is NULL:
        raise NotSupportedError(f"the CUDA driver lacks {name.decode()}; update it")
    return address


cdef int open_driver() except -1:
    """Opens the driver library, once."""
    global cuCtxGetCurrent, cuCtxGetDevice, cuCtxSynchronize, cuPointerGetAttributes, cuStreamIsCapturing, opened
    global cuCtxPushCurrent, cuCtxPopCurrent
    global cuEventCreate, cuEventDestroy, cuEventRecord, cuStreamWaitEvent, cuGetErrorName, cuDeviceGetUuid
    if opened:
        return 0
    cdef void* library = dlopen("libcuda.so.1", RTLD_NOW)
    if library is NULL:
        raise NotSupportedError(
            f"NVIDIA's library needs a CUDA driver, which cannot be opened: {dlerror().decode()}; run on a machine "
            "with a GPU, or set CUDECOMP_LIBRARY=builtin to work on NumPy arrays"
        )
    cuCtxGetCurrent = <PointerToInt>symbol(library, "cuCtxGetCurrent")
    cuCtxPushCurrent = <PointerToInt>symbol(library, "cuCtxPushCurrent_v2")
    cuCtxPopCurrent = <PointerToInt>symbol(library, "cuCtxPopCurrent_v2")
    cuCtxGetDevice = <IntPointerToInt>symbol(library, "cuCtxGetDevice")
    cuCtxSynchronize = <NothingToInt>symbol(library, "cuCtxSynchronize")
    cuPointerGetAttributes = <PointerAttributes>symbol(library, "cuPointerGetAttributes")
    cuStreamIsCapturing = <StreamCapturing>symbol(library, "cuStreamIsCapturing")
    cuEventCreate = <EventCreate>symbol(library, "cuEventCreate")
    cuEventDestroy = <PointerToInt>symbol(library, "cuEventDestroy_v2")
    cuEventRecord = <TwoPointersToInt>symbol(library, "cuEventRecord")
    cuStreamWaitEvent = <StreamWait>symbol(library, "cuStreamWaitEvent")
    cuGetErrorName = <ErrorName>symbol(library, "cuGetErrorName")
    cuDeviceGetUuid = <DeviceUuid>symbol(library, "cuDeviceGetUuid_v2")
    opened = True
    return 0


cdef int check(int result, str call) except -1:
    cdef const char* name = NULL
    if result == CUDA_SUCCESS:
        return 0
    cuGetErrorName(result, &name)
    text = "unknown error" if name is NULL else name.decode()
    raise CudaError(f"{call} failed with {text} ({result}); an earlier operation on the GPU may be the cause")


cdef int current_context(void** context) except -1:
    """The context of this thread, NULL if it has none."""
    return check(cuCtxGetCurrent(context), "cuCtxGetCurrent")


cdef int push_context(void* context) except -1:
    """Makes a context the thread's until it is popped."""
    return check(cuCtxPushCurrent(context), "cuCtxPushCurrent")


cdef int pop_context() except -1:
    cdef void* context = NULL
    return check(cuCtxPopCurrent(&context), "cuCtxPopCurrent")


cdef int current_device() except -1:
    """The device of the context of this thread, which must have one."""
    cdef int device = 0
    check(cuCtxGetDevice(&device), "cuCtxGetDevice")
    return device


cdef int synchronize_context() except -1:
    cdef int result
    with nogil:
        result = cuCtxSynchronize()
    return check(result, "cuCtxSynchronize")


cdef int device_of_pointer(const void* pointer) except -2 nogil:
    """The device whose memory this is; -1 for memory that the driver does not know as a device's.

    Page-locked host memory has a device, too, so the kind of memory is asked for.
    """
    cdef int device = -1, kind = 0
    cdef int[2] attributes
    cdef void* answers[2]
    attributes[0], answers[0] = POINTER_MEMORY_TYPE, &kind
    attributes[1], answers[1] = POINTER_DEVICE_ORDINAL, &device
    if cuPointerGetAttributes(2, attributes, answers, <uintptr_t>pointer) != CUDA_SUCCESS:
        return -1
    return device if kind == MEMORY_TYPE_DEVICE or kind == MEMORY_TYPE_UNIFIED else -1


cdef int is_capturing(void* stream) except -1:
    """Whether work on the stream goes into a graph."""
    cdef int status = 0
    cdef int result = cuStreamIsCapturing(stream, &status)
    if result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        raise InvalidUsageError(
            "the operation is on the default stream while another stream is being captured, which would break the "
            "capture; pass the stream that is captured as stream=..."
        )
    check(result, "cuStreamIsCapturing")
    return status != 0


cdef int create_event(void** event) except -1:
    return check(cuEventCreate(event, EVENT_DISABLE_TIMING), "cuEventCreate")


cdef void destroy_event(void* event) noexcept:
    cuEventDestroy(event)


cdef int record_event(void* event, void* stream) except -1:
    return check(cuEventRecord(event, stream), "cuEventRecord")


cdef int wait_for_event(void* stream, void* event) except -1:
    """Work enqueued on the stream from now on waits for what the event was recorded after."""
    return check(cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent")


cdef bytes device_identity(int device):
    """16 bytes that name the GPU, or the part of one, among all there are."""
    cdef char[16] uuid
    check(cuDeviceGetUuid(uuid, device), "cuDeviceGetUuid")
    return uuid[:16]
