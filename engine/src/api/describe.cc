// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * The exported function that tells which way the data of each operation takes.
 */

#include "api/checks.h"
#include "api/export.h"
#include "common/error.h"
#include "copy/cache.h"

using namespace cudecomp;

namespace {

/** Ranks of one of the caller's groups, other than itself. */
struct Company {
  int near = 0, far = 0;
};

Company company_of(const cudecompGridDesc& grid, Group group) {
  Company company;
  for (int member = 0; member < grid.decomposition->members(group); ++member) {
    const int rank = grid.rank_of(group, member);
    if (rank == grid.handle->rank) continue;
    const bool near = grid.handle->node && grid.handle->node->index_of(rank) >= 0;
    ++(near ? company.near : company.far);
  }
  return company;
}

std::string ways(const cudecompGridDesc& grid, Group group, const char* backend) {
  const Company company = company_of(grid, group);
  if (company.near + company.far == 0) return "stays on this rank: one copy";
  std::string text;
  if (company.near > 0) text += format("%d through memory of this node", company.near);
  if (company.far > 0) {
    text += format("%s%d through MPI with %s, %s", text.empty() ? "" : "; ", company.far, backend,
                   grid.handle->node ? "being on other nodes" : "since no memory is shared with other ranks");
  }
  return text;
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string describe(const cudecompGridDesc& grid) {
  const char* transposes = cudecompTransposeCommBackendToString(grid.config.transpose_comm_backend);
  const char* halos = cudecompHaloCommBackendToString(grid.config.halo_comm_backend);
  std::string text = format("rank %d at row %d, column %d of %d x %d\n", grid.handle->rank, grid.row, grid.col,
                            grid.decomposition->rows(), grid.decomposition->cols());
  text += format("transposes X-Y, peers: %s\n", ways(grid, Group::column, transposes).c_str());
  text += format("transposes Y-Z, peers: %s\n", ways(grid, Group::row, transposes).c_str());
  for (int axis = 0; axis < 3; ++axis) {
    for (int dim = 0; dim < 3; ++dim) {
      if (dim == axis) continue;
      const Group group = group_of(axis, dim);
      text += format("halos of %s-pencils along %s, peers: %s\n", axis_names[axis], axis_names[dim],
                     ways(grid, group, halos).c_str());
    }
  }
  if (grid.handle->node) {
    text += format("memory of this node: one copy where either array comes from GridDesc.empty, otherwise %d slots of "
                   "%zu KiB that the receiver empties while they are filled\n",
                   Pair::slots, grid.handle->node->slot_bytes() / 1024);
  }
  const int64_t share = cache_share(grid.handle->node ? grid.handle->node->size() : 1);
  text += format("copies: %s kernels; past the caches for local pencils of %.3g MiB or more, of %.3g MiB where a "
                 "transpose changes the fastest axis",
                 copy_instruction_set(), mebibytes(streaming_threshold(share, false)),
                 mebibytes(streaming_threshold(share, true)));
  const int threads = grid.handle->team ? grid.handle->team->size() : 1;
  text += threads == 1 ? std::string("\nthreads: one per rank")
                       : format("\nthreads: %d per rank share copies of 128 KiB or more", threads);
  return text;
}

} // namespace

CUDECOMP_EXPORT const char* cudecompBuiltinDescribe(cudecompGridDesc_t grid_desc) {
  static thread_local std::string text;
  text.clear();
  guarded([&] {
    if (grid_desc && grid_desc->tag == grid_tag) text = describe(*grid_desc);
  });
  return text.c_str();
}
