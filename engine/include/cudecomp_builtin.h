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
 * Allocates zeroed memory that the ranks of this node can reach into, so that operations on arrays in it need no copy
 * in between. Not collective. Where memory cannot be shared it is ordinary memory.
 *
 * @param[in] handle the handle; it may be finalized before the memory is released
 * @param[in] bytes bytes to allocate
 * @param[out] data the memory, on a page boundary
 * @param[out] block what cudecompBuiltinRelease() takes
 */
cudecompResult_t cudecompBuiltinAllocate(cudecompHandle_t handle, size_t bytes, void** data, void** block);

/** Releases memory of cudecompBuiltinAllocate(), on any thread, once no operation on it is running. Not collective. */
void cudecompBuiltinRelease(void* block);

/**
 * Tells, in lines of text, which way the data of each operation of a grid descriptor takes from this rank, and why.
 * Valid until the calling thread's next call. Never null; empty for a grid descriptor that is none.
 */
const char* cudecompBuiltinDescribe(cudecompGridDesc_t grid_desc);

/**
 * What autotuning measured when a grid descriptor was created, as one JSON object; "null" if nothing was tuned, and for
 * a grid descriptor that is none. Valid until the grid descriptor is destroyed. Never null.
 *
 * `tuned` tells which fields were open, `chosen` holds the choice, and `candidates` lists what was tried in order: kind
 * ("transpose" or "halo"), pdims, backend, times by operation (seconds on the fastest rank, on average and on the
 * slowest, each the median over the trials, and the weight), total (sum of weight times slowest; null if skipped),
 * skipped (why, or null), chosen.
 */
const char* cudecompBuiltinGetAutotuneReport(cudecompGridDesc_t grid_desc);

/**
 * Collective: how long the operations of a grid descriptor took so far, over all ranks, as one JSON object, the same on
 * all ranks. Valid until the next call for the same grid descriptor, or until that is destroyed. Fails with
 * CUDECOMP_RESULT_INVALID_USAGE unless CUDECOMP_ENABLE_PERFORMANCE_REPORT was 1 when the handle was made; then
 * cudecompGridDescDestroy() also prints the report on rank 0.
 *
 * `operations` lists each operation with each geometry: calls, samples, mean, min and max (seconds), bytes that it
 * brings to a rank on average, exchanged_bytes of them from other ranks, exchange_share (part of the time, from 0 to 1,
 * that is not copying within a rank), bandwidth and exchange_bandwidth (bytes per second and rank), by_rank (samples,
 * where CUDECOMP_PERFORMANCE_REPORT_DETAIL asks for them). What no sample tells is null. `text` is what is printed.
 */
cudecompResult_t cudecompBuiltinGetPerformanceReport(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                     const char** json);

/**
 * Is told of each step before it is taken, and once more, with done equal to total, at the end. A step prepares a
 * candidate, or is one of its trials.
 *
 * @param[in] done steps that are behind
 * @param[in] total steps in all
 * @param[in] candidate what runs next, such as "2 x 2 MPI_P2P"; empty at the end
 * @param[in] context what was passed with the callback
 */
typedef void (*cudecompBuiltinAutotuneProgress_t)(int32_t done, int32_t total, const char* candidate, void* context);

/**
 * Sets what later autotuning with a handle reports its progress to, on this rank alone; null for nothing. The callback
 * runs on the thread that creates the grid descriptor and must not call the library.
 */
cudecompResult_t cudecompBuiltinSetAutotuneProgress(cudecompHandle_t handle, cudecompBuiltinAutotuneProgress_t progress,
                                                    void* context);

#ifdef __cplusplus
}
#endif

#endif // CUDECOMP_BUILTIN_H
