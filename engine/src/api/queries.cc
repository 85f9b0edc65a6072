// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * Exported functions that answer questions: pencils, workspaces, neighbours, names.
 */

#include <algorithm>
#include <cstdlib>

#include "api/checks.h"
#include "api/export.h"
#include "api/transport.h"
#include "common/error.h"

using namespace cudecomp;

namespace {

void fill_pencil_info(const cudecompGridDesc& grid, int axis, const int32_t halo_extents[], const int32_t padding[],
                      cudecompPencilInfo_t& info) {
  const Triple halo = checked_extents("halo_extents", halo_extents), pad = checked_extents("padding", padding);
  const Layout layout = checked_layout(grid, axis, halo, pad);
  const Box box = grid.decomposition->box(axis, grid.row, grid.col);
  info = {};
  info.struct_size = sizeof info;
  info.magic = CUDECOMP_PENCIL_INFO_MAGIC;
  info.version = CUDECOMP_PENCIL_INFO_VERSION;
  for (int position = 0; position < 3; ++position) {
    const int dim = grid.order[axis][position];
    info.order[position] = dim;
    info.shape[position] = static_cast<int32_t>(layout.extent[dim]);
    info.lo[position] = static_cast<int32_t>(box.lo[dim]);
    info.hi[position] = static_cast<int32_t>(box.lo[dim] + box.n[dim] - 1);
  }
  for (int dim = 0; dim < 3; ++dim) {
    info.halo_extents[dim] = static_cast<int32_t>(halo[dim]);
    info.padding[dim] = static_cast<int32_t>(pad[dim]);
  }
  info.size = layout.size;
}

} // namespace

CUDECOMP_EXPORT cudecompResult_t cudecompGetPencilInfoVersioned(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                                cudecompPencilInfo_t* pencil_info,
                                                                int64_t pencil_info_struct_size,
                                                                int32_t pencil_info_version, int32_t axis,
                                                                const int32_t halo_extents[], const int32_t padding[]) {
  return guarded([&] {
    const cudecompGridDesc& grid = checked(handle, grid_desc);
    check_not_null("pencil_info", pencil_info);
    check_struct("pencil_info", pencil_info_struct_size, sizeof *pencil_info, pencil_info_version,
                 CUDECOMP_PENCIL_INFO_VERSION);
    fill_pencil_info(grid, checked_axis("axis", axis), halo_extents, padding, *pencil_info);
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGetGridDescConfigVersioned(cudecompHandle_t handle,
                                                                    cudecompGridDesc_t grid_desc,
                                                                    cudecompGridDescConfig_t* config,
                                                                    int64_t struct_size, int32_t version) {
  return guarded([&] {
    const cudecompGridDesc& grid = checked(handle, grid_desc);
    check_not_null("config", config);
    check_struct("config", struct_size, sizeof *config, version, CUDECOMP_GRID_DESC_CONFIG_VERSION);
    *config = grid.config;
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGetTransposeWorkspaceSize(cudecompHandle_t handle,
                                                                   cudecompGridDesc_t grid_desc,
                                                                   int64_t* workspace_size) {
  return guarded([&] {
    const cudecompGridDesc& grid = checked(handle, grid_desc);
    check_not_null("workspace_size", workspace_size);
    int64_t size = 0;
    for (int from = 0; from < 3; ++from) {
      for (int to : {from - 1, from + 1}) {
        if (to < 0 || to > 2) continue;
        size = std::max(size, plan_transpose(*grid.decomposition, grid.row, grid.col,
                                             transpose_shape(grid, from, to, {}, {}, {}, {}))
                                  .work_size);
      }
    }
    *workspace_size = size;
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGetHaloWorkspaceSize(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                              int32_t axis, const int32_t halo_extents[],
                                                              int64_t* workspace_size) {
  return guarded([&] {
    const cudecompGridDesc& grid = checked(handle, grid_desc);
    checked_axis("axis", axis);
    check_not_null("halo_extents", halo_extents);
    check_not_null("workspace_size", workspace_size);
    const Triple halo = checked_extents("halo_extents", halo_extents);
    int64_t size = 0;
    for (int dim = 0; dim < 3; ++dim) {
      const HaloPlan plan =
          plan_halo(*grid.decomposition, grid.row, grid.col, {axis, dim, grid.order[axis], halo, {}, true});
      if (!plan.local) size = std::max(size, plan.work_size);
    }
    *workspace_size = size;
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGetDataTypeSize(cudecompDataType_t dtype, int64_t* dtype_size) {
  return guarded([&] {
    check_not_null("dtype_size", dtype_size);
    *dtype_size = item_size(number_of(dtype));
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompMalloc(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void** buffer,
                                                size_t buffer_size_bytes) {
  return guarded([&] {
    checked(handle, grid_desc);
    check_not_null("buffer", buffer);
    if (buffer_size_bytes == 0) invalid_usage("buffer_size_bytes is 0, expected 1 or more");
    constexpr size_t alignment = 4096;
    if (buffer_size_bytes > SIZE_MAX - alignment) throw std::bad_alloc();
    void* memory = std::aligned_alloc(alignment, (buffer_size_bytes + alignment - 1) / alignment * alignment);
    if (!memory) throw std::bad_alloc();
    *buffer = memory;
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompFree(cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* buffer) {
  return guarded([&] {
    checked(handle, grid_desc);
    std::free(buffer);
  });
}

CUDECOMP_EXPORT const char* cudecompTransposeCommBackendToString(cudecompTransposeCommBackend_t comm_backend) {
  switch (number_of(comm_backend)) {
  case CUDECOMP_TRANSPOSE_COMM_MPI_P2P: return "MPI_P2P";
  case CUDECOMP_TRANSPOSE_COMM_MPI_P2P_PL: return "MPI_P2P_PL";
  case CUDECOMP_TRANSPOSE_COMM_MPI_A2A: return "MPI_A2A";
  case CUDECOMP_TRANSPOSE_COMM_NCCL: return "NCCL";
  case CUDECOMP_TRANSPOSE_COMM_NCCL_PL: return "NCCL_PL";
  case CUDECOMP_TRANSPOSE_COMM_NVSHMEM: return "NVSHMEM";
  case CUDECOMP_TRANSPOSE_COMM_NVSHMEM_PL: return "NVSHMEM_PL";
  case CUDECOMP_TRANSPOSE_COMM_NVSHMEM_SM: return "NVSHMEM_SM";
  default: return "ERROR";
  }
}

CUDECOMP_EXPORT const char* cudecompHaloCommBackendToString(cudecompHaloCommBackend_t comm_backend) {
  switch (number_of(comm_backend)) {
  case CUDECOMP_HALO_COMM_MPI: return "MPI";
  case CUDECOMP_HALO_COMM_MPI_BLOCKING: return "MPI_BLOCKING";
  case CUDECOMP_HALO_COMM_NCCL: return "NCCL";
  case CUDECOMP_HALO_COMM_NVSHMEM: return "NVSHMEM";
  case CUDECOMP_HALO_COMM_NVSHMEM_BLOCKING: return "NVSHMEM_BLOCKING";
  default: return "ERROR";
  }
}

CUDECOMP_EXPORT cudecompResult_t cudecompGetShiftedRank(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                        int32_t axis, int32_t dim, int32_t displacement, bool periodic,
                                                        int32_t* shifted_rank) {
  return guarded([&] {
    const cudecompGridDesc& grid = checked(handle, grid_desc);
    checked_axis("axis", axis);
    checked_axis("dim", dim);
    check_not_null("shifted_rank", shifted_rank);
    if (displacement == 0) {
      *shifted_rank = handle->rank;
    } else if (dim == axis) {
      *shifted_rank = periodic ? handle->rank : -1;
    } else {
      const Group group = group_of(axis, dim);
      const int member = shifted(grid.place_in(group), displacement, grid.decomposition->members(group), periodic);
      *shifted_rank = member < 0 ? -1 : grid.rank_of(group, member);
    }
  });
}

CUDECOMP_EXPORT const char* cudecompBuiltinGetLastError(void) { return last_error(); }

CUDECOMP_EXPORT cudecompResult_t cudecompBuiltinAllocate(cudecompHandle_t handle, size_t bytes, void** data,
                                                         void** block) {
  return guarded([&] {
    checked(handle);
    check_not_null("data", data);
    check_not_null("block", block);
    Node::Block* allocated = Node::allocate(handle->node, bytes);
    *data = allocated->memory.data();
    *block = allocated;
  });
}

CUDECOMP_EXPORT void cudecompBuiltinRelease(void* block) {
  if (block) Node::release(static_cast<Node::Block*>(block));
}

CUDECOMP_EXPORT const char* cudecompBuiltinGetAutotuneReport(cudecompGridDesc_t grid_desc) {
  return grid_desc && grid_desc->tag == grid_tag ? grid_desc->autotune_report.c_str() : "null";
}

CUDECOMP_EXPORT cudecompResult_t cudecompBuiltinSetAutotuneProgress(cudecompHandle_t handle,
                                                                    cudecompBuiltinAutotuneProgress_t progress,
                                                                    void* context) {
  return guarded([&] {
    checked(handle).progress = progress;
    handle->progress_context = context;
  });
}

CUDECOMP_EXPORT const char* cudecompBuiltinGetInfo(void) {
  static const std::string info = [] {
    char running[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(running, &length);
    std::string first_line(running);
    first_line = first_line.substr(0, first_line.find('\n'));
    first_line.erase(std::remove_if(first_line.begin(), first_line.end(),
                                    [](char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32; }),
                     first_line.end());
    return format("{\"engine\": \"builtin\", \"version\": \"" CUDECOMP_BUILTIN_VERSION
                  "\", \"interface\": \"%d.%d.%d\", \"memory\": \"host\", "
                  "\"instruction_set\": \"%s\", \"mpi_standard\": \"%d.%d\", \"mpi_library\": \"%s\", "
                  "\"transpose_backends\": [\"MPI_P2P\", \"MPI_P2P_PL\", \"MPI_A2A\"], "
                  "\"halo_backends\": [\"MPI\", \"MPI_BLOCKING\"], \"autotuning\": true}",
                  CUDECOMP_MAJOR, CUDECOMP_MINOR, CUDECOMP_PATCH, copy_instruction_set(), MPI_VERSION, MPI_SUBVERSION,
                  first_line.c_str());
  }();
  return info.c_str();
}
