# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3


cdef int open_driver() except -1
cdef int current_context(void** context) except -1
cdef int push_context(void* context) except -1
cdef int pop_context() except -1
cdef int current_device() except -1
cdef int synchronize_context() except -1
cdef int device_of_pointer(const void* pointer) except -2 nogil
cdef int is_capturing(void* stream) except -1
cdef int create_event(void** event) except -1
cdef void destroy_event(void* event) noexcept
cdef int record_event(void* event, void* stream) except -1
cdef int wait_for_event(void* stream, void* event) except -1
cdef bytes device_identity(int device)
