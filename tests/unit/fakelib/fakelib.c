// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// A library with the interface of cudecomp.h that does nothing: for tests of the bindings without the engine, and for
// measuring what the bindings add to a call. Macros leave functions out or add some; see build() in __init__.py.

#include "cudecomp.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// What every call returns, and whether it writes its arguments down. Set from tests.
int fake_status = 0;
int fake_recording = 0;
static char record[1024];

const char* fake_last_call(void) { return record; }

static cudecompResult_t answer(const char* format, ...) {
  if (fake_recording) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(record, sizeof(record), format, arguments);
    va_end(arguments);
  }
  return (cudecompResult_t)fake_status;
}

// Three numbers as text, in one of a few buffers so that one call can show several.
static const char* three(const int32_t values[]) {
  static char buffers[8][48];
  static int next = 0;
  if (!fake_recording) {
    return "";
  }
  if (!values) return "null";
  char* buffer = buffers[next++ % 8];
  snprintf(buffer, sizeof(buffers[0]), "%d,%d,%d", values[0], values[1], values[2]);
  return buffer;
}

static const char* flags(const bool values[]) {
  static char buffer[16];
  if (!values) return "null";
  unsigned char bytes[3];
  memcpy(bytes, values, 3);
  snprintf(buffer, sizeof(buffer), "%d,%d,%d", bytes[0], bytes[1], bytes[2]);
  return buffer;
}

#define HANDLE ((cudecompHandle_t)0x1000)
#define GRID ((cudecompGridDesc_t)0x2000)

cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm mpi_comm) {
  *handle = HANDLE;
  return answer("Init %p", (void*)mpi_comm);
}

cudecompResult_t cudecompInit_F(cudecompHandle_t* handle, MPI_Fint mpi_comm_f) {
  *handle = HANDLE;
  return answer("Init_F %d", mpi_comm_f);
}

cudecompResult_t cudecompFinalize(cudecompHandle_t handle) { return answer("Finalize %p", (void*)handle); }

#ifdef FAKE_OLD_LINE
// The name that cudecomp.h defines as inline; here it must become a symbol.
cudecompResult_t old_create(void) __asm__("cudecompGridDescCreate");
cudecompResult_t old_create(void) { return CUDECOMP_RESULT_SUCCESS; }
#else
cudecompResult_t cudecompGridDescCreateVersioned(cudecompHandle_t handle, cudecompGridDesc_t* grid_desc,
                                                 cudecompGridDescConfig_t* config, int64_t config_struct_size,
                                                 int32_t config_version,
                                                 const cudecompGridDescAutotuneOptions_t* options,
                                                 int64_t options_struct_size, int32_t options_version) {
  *grid_desc = GRID;
  config->pdims[0] = 2;
  return answer("GridDescCreate %p gdims=%s size=%ld version=%d options=%d size=%ld version=%d", (void*)handle,
                three(config->gdims), (long)config_struct_size, config_version, options ? options->n_trials : -1,
                (long)options_struct_size, options_version);
}
#endif

cudecompResult_t cudecompGridDescDestroy(cudecompHandle_t handle, cudecompGridDesc_t grid_desc) {
  return answer("GridDescDestroy %p %p", (void*)handle, (void*)grid_desc);
}

cudecompResult_t cudecompGridDescConfigSetDefaultsVersioned(cudecompGridDescConfig_t* config, int64_t struct_size,
                                                            int32_t version) {
  config->transpose_comm_backend = CUDECOMP_TRANSPOSE_COMM_MPI_P2P;
  return answer("ConfigSetDefaults %ld %d", (long)struct_size, version);
}

cudecompResult_t cudecompGridDescAutotuneOptionsSetDefaultsVersioned(cudecompGridDescAutotuneOptions_t* options,
                                                                     int64_t struct_size, int32_t version) {
  options->n_trials = 5;
  return answer("OptionsSetDefaults %ld %d", (long)struct_size, version);
}

cudecompResult_t cudecompGetPencilInfoVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                cudecompPencilInfo_t* pencil_info, int64_t pencil_info_struct_size,
                                                int32_t pencil_info_version, int32_t axis, const int32_t halo_extents[],
                                                const int32_t padding[]) {
  pencil_info->shape[0] = 7;
  pencil_info->size = INT64_C(1) << 40;
  return answer("GetPencilInfo %p %p size=%ld version=%d axis=%d halo=%s padding=%s", (void*)handle, (void*)grid_desc,
                (long)pencil_info_struct_size, pencil_info_version, axis, three(halo_extents), three(padding));
}

cudecompResult_t cudecompGetGridDescConfigVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                    cudecompGridDescConfig_t* config, int64_t struct_size,
                                                    int32_t version) {
  config->gdims[2] = 9;
  return answer("GetGridDescConfig %p %p %ld %d", (void*)handle, (void*)grid_desc, (long)struct_size, version);
}

cudecompResult_t cudecompGetTransposeWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                   int64_t* workspace_size) {
  *workspace_size = INT64_C(5000000000);
  return answer("GetTransposeWorkspaceSize %p %p", (void*)handle, (void*)grid_desc);
}

cudecompResult_t cudecompGetHaloWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, int32_t axis,
                                              const int32_t halo_extents[], int64_t* workspace_size) {
  *workspace_size = 12;
  return answer("GetHaloWorkspaceSize %p %p axis=%d halo=%s", (void*)handle, (void*)grid_desc, axis,
                three(halo_extents));
}

cudecompResult_t cudecompGetDataTypeSize(cudecompDataType_t dtype, int64_t* dtype_size) {
  *dtype_size = 8;
  return answer("GetDataTypeSize %d", (int)dtype);
}

cudecompResult_t cudecompMalloc(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void** buffer,
                                size_t buffer_size_bytes) {
  *buffer = (void*)0x3000;
  return answer("Malloc %p %p %zu", (void*)handle, (void*)grid_desc, buffer_size_bytes);
}

cudecompResult_t cudecompFree(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* buffer) {
  return answer("Free %p %p %p", (void*)handle, (void*)grid_desc, buffer);
}

const char* cudecompTransposeCommBackendToString(cudecompTransposeCommBackend_t comm_backend) {
  answer("TransposeCommBackendToString %d", (int)comm_backend);
  return comm_backend == CUDECOMP_TRANSPOSE_COMM_NCCL ? "NCCL" : "ERROR";
}

const char* cudecompHaloCommBackendToString(cudecompHaloCommBackend_t comm_backend) {
  answer("HaloCommBackendToString %d", (int)comm_backend);
  return NULL;
}

#ifndef FAKE_WITHOUT_SHIFTED_RANK
cudecompResult_t cudecompGetShiftedRank(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, int32_t axis,
                                        int32_t dim, int32_t displacement, bool periodic, int32_t* shifted_rank) {
  *shifted_rank = -1;
  return answer("GetShiftedRank %p %p %d %d %d %d", (void*)handle, (void*)grid_desc, axis, dim, displacement, periodic);
}
#endif

#define TRANSPOSE(name)                                                                                                \
  cudecompResult_t cudecompTranspose##name(                                                                            \
      cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input, void* output, void* work,                    \
      cudecompDataType_t dtype, const int32_t input_halo_extents[], const int32_t output_halo_extents[],               \
      const int32_t input_padding[], const int32_t output_padding[], cudaStream_t stream) {                            \
    return answer("Transpose" #name " %p %p %p %p %p %d %s %s %s %s %p", (void*)handle, (void*)grid_desc, input,       \
                  output, work, (int)dtype, three(input_halo_extents), three(output_halo_extents),                     \
                  three(input_padding), three(output_padding), (void*)stream);                                         \
  }
TRANSPOSE(XToY)
TRANSPOSE(YToZ)
TRANSPOSE(ZToY)
TRANSPOSE(YToX)

#define UPDATE_HALOS(name)                                                                                             \
  cudecompResult_t cudecompUpdateHalos##name(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input,       \
                                             void* work, cudecompDataType_t dtype, const int32_t halo_extents[],       \
                                             const bool halo_periods[], int32_t dim, const int32_t padding[],          \
                                             cudaStream_t stream) {                                                    \
    return answer("UpdateHalos" #name " %p %p %p %p %d %s %s %d %s %p", (void*)handle, (void*)grid_desc, input, work,  \
                  (int)dtype, three(halo_extents), flags(halo_periods), dim, three(padding), (void*)stream);           \
  }
UPDATE_HALOS(X)
UPDATE_HALOS(Y)
UPDATE_HALOS(Z)

#ifdef FAKE_LAST_ERROR
const char* cudecompBuiltinGetLastError(void) { return "gdims[0] is 0, expected at least 1"; }
#endif

// Nanoseconds of one call through a pointer, to subtract from what a call costs in Python.
double fake_bare_call(void) {
  cudecompResult_t (*volatile function)(cudecompDataType_t, int64_t*) = cudecompGetDataTypeSize;
  struct timespec start, end;
  int64_t size;
  const int calls = 10000000;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < calls; ++i) function(CUDECOMP_FLOAT, &size);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / calls;
}
