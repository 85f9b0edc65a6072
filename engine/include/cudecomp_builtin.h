// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * What the built-in engine exports beyond cudecomp.h. Callers look these up by name and do without where they are
 * missing, so NVIDIA's library stays a drop-in.
 */

#ifndef CUDECOMP_BUILTIN_H
#define CUDECOMP_BUILTIN_H

#include "cudecomp.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Text of the calling thread's last failed call: what was wrong, the value seen, the value expected. Never null. */
const char* cudecompBuiltinGetLastError(void);

/** One JSON object: version, the MPI library built against and running, instruction set in use. Never null. */
const char* cudecompBuiltinGetInfo(void);

/**
 * Allocates zeroed memory that the ranks of this node can reach into, so that operations on arrays in it need no copy in
 * between. Not collective. Where memory cannot be shared it is ordinary memory.
 *
 * @param[in] handle the handle; it may be finalized before the memory is released
 * @param[in] bytes bytes to allocate
 * @param[out] data the memory, on a page boundary
 * @param[out] block what cudecompBuiltinRelease() takes
 */
cudecompResult_t cudecompBuiltinAllocate(cudecompHandle_t handle, size_t bytes, void** data, void** block);

/** Releases memory of cudecompBuiltinAllocate(), on any thread, once no operation on it is running. Not collective. */
void cudecompBuiltinRelease(void* block);

#ifdef __cplusplus
}
#endif

#endif // CUDECOMP_BUILTIN_H
