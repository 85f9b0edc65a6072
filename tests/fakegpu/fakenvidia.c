// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// A library that looks like NVIDIA's 0.7.0 and computes with the built-in engine: it refuses null workspaces, knows the
// NCCL backends (which it hands to the engine as MPI's), fills in what a configuration leaves open, gives no reasons for
// errors, and writes down workspaces and streams. FAKE_NVIDIA_ENGINE names the engine.

#include "cudecomp.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static void* engine;
static char record[8192];
static int live_workspaces = 0;
static int fail_allocations = 0, fail_frees = 0, fail_operations = 0;
static int live_handles = 0;

__attribute__((constructor)) static void open_engine(void) {
  engine = dlopen(getenv("FAKE_NVIDIA_ENGINE"), RTLD_NOW | RTLD_LOCAL);
  if (!engine) {
    fprintf(stderr, "%s\n", dlerror());
    abort();
  }
}

#define ENGINE(name) ((__typeof__(&name))dlsym(engine, #name))

// --- for tests

int fake_live_workspaces(void) { return live_workspaces; }
void fake_forget_workspaces(int count) { live_workspaces -= count; } // that could not be freed
int fake_live_handles(void) { return live_handles; }
void fake_fail_allocations(int fail) { fail_allocations = fail; }
void fake_fail_frees(int fail) { fail_frees = fail; }
void fake_fail_operations(int fail) { fail_operations = fail; }

// What has been recorded since the last call.
const char* fake_library_record(void) {
  static char copy[sizeof(record)];
  memcpy(copy, record, sizeof(record));
  record[0] = 0;
  return copy;
}

static cudecompResult_t note(const char* what, const void* work, const void* stream) {
  size_t used = strlen(record);
  snprintf(record + used, sizeof(record) - used, "%s %lx %lu;", what, (unsigned long)work, (unsigned long)stream);
  if (fail_operations) return CUDECOMP_RESULT_CUDA_ERROR;
  return work ? CUDECOMP_RESULT_SUCCESS : CUDECOMP_RESULT_INVALID_USAGE;
}

// --- backends: the engine has MPI's only

#define MAX_GRIDS 256
static struct {
  cudecompGridDesc_t grid;
  int transposes, halos;
} grids[MAX_GRIDS];

static void translate(cudecompGridDescConfig_t* config) {
  if (config->transpose_comm_backend > CUDECOMP_TRANSPOSE_COMM_MPI_A2A) {
    config->transpose_comm_backend = CUDECOMP_TRANSPOSE_COMM_MPI_P2P;
  }
  if (config->halo_comm_backend > CUDECOMP_HALO_COMM_MPI_BLOCKING) config->halo_comm_backend = CUDECOMP_HALO_COMM_MPI;
}

cudecompResult_t cudecompGridDescCreateVersioned(cudecompHandle_t handle, cudecompGridDesc_t* grid,
                                                 cudecompGridDescConfig_t* config, int64_t size, int32_t version,
                                                 const cudecompGridDescAutotuneOptions_t* options,
                                                 int64_t options_size, int32_t options_version) {
  int transposes = config->transpose_comm_backend, halos = config->halo_comm_backend;
  translate(config);
  cudecompResult_t result = ENGINE(cudecompGridDescCreateVersioned)(handle, grid, config, size, version, options,
                                                                    options_size, options_version);
  config->transpose_comm_backend = transposes;
  config->halo_comm_backend = halos;
  if (config->rank_order == CUDECOMP_RANK_ORDER_DEFAULT) config->rank_order = CUDECOMP_RANK_ORDER_ROW_MAJOR;
  for (int i = 0; i < MAX_GRIDS && result == CUDECOMP_RESULT_SUCCESS; ++i) {
    if (grids[i].grid) continue;
    grids[i].grid = *grid;
    grids[i].transposes = transposes;
    grids[i].halos = halos;
    break;
  }
  return result;
}

cudecompResult_t cudecompGridDescDestroy(cudecompHandle_t handle, cudecompGridDesc_t grid) {
  for (int i = 0; i < MAX_GRIDS; ++i) {
    if (grids[i].grid == grid) grids[i].grid = NULL;
  }
  return ENGINE(cudecompGridDescDestroy)(handle, grid);
}

cudecompResult_t cudecompGetGridDescConfigVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid,
                                                    cudecompGridDescConfig_t* config, int64_t size, int32_t version) {
  cudecompResult_t result = ENGINE(cudecompGetGridDescConfigVersioned)(handle, grid, config, size, version);
  for (int i = 0; i < MAX_GRIDS; ++i) {
    if (grids[i].grid != grid) continue;
    config->transpose_comm_backend = grids[i].transposes;
    config->halo_comm_backend = grids[i].halos;
  }
  return result;
}

// --- workspaces

cudecompResult_t cudecompMalloc(cudecompHandle_t handle, cudecompGridDesc_t grid, void** buffer, size_t bytes) {
  (void)handle;
  (void)grid;
  if (fail_allocations) return CUDECOMP_RESULT_CUDA_ERROR;
  *buffer = malloc(bytes);
  ++live_workspaces;
  note("malloc", (void*)bytes, NULL);
  return CUDECOMP_RESULT_SUCCESS;
}

cudecompResult_t cudecompFree(cudecompHandle_t handle, cudecompGridDesc_t grid, void* buffer) {
  (void)handle;
  (void)grid;
  if (fail_frees) return CUDECOMP_RESULT_CUDA_ERROR;
  note("free", buffer, NULL);
  free(buffer);
  --live_workspaces;
  return CUDECOMP_RESULT_SUCCESS;
}

// --- operations: asynchronous ones would run on the stream

#define TRANSPOSE(name)                                                                                              \
  cudecompResult_t name(cudecompHandle_t handle, cudecompGridDesc_t grid, void* input, void* output, void* work,     \
                        cudecompDataType_t dtype, const int32_t input_halo[], const int32_t output_halo[],           \
                        const int32_t input_padding[], const int32_t output_padding[], cudaStream_t stream) {        \
    cudecompResult_t result = note("transpose", work, stream);                                                       \
    if (result) return result;                                                                                       \
    return ENGINE(name)(handle, grid, input, output, NULL, dtype, input_halo, output_halo, input_padding,            \
                        output_padding, NULL);                                                                       \
  }
TRANSPOSE(cudecompTransposeXToY)
TRANSPOSE(cudecompTransposeYToZ)
TRANSPOSE(cudecompTransposeZToY)
TRANSPOSE(cudecompTransposeYToX)

#define UPDATE(name)                                                                                                 \
  cudecompResult_t name(cudecompHandle_t handle, cudecompGridDesc_t grid, void* input, void* work,                   \
                        cudecompDataType_t dtype, const int32_t halo[], const bool periods[], int32_t dim,           \
                        const int32_t padding[], cudaStream_t stream) {                                              \
    cudecompResult_t result = note("update", work, stream);                                                          \
    if (result) return result;                                                                                       \
    return ENGINE(name)(handle, grid, input, NULL, dtype, halo, periods, dim, padding, NULL);                        \
  }
UPDATE(cudecompUpdateHalosX)
UPDATE(cudecompUpdateHalosY)
UPDATE(cudecompUpdateHalosZ)

// --- the rest goes straight through

cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm comm) {
  (void)handle;
  (void)comm;
  return CUDECOMP_RESULT_NOT_SUPPORTED;
}

cudecompResult_t cudecompInit_F(cudecompHandle_t* handle, MPI_Fint comm) {
  cudecompResult_t result = ENGINE(cudecompInit_F)(handle, comm);
  live_handles += result == CUDECOMP_RESULT_SUCCESS;
  return result;
}

cudecompResult_t cudecompFinalize(cudecompHandle_t handle) {
  --live_handles;
  return ENGINE(cudecompFinalize)(handle);
}

cudecompResult_t cudecompGridDescConfigSetDefaultsVersioned(cudecompGridDescConfig_t* config, int64_t size,
                                                            int32_t version) {
  return ENGINE(cudecompGridDescConfigSetDefaultsVersioned)(config, size, version);
}

cudecompResult_t cudecompGridDescAutotuneOptionsSetDefaultsVersioned(cudecompGridDescAutotuneOptions_t* options,
                                                                     int64_t size, int32_t version) {
  return ENGINE(cudecompGridDescAutotuneOptionsSetDefaultsVersioned)(options, size, version);
}

cudecompResult_t cudecompGetPencilInfoVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid,
                                                cudecompPencilInfo_t* info, int64_t size, int32_t version, int32_t axis,
                                                const int32_t halo[], const int32_t padding[]) {
  return ENGINE(cudecompGetPencilInfoVersioned)(handle, grid, info, size, version, axis, halo, padding);
}

cudecompResult_t cudecompGetTransposeWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid, int64_t* size) {
  return ENGINE(cudecompGetTransposeWorkspaceSize)(handle, grid, size);
}

cudecompResult_t cudecompGetHaloWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid, int32_t axis,
                                              const int32_t halo[], int64_t* size) {
  return ENGINE(cudecompGetHaloWorkspaceSize)(handle, grid, axis, halo, size);
}

cudecompResult_t cudecompGetDataTypeSize(cudecompDataType_t dtype, int64_t* size) {
  return ENGINE(cudecompGetDataTypeSize)(dtype, size);
}

cudecompResult_t cudecompGetShiftedRank(cudecompHandle_t handle, cudecompGridDesc_t grid, int32_t axis, int32_t dim,
                                        int32_t displacement, bool periodic, int32_t* rank) {
  return ENGINE(cudecompGetShiftedRank)(handle, grid, axis, dim, displacement, periodic, rank);
}

const char* cudecompTransposeCommBackendToString(cudecompTransposeCommBackend_t backend) {
  return ENGINE(cudecompTransposeCommBackendToString)(backend);
}

const char* cudecompHaloCommBackendToString(cudecompHaloCommBackend_t backend) {
  return ENGINE(cudecompHaloCommBackendToString)(backend);
}
