// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// The shape of a 0.7 header: structs that identify themselves, inline wrappers over versioned functions, a header with
// the version beside it.
#ifndef CUDECOMP_H
#define CUDECOMP_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda_runtime.h>
#include <mpi.h>

#include "line_07_version.h"

/** @cond */
#define CUDECOMP_CONFIG_MAGIC INT32_C(0x434f4e46)
/** @endcond */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CUDECOMP_RESULT_SUCCESS = 0,      ///< it worked
  CUDECOMP_RESULT_INVALID_USAGE = 1 ///< it did not
} cudecompResult_t;

typedef enum {
  CUDECOMP_FLOAT = -1, ///< single
  CUDECOMP_DOUBLE = -2 ///< double
} cudecompDataType_t;

/** An opaque thing. */
typedef struct cudecompHandle* cudecompHandle_t;

/** What to make. */
typedef struct {
  /** @cond */
  int64_t struct_size;
  int32_t magic;
  int32_t version;
  /** @endcond */

  int32_t gdims[3];         ///< grid
  int32_t order[3][3];      ///< memory order
                            ///< (default: unset)
  bool periodic[3];         ///< wraps
  cudecompDataType_t dtype; ///< type
} cudecompConfig_t;

/** How to make it. */
typedef struct {
  double weights[4]; ///< weights
} cudecompOptions_t;

/** Starts. */
cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm mpi_comm);

/** Starts from Fortran. */
cudecompResult_t cudecompInit_F(cudecompHandle_t* handle, MPI_Fint mpi_comm_f);

/** @cond */
cudecompResult_t cudecompCreateVersioned(cudecompHandle_t handle, cudecompConfig_t* config, int64_t config_struct_size,
                                         int32_t config_version, const cudecompOptions_t* options,
                                         int64_t options_struct_size);
/** @endcond */

/** Makes. */
static inline cudecompResult_t cudecompCreate(cudecompHandle_t handle, cudecompConfig_t* config,
                                              const cudecompOptions_t* options) {
  return cudecompCreateVersioned(handle, config, (int64_t)sizeof(cudecompConfig_t), CUDECOMP_CONFIG_VERSION, options,
                                 options ? (int64_t)sizeof(cudecompOptions_t) : (int64_t)0);
}

/** Moves. */
cudecompResult_t cudecompTransposeXToY(cudecompHandle_t handle, void* input, cudecompDataType_t dtype,
                                       const int32_t halo_extents[], const bool periods[], cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif // CUDECOMP_H
