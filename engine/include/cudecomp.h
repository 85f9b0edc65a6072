// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * C interface of the pencil-decomposition engine, binary compatible with the cuDecomp 0.7 line.
 *
 * A global grid of X * Y * Z points is split over a process grid of rows * cols ranks. Three layouts exist: X-, Y- and
 * Z-pencils, each complete along the axis that names it. Transposes move a field between two layouts, halo updates copy
 * boundary layers between neighbours of one layout.
 *
 * Unless a comment says otherwise, arrays of three are in X, Y, Z order, and sizes are counted in elements.
 */

#ifndef CUDECOMP_H
#define CUDECOMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>
#include <mpi.h>

#define CUDECOMP_MAJOR 0 ///< major version of the interface
#define CUDECOMP_MINOR 7 ///< minor version of the interface
#define CUDECOMP_PATCH 0 ///< patch version of the interface

#define CUDECOMP_GRID_DESC_CONFIG_VERSION 1           ///< layout version of cudecompGridDescConfig_t
#define CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_VERSION 1 ///< layout version of cudecompGridDescAutotuneOptions_t
#define CUDECOMP_PENCIL_INFO_VERSION 1                ///< layout version of cudecompPencilInfo_t

#define CUDECOMP_GRID_DESC_CONFIG_MAGIC INT32_C(0x434f4e46)           ///< tag of an initialized config ("CONF")
#define CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_MAGIC INT32_C(0x4155544f) ///< tag of initialized options ("AUTO")
#define CUDECOMP_PENCIL_INFO_MAGIC INT32_C(0x50494e46)                ///< tag of a filled pencil info ("PINF")

/** Pass this as a `work` argument to let the library manage the workspace of the operation. */
#define CUDECOMP_WORKSPACE_AUTO ((void*)0)

#ifdef __cplusplus
extern "C" {
#endif

/** How a transpose moves data between ranks. */
typedef enum {
  CUDECOMP_TRANSPOSE_COMM_MPI_P2P = 1,    ///< MPI, all messages posted at once (MPI_Isend and MPI_Irecv)
  CUDECOMP_TRANSPOSE_COMM_MPI_P2P_PL = 2, ///< MPI, messages overlapped with packing and unpacking, peer by peer
  CUDECOMP_TRANSPOSE_COMM_MPI_A2A = 3,    ///< MPI, one collective exchange (MPI_Alltoallv)
  CUDECOMP_TRANSPOSE_COMM_NCCL = 4,       ///< NCCL, all messages in one group (GPU)
  CUDECOMP_TRANSPOSE_COMM_NCCL_PL = 5,    ///< NCCL, overlapped with packing and unpacking (GPU)
  CUDECOMP_TRANSPOSE_COMM_NVSHMEM = 6,    ///< NVSHMEM, all messages at once (GPU)
  CUDECOMP_TRANSPOSE_COMM_NVSHMEM_PL = 7, ///< NVSHMEM, overlapped with packing and unpacking (GPU)
  CUDECOMP_TRANSPOSE_COMM_NVSHMEM_SM = 8  ///< NVSHMEM, peer-to-peer transfers issued by kernels (GPU)
} cudecompTransposeCommBackend_t;

/** How a halo update moves data between ranks. */
typedef enum {
  CUDECOMP_HALO_COMM_MPI = 1,             ///< MPI, both neighbours at once
  CUDECOMP_HALO_COMM_MPI_BLOCKING = 2,    ///< MPI, one neighbour after the other
  CUDECOMP_HALO_COMM_NCCL = 3,            ///< NCCL (GPU)
  CUDECOMP_HALO_COMM_NVSHMEM = 4,         ///< NVSHMEM, both neighbours at once (GPU)
  CUDECOMP_HALO_COMM_NVSHMEM_BLOCKING = 5 ///< NVSHMEM, one neighbour after the other (GPU)
} cudecompHaloCommBackend_t;

/** Element type of a field. */
typedef enum {
  CUDECOMP_FLOAT = -1,         ///< 32-bit real, 4 bytes
  CUDECOMP_DOUBLE = -2,        ///< 64-bit real, 8 bytes
  CUDECOMP_FLOAT_COMPLEX = -3, ///< 32-bit complex, real and imaginary part interleaved, 8 bytes
  CUDECOMP_DOUBLE_COMPLEX = -4 ///< 64-bit complex, real and imaginary part interleaved, 16 bytes
} cudecompDataType_t;

/** Which operation decides the process grid when it is autotuned. */
typedef enum {
  CUDECOMP_AUTOTUNE_GRID_TRANSPOSE = 0, ///< the time of the four transposes
  CUDECOMP_AUTOTUNE_GRID_HALO = 1       ///< the time of the halo updates of one pencil axis
} cudecompAutotuneGridMode_t;

/** How ranks are laid out on the process grid. */
typedef enum {
  CUDECOMP_RANK_ORDER_DEFAULT = 0,   ///< row-major, or column-major if CUDECOMP_USE_COL_MAJOR_RANK_ORDER=1 is set
  CUDECOMP_RANK_ORDER_ROW_MAJOR = 1, ///< rank = row * cols + col
  CUDECOMP_RANK_ORDER_COL_MAJOR = 2  ///< rank = col * rows + row
} cudecompRankOrder_t;

/** Outcome of a call. */
typedef enum {
  CUDECOMP_RESULT_SUCCESS = 0,        ///< the call did what it was asked to
  CUDECOMP_RESULT_INVALID_USAGE = 1,  ///< an argument or the order of calls is wrong
  CUDECOMP_RESULT_NOT_SUPPORTED = 2,  ///< valid, but this library or machine cannot do it
  CUDECOMP_RESULT_INTERNAL_ERROR = 3, ///< a defect of the library; please report it
  CUDECOMP_RESULT_CUDA_ERROR = 4,     ///< a CUDA call failed
  CUDECOMP_RESULT_CUTENSOR_ERROR = 5, ///< a cuTENSOR call failed
  CUDECOMP_RESULT_MPI_ERROR = 6,      ///< an MPI call failed
  CUDECOMP_RESULT_NCCL_ERROR = 7,     ///< an NCCL call failed
  CUDECOMP_RESULT_NVSHMEM_ERROR = 8,  ///< an NVSHMEM call failed
  CUDECOMP_RESULT_NVML_ERROR = 9      ///< an NVML call failed
} cudecompResult_t;

/** A running instance of the library over one communicator. */
typedef struct cudecompHandle* cudecompHandle_t;

/** One decomposition of one global grid. */
typedef struct cudecompGridDesc* cudecompGridDesc_t;

/** What a decomposition is made from. Initialize with cudecompGridDescConfigSetDefaults(), then set fields. */
typedef struct {
  int64_t struct_size; ///< size of this struct in bytes, set by the initializer
  int32_t magic;       ///< CUDECOMP_GRID_DESC_CONFIG_MAGIC, set by the initializer
  int32_t version;     ///< layout version, set by the initializer

  int32_t gdims[3];      ///< points of the global grid along X, Y, Z
  int32_t gdims_dist[3]; ///< points to compute the split on, at most gdims; the surplus goes to the last part that
                         ///< owns points (default: all zero, meaning gdims)
  int32_t pdims[2];      ///< process grid (rows, cols); both zero asks for autotuning (default: 0, 0)
  cudecompRankOrder_t rank_order; ///< layout of ranks on the process grid (default: CUDECOMP_RANK_ORDER_DEFAULT)

  cudecompTransposeCommBackend_t transpose_comm_backend; ///< backend of transposes
                                                         ///< (default: CUDECOMP_TRANSPOSE_COMM_MPI_P2P)
  bool transpose_axis_contiguous[3];                     ///< per pencil axis: true stores that axis fastest, then the
                                     ///< following axes cyclically; false stores X fastest (default: all false)
  int32_t transpose_mem_order[3][3]; ///< memory order per pencil axis, fastest axis first; wins over
                                     ///< transpose_axis_contiguous when all nine entries are set (default: all -1)

  cudecompHaloCommBackend_t halo_comm_backend; ///< backend of halo updates (default: CUDECOMP_HALO_COMM_MPI)
} cudecompGridDescConfig_t;

/**
 * How autotuning measures. Initialize with cudecompGridDescAutotuneOptionsSetDefaults(), then set fields. Fields
 * indexed by transpose operation are in the order X-to-Y, Y-to-Z, Z-to-Y, Y-to-X.
 */
typedef struct {
  int64_t struct_size; ///< size of this struct in bytes, set by the initializer
  int32_t magic;       ///< CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_MAGIC, set by the initializer
  int32_t version;     ///< layout version, set by the initializer

  int32_t n_warmup_trials;              ///< untimed trials of each candidate (default: 3)
  int32_t n_trials;                     ///< timed trials of each candidate (default: 5)
  cudecompAutotuneGridMode_t grid_mode; ///< what decides the process grid (default: CUDECOMP_AUTOTUNE_GRID_TRANSPOSE)
  cudecompDataType_t dtype;             ///< element type of the trials (default: CUDECOMP_DOUBLE)
  bool allow_uneven_decompositions;     ///< consider process grids that split the points unevenly (default: true)
  bool disable_mpi_backends;            ///< leave the MPI backends out (default: false)
  bool disable_nccl_backends;           ///< leave the NCCL backends out (default: false)
  bool disable_nvshmem_backends;        ///< leave the NVSHMEM backends out (default: false)
  double skip_threshold; ///< drop a candidate whose first timed trial t satisfies skip_threshold * t > t_best, the time
                         ///< of the best candidate so far (default: 0.0, never)

  bool autotune_transpose_backend;             ///< choose the transpose backend (default: false)
  bool transpose_use_inplace_buffers[4];       ///< per operation: input and output share a buffer (default: all false)
  double transpose_op_weights[4];              ///< per operation: factor applied to its time (default: all 1.0)
  int32_t transpose_input_halo_extents[4][3];  ///< per operation: halo of the input (default: zeros)
  int32_t transpose_output_halo_extents[4][3]; ///< per operation: halo of the output (default: zeros)
  int32_t transpose_input_padding[4][3];       ///< per operation: padding of the input (default: zeros)
  int32_t transpose_output_padding[4][3];      ///< per operation: padding of the output (default: zeros)

  bool autotune_halo_backend; ///< choose the halo backend (default: false)
  int32_t halo_extents[3];    ///< halo extents of the trials (default: zeros)
  bool halo_periods[3];       ///< periodicity of the trials (default: all false)
  int32_t halo_axis;          ///< pencil axis of the trials (default: 0, X-pencils)
  int32_t halo_padding[3];    ///< padding of the trials (default: zeros)
} cudecompGridDescAutotuneOptions_t;

/** The part of the global grid that the calling rank holds in one pencil layout. */
typedef struct {
  int64_t struct_size; ///< size of this struct in bytes, set by the library
  int32_t magic;       ///< CUDECOMP_PENCIL_INFO_MAGIC, set by the library
  int32_t version;     ///< layout version, set by the library

  int32_t shape[3];        ///< local extents in memory order, halo and padding included
  int32_t lo[3];           ///< first owned global index in memory order, halo and padding excluded
  int32_t hi[3];           ///< last owned global index (inclusive) in memory order, halo and padding excluded
  int32_t order[3];        ///< memory order, fastest axis first (2, 1, 0 means Z fastest)
  int32_t halo_extents[3]; ///< halo on either side along X, Y, Z
  int32_t padding[3];      ///< padding at the high end along X, Y, Z
  int64_t size;            ///< elements of the local array, halo and padding included
} cudecompPencilInfo_t;

/**
 * Starts the library over a communicator.
 *
 * The communicator is duplicated: the caller may free its own at any time.
 *
 * @param[out] handle the new handle
 * @param[in] mpi_comm an intracommunicator
 * @return CUDECOMP_RESULT_SUCCESS, CUDECOMP_RESULT_INVALID_USAGE or CUDECOMP_RESULT_MPI_ERROR
 * @par Collective
 * Over all ranks of `mpi_comm`.
 */
cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm mpi_comm);

/**
 * Starts the library over a communicator given as its Fortran integer.
 *
 * @param[out] handle the new handle
 * @param[in] mpi_comm_f the Fortran integer of an intracommunicator
 * @return CUDECOMP_RESULT_SUCCESS, CUDECOMP_RESULT_INVALID_USAGE or CUDECOMP_RESULT_MPI_ERROR
 * @par Collective
 * Over all ranks of the communicator.
 */
cudecompResult_t cudecompInit_F(cudecompHandle_t* handle, MPI_Fint mpi_comm_f);

/**
 * Ends a handle and frees what it owns. Its grid descriptors must be destroyed before.
 *
 * @param[in] handle the handle; invalid afterwards
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 * @par Collective
 * Over all ranks of the handle.
 */
cudecompResult_t cudecompFinalize(cudecompHandle_t handle);

/**
 * Creates a grid descriptor; layout sizes and versions are explicit. Use cudecompGridDescCreate().
 *
 * @param[in] handle the handle
 * @param[out] grid_desc the new grid descriptor
 * @param[in,out] config the configuration; autotuned fields are filled in
 * @param[in] config_struct_size bytes of the caller's config struct
 * @param[in] config_version layout version of the caller's config struct
 * @param[in] options autotuning options, null for none
 * @param[in] options_struct_size bytes of the caller's options struct, 0 without options
 * @param[in] options_version layout version of the caller's options struct, 0 without options
 * @return CUDECOMP_RESULT_SUCCESS, or why the configuration is refused, alike on all ranks
 * @par Collective
 * Over all ranks of the handle.
 */
cudecompResult_t cudecompGridDescCreateVersioned(cudecompHandle_t handle, cudecompGridDesc_t* grid_desc,
                                                 cudecompGridDescConfig_t* config, int64_t config_struct_size,
                                                 int32_t config_version,
                                                 const cudecompGridDescAutotuneOptions_t* options,
                                                 int64_t options_struct_size, int32_t options_version);

/**
 * Creates a grid descriptor: splits the grid, and autotunes what the configuration leaves open.
 *
 * @param[in] handle the handle
 * @param[out] grid_desc the new grid descriptor
 * @param[in,out] config the configuration, equal on all ranks; autotuned fields are filled in
 * @param[in] options autotuning options, equal on all ranks; null if nothing is autotuned
 * @return CUDECOMP_RESULT_SUCCESS, or why the configuration is refused, alike on all ranks
 * @par Collective
 * Over all ranks of the handle.
 */
static inline cudecompResult_t cudecompGridDescCreate(cudecompHandle_t handle, cudecompGridDesc_t* grid_desc,
                                                      cudecompGridDescConfig_t* config,
                                                      const cudecompGridDescAutotuneOptions_t* options) {
  return cudecompGridDescCreateVersioned(handle, grid_desc, config, (int64_t)sizeof(cudecompGridDescConfig_t),
                                         CUDECOMP_GRID_DESC_CONFIG_VERSION, options,
                                         options ? (int64_t)sizeof(cudecompGridDescAutotuneOptions_t) : (int64_t)0,
                                         options ? CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_VERSION : (int32_t)0);
}

/**
 * Destroys a grid descriptor and frees what it owns.
 *
 * @param[in] handle the handle it was created with
 * @param[in] grid_desc the grid descriptor; invalid afterwards
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 * @par Collective
 * Over all ranks of the handle.
 */
cudecompResult_t cudecompGridDescDestroy(cudecompHandle_t handle, cudecompGridDesc_t grid_desc);

/**
 * Initializes a configuration; layout size and version are explicit. Use cudecompGridDescConfigSetDefaults().
 *
 * @param[out] config the configuration to initialize
 * @param[in] struct_size bytes of the caller's struct
 * @param[in] version layout version of the caller's struct
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGridDescConfigSetDefaultsVersioned(cudecompGridDescConfig_t* config, int64_t struct_size,
                                                            int32_t version);

/**
 * Initializes a configuration with the defaults.
 *
 * @param[out] config the configuration to initialize
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
static inline cudecompResult_t cudecompGridDescConfigSetDefaults(cudecompGridDescConfig_t* config) {
  return cudecompGridDescConfigSetDefaultsVersioned(config, (int64_t)sizeof(cudecompGridDescConfig_t),
                                                    CUDECOMP_GRID_DESC_CONFIG_VERSION);
}

/**
 * Initializes autotuning options; layout size and version are explicit. Use
 * cudecompGridDescAutotuneOptionsSetDefaults().
 *
 * @param[out] options the options to initialize
 * @param[in] struct_size bytes of the caller's struct
 * @param[in] version layout version of the caller's struct
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGridDescAutotuneOptionsSetDefaultsVersioned(cudecompGridDescAutotuneOptions_t* options,
                                                                     int64_t struct_size, int32_t version);

/**
 * Initializes autotuning options with the defaults.
 *
 * @param[out] options the options to initialize
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
static inline cudecompResult_t cudecompGridDescAutotuneOptionsSetDefaults(cudecompGridDescAutotuneOptions_t* options) {
  return cudecompGridDescAutotuneOptionsSetDefaultsVersioned(
      options, (int64_t)sizeof(cudecompGridDescAutotuneOptions_t), CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_VERSION);
}

/**
 * Describes the calling rank's pencil; layout size and version are explicit. Use cudecompGetPencilInfo().
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[out] pencil_info the description
 * @param[in] pencil_info_struct_size bytes of the caller's struct
 * @param[in] pencil_info_version layout version of the caller's struct
 * @param[in] axis pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils
 * @param[in] halo_extents halo on either side along X, Y, Z; null means none
 * @param[in] padding padding at the high end along X, Y, Z; null means none
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGetPencilInfoVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                cudecompPencilInfo_t* pencil_info, int64_t pencil_info_struct_size,
                                                int32_t pencil_info_version, int32_t axis, const int32_t halo_extents[],
                                                const int32_t padding[]);

/**
 * Describes the part of the grid that the calling rank holds in one pencil layout.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[out] pencil_info the description
 * @param[in] axis pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils
 * @param[in] halo_extents halo on either side along X, Y, Z; null means none
 * @param[in] padding padding at the high end along X, Y, Z; null means none
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
static inline cudecompResult_t cudecompGetPencilInfo(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                     cudecompPencilInfo_t* pencil_info, int32_t axis,
                                                     const int32_t halo_extents[], const int32_t padding[]) {
  return cudecompGetPencilInfoVersioned(handle, grid_desc, pencil_info, (int64_t)sizeof(cudecompPencilInfo_t),
                                        CUDECOMP_PENCIL_INFO_VERSION, axis, halo_extents, padding);
}

/**
 * Copies the configuration of a grid descriptor; layout size and version are explicit. Use cudecompGetGridDescConfig().
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[out] config the configuration in use
 * @param[in] struct_size bytes of the caller's struct
 * @param[in] version layout version of the caller's struct
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGetGridDescConfigVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                    cudecompGridDescConfig_t* config, int64_t struct_size,
                                                    int32_t version);

/**
 * Copies the configuration of a grid descriptor, autotuned fields filled in; fields left unset come back unset.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[out] config the configuration in use
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
static inline cudecompResult_t cudecompGetGridDescConfig(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                         cudecompGridDescConfig_t* config) {
  return cudecompGetGridDescConfigVersioned(handle, grid_desc, config, (int64_t)sizeof(cudecompGridDescConfig_t),
                                            CUDECOMP_GRID_DESC_CONFIG_VERSION);
}

/**
 * Tells how many elements of workspace the transposes of a grid descriptor need, any of the four.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[out] workspace_size elements of the field's type
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGetTransposeWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                   int64_t* workspace_size);

/**
 * Tells how many elements of workspace the halo updates of one pencil axis need, any of the three dims.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in] axis pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils
 * @param[in] halo_extents halo on either side along X, Y, Z
 * @param[out] workspace_size elements of the field's type
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGetHaloWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, int32_t axis,
                                              const int32_t halo_extents[], int64_t* workspace_size);

/**
 * Tells how many bytes an element type has.
 *
 * @param[in] dtype the element type
 * @param[out] dtype_size bytes of one element
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGetDataTypeSize(cudecompDataType_t dtype, int64_t* dtype_size);

/**
 * Allocates a workspace that suits the backends of a grid descriptor.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[out] buffer the allocation
 * @param[in] buffer_size_bytes bytes to allocate, above zero
 * @return CUDECOMP_RESULT_SUCCESS, or why it could not be had
 * @par Collective
 * Over all ranks of the handle.
 */
cudecompResult_t cudecompMalloc(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void** buffer,
                                size_t buffer_size_bytes);

/**
 * Frees a workspace of cudecompMalloc().
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor it was allocated with
 * @param[in] buffer the allocation, null for none
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 * @par Collective
 * Over all ranks of the handle.
 */
cudecompResult_t cudecompFree(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* buffer);

/**
 * Names a transpose backend.
 *
 * @param[in] comm_backend the backend
 * @return its name without the prefix, "ERROR" for a value that is no backend
 */
const char* cudecompTransposeCommBackendToString(cudecompTransposeCommBackend_t comm_backend);

/**
 * Names a halo backend.
 *
 * @param[in] comm_backend the backend
 * @return its name without the prefix, "ERROR" for a value that is no backend
 */
const char* cudecompHaloCommBackendToString(cudecompHaloCommBackend_t comm_backend);

/**
 * Finds the rank that holds the pencil some steps away along one axis.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in] axis pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils
 * @param[in] dim axis to step along: 0 for X, 1 for Y, 2 for Z
 * @param[in] displacement steps, negative for the low side
 * @param[in] periodic whether the axis wraps around
 * @param[out] shifted_rank the rank, -1 where the grid ends
 * @return CUDECOMP_RESULT_SUCCESS or CUDECOMP_RESULT_INVALID_USAGE
 */
cudecompResult_t cudecompGetShiftedRank(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, int32_t axis,
                                        int32_t dim, int32_t displacement, bool periodic, int32_t* shifted_rank);

/**
 * Moves a field from X-pencils to Y-pencils.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in] input local X-pencil, input halo and padding included; unchanged unless it is the output
 * @param[out] output local Y-pencil, output halo and padding included; may equal `input`; its halo and padding are not
 * written
 * @param[in] work workspace of at least cudecompGetTransposeWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] input_halo_extents halo of the input along X, Y, Z; null means none
 * @param[in] output_halo_extents halo of the output along X, Y, Z; null means none
 * @param[in] input_padding padding of the input along X, Y, Z; null means none
 * @param[in] output_padding padding of the output along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the column group of the process grid: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompTransposeXToY(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* output,
                                       void* work, cudecompDataType_t dtype, const int32_t input_halo_extents[],
                                       const int32_t output_halo_extents[], const int32_t input_padding[],
                                       const int32_t output_padding[], cudaStream_t stream);

/**
 * Moves a field from Y-pencils to Z-pencils.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in] input local Y-pencil, input halo and padding included; unchanged unless it is the output
 * @param[out] output local Z-pencil, output halo and padding included; may equal `input`; its halo and padding are not
 * written
 * @param[in] work workspace of at least cudecompGetTransposeWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] input_halo_extents halo of the input along X, Y, Z; null means none
 * @param[in] output_halo_extents halo of the output along X, Y, Z; null means none
 * @param[in] input_padding padding of the input along X, Y, Z; null means none
 * @param[in] output_padding padding of the output along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the row group of the process grid: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompTransposeYToZ(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* output,
                                       void* work, cudecompDataType_t dtype, const int32_t input_halo_extents[],
                                       const int32_t output_halo_extents[], const int32_t input_padding[],
                                       const int32_t output_padding[], cudaStream_t stream);

/**
 * Moves a field from Z-pencils to Y-pencils.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in] input local Z-pencil, input halo and padding included; unchanged unless it is the output
 * @param[out] output local Y-pencil, output halo and padding included; may equal `input`; its halo and padding are not
 * written
 * @param[in] work workspace of at least cudecompGetTransposeWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] input_halo_extents halo of the input along X, Y, Z; null means none
 * @param[in] output_halo_extents halo of the output along X, Y, Z; null means none
 * @param[in] input_padding padding of the input along X, Y, Z; null means none
 * @param[in] output_padding padding of the output along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the row group of the process grid: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompTransposeZToY(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* output,
                                       void* work, cudecompDataType_t dtype, const int32_t input_halo_extents[],
                                       const int32_t output_halo_extents[], const int32_t input_padding[],
                                       const int32_t output_padding[], cudaStream_t stream);

/**
 * Moves a field from Y-pencils to X-pencils.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in] input local Y-pencil, input halo and padding included; unchanged unless it is the output
 * @param[out] output local X-pencil, output halo and padding included; may equal `input`; its halo and padding are not
 * written
 * @param[in] work workspace of at least cudecompGetTransposeWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] input_halo_extents halo of the input along X, Y, Z; null means none
 * @param[in] output_halo_extents halo of the output along X, Y, Z; null means none
 * @param[in] input_padding padding of the input along X, Y, Z; null means none
 * @param[in] output_padding padding of the output along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the column group of the process grid: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompTransposeYToX(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* output,
                                       void* work, cudecompDataType_t dtype, const int32_t input_halo_extents[],
                                       const int32_t output_halo_extents[], const int32_t input_padding[],
                                       const int32_t output_padding[], cudaStream_t stream);

/**
 * Fills the halo of X-pencils along one axis from the neighbours.
 *
 * Whole faces move, halos of the other axes included, so updates along 0, 1, 2 in turn also fill edges and corners.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in,out] input local X-pencil, halo and padding included; padding is not touched
 * @param[in] work workspace of at least cudecompGetHaloWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] halo_extents halo on either side along X, Y, Z; null means none
 * @param[in] halo_periods whether X, Y, Z wrap around; null means none does
 * @param[in] dim axis to update: 0 for X, 1 for Y, 2 for Z
 * @param[in] padding padding along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the group of the process grid that splits `dim`: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompUpdateHalosX(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* work,
                                      cudecompDataType_t dtype, const int32_t halo_extents[], const bool halo_periods[],
                                      int32_t dim, const int32_t padding[], cudaStream_t stream);

/**
 * Fills the halo of Y-pencils along one axis from the neighbours.
 *
 * Whole faces move, halos of the other axes included, so updates along 0, 1, 2 in turn also fill edges and corners.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in,out] input local Y-pencil, halo and padding included; padding is not touched
 * @param[in] work workspace of at least cudecompGetHaloWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] halo_extents halo on either side along X, Y, Z; null means none
 * @param[in] halo_periods whether X, Y, Z wrap around; null means none does
 * @param[in] dim axis to update: 0 for X, 1 for Y, 2 for Z
 * @param[in] padding padding along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the group of the process grid that splits `dim`: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompUpdateHalosY(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* work,
                                      cudecompDataType_t dtype, const int32_t halo_extents[], const bool halo_periods[],
                                      int32_t dim, const int32_t padding[], cudaStream_t stream);

/**
 * Fills the halo of Z-pencils along one axis from the neighbours.
 *
 * Whole faces move, halos of the other axes included, so updates along 0, 1, 2 in turn also fill edges and corners.
 *
 * @param[in] handle the handle
 * @param[in] grid_desc the grid descriptor
 * @param[in,out] input local Z-pencil, halo and padding included; padding is not touched
 * @param[in] work workspace of at least cudecompGetHaloWorkspaceSize() elements, or CUDECOMP_WORKSPACE_AUTO
 * @param[in] dtype element type
 * @param[in] halo_extents halo on either side along X, Y, Z; null means none
 * @param[in] halo_periods whether X, Y, Z wrap around; null means none does
 * @param[in] dim axis to update: 0 for X, 1 for Y, 2 for Z
 * @param[in] padding padding along X, Y, Z; null means none
 * @param[in] stream CUDA stream that orders the work; ignored for host memory
 * @return CUDECOMP_RESULT_SUCCESS, or why the operation is refused or failed
 * @par Collective
 * Over the group of the process grid that splits `dim`: all its ranks call it in the same order with the same settings.
 */
cudecompResult_t cudecompUpdateHalosZ(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* work,
                                      cudecompDataType_t dtype, const int32_t halo_extents[], const bool halo_periods[],
                                      int32_t dim, const int32_t padding[], cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif // CUDECOMP_H
