// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_API_OBJECTS_H
#define CUDECOMP_API_OBJECTS_H

#include <map>
#include <memory>
#include <new>
#include <string>
#include <tuple>

#include "cudecomp_builtin.h"
#include "exchange/comm.h"
#include "exchange/exchange.h"
#include "exchange/node.h"
#include "geometry/geometry.h"
#include "report/recorder.h"

namespace cudecomp {

/** Scratch memory that only grows, on page boundaries. */
class Workspace {
public:
  void* at_least(size_t bytes) {
    if (bytes > memory_.bytes()) {
      memory_ = SharedMemory(); // the old pages go before the new ones come
      memory_ = SharedMemory::create_private(bytes);
      if (!memory_.data()) throw std::bad_alloc();
    }
    return memory_.data();
  }
  /** Gives back what goes beyond `bytes`; the contents are lost. */
  void shrink_to(size_t bytes) {
    if (bytes >= memory_.bytes()) return;
    memory_ = SharedMemory();
    if (bytes > 0) at_least(bytes);
  }
  void* data() const { return memory_.data(); }
  size_t bytes() const { return memory_.bytes(); }

private:
  SharedMemory memory_;
};

constexpr uint64_t handle_tag = 0x6364636d70484e44, grid_tag = 0x6364636d70475244;

} // namespace cudecomp

/** What cudecompHandle_t points to. */
struct cudecompHandle {
  uint64_t tag = cudecomp::handle_tag;
  cudecomp::Comm comm;
  int rank = 0, nranks = 1;
  int64_t largest_message_bytes = 0;    ///< of one MPI message
  int64_t largest_message_elements = 0; ///< same, forced by the environment; 0 where it is not
  std::shared_ptr<cudecomp::Node> node; ///< ranks of this node, null where they cannot share memory
  int grids = 0;                        ///< grid descriptors alive
  int64_t grids_made = 0;               ///< grid descriptors so far, alike on all ranks
  cudecomp::ReportSettings reporting;
  std::map<std::string, int> reports_written; ///< how often each CSV file
  cudecomp::ItemTypes types;
  cudecomp::Workspace workspace;
  std::unique_ptr<cudecomp::Team> team;                 ///< threads that share the copies of this rank, null for one
  cudecompBuiltinAutotuneProgress_t progress = nullptr; ///< told what autotuning is doing, if set
  void* progress_context = nullptr;

  int64_t largest_message(int item) const {
    return largest_message_elements ? largest_message_elements : largest_message_bytes / item;
  }
};

/** What cudecompGridDesc_t points to. */
struct cudecompGridDesc {
  uint64_t tag = cudecomp::grid_tag;
  cudecompHandle* handle = nullptr;
  int64_t number = 0;                ///< among all of the handle, alike on all ranks
  cudecompGridDescConfig_t config{}; ///< as the caller gave it, autotuned fields filled in
  std::unique_ptr<cudecomp::Decomposition> decomposition;
  int row = 0, col = 0;
  std::array<std::array<int, 3>, 3> order{};    ///< memory order by pencil axis, fastest first
  cudecomp::Comm row_comm, column_comm;         ///< empty for groups of one
  std::string autotune_report = "null";         ///< JSON
  std::unique_ptr<cudecomp::Recorder> recorder; ///< of times; null where no report is wanted
  std::string performance_report;               ///< JSON, the latest that was asked for

  /** Operations that ran before, ready to run again. */
  using TransposeKey = std::tuple<int, int, int, bool, cudecomp::Triple, cudecomp::Triple, cudecomp::Triple,
                                  cudecomp::Triple>; ///< from, to, dtype, in place, halos, paddings
  using HaloKey = std::tuple<int, int, int, bool, cudecomp::Triple, cudecomp::Triple>; ///< axis, dim, dtype, periodic
  std::map<TransposeKey, std::unique_ptr<cudecomp::TransposeExchange>> transposes;
  std::map<HaloKey, std::unique_ptr<cudecomp::HaloExchange>> halos;

  MPI_Comm comm_of(cudecomp::Group group) const {
    return (group == cudecomp::Group::row ? row_comm : column_comm).get();
  }
  /** This rank's place in one of its groups, and the row and column of a member of it. */
  int place_in(cudecomp::Group group) const { return group == cudecomp::Group::column ? row : col; }
  int row_of(cudecomp::Group group, int member) const { return group == cudecomp::Group::column ? member : row; }
  int col_of(cudecomp::Group group, int member) const { return group == cudecomp::Group::column ? col : member; }
  int rank_of(cudecomp::Group group, int member) const {
    return decomposition->rank_of(row_of(group, member), col_of(group, member));
  }
  cudecomp::Layout layout(int axis, const cudecomp::Triple& halo, const cudecomp::Triple& padding) const {
    return cudecomp::make_layout(decomposition->box(axis, row, col).n, order[axis], halo, padding);
  }
};

#endif // CUDECOMP_API_OBJECTS_H
