// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// The shape of a 0.5 header: no prefix in structs, no inline wrappers, no initializer for Fortran communicators,
// standard headers inside extern "C", size_t from elsewhere.
#ifndef CUDECOMP_H
#define CUDECOMP_H

#include <cuda_runtime.h>
#include <mpi.h>

#define CUDECOMP_MAJOR 0
#define CUDECOMP_MINOR 5
#define CUDECOMP_PATCH 9

#ifdef __cplusplus
extern "C" {
#endif

#include <stdbool.h>
#include <stdint.h>

typedef enum {
  CUDECOMP_RESULT_SUCCESS = 0,      ///< it worked
  CUDECOMP_RESULT_INVALID_USAGE = 1 ///< it did not
} cudecompResult_t;

/** @brief An opaque thing. */
typedef struct cudecompHandle* cudecompHandle_t;

/** @brief What to make. */
typedef struct {
  int32_t gdims[3]; ///< grid
  bool periodic[3]; ///< wraps
} cudecompConfig_t;

/**
 * @brief Starts.
 * @param[out] handle the handle
 * @param[in] mpi_comm the communicator
 */
cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm mpi_comm);

/** @brief Makes. */
cudecompResult_t cudecompCreate(cudecompHandle_t handle, cudecompConfig_t* config);

/** @brief Takes memory. */
cudecompResult_t cudecompMalloc(cudecompHandle_t handle, void** buffer, size_t buffer_size_bytes);

#ifdef __cplusplus
}
#endif

#endif // CUDECOMP_H
