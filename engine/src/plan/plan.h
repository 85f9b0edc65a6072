// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_PLAN_PLAN_H
#define CUDECOMP_PLAN_PLAN_H

#include <array>
#include <cstdint>
#include <vector>

#include "geometry/geometry.h"

namespace cudecomp {

/** A box inside some array: extents and strides along X, Y, Z, and where it begins, all in elements. */
struct Region {
  Triple n{};
  Triple stride{};
  int64_t offset = 0;

  int64_t points() const { return n[0] * n[1] * n[2]; }
};

/** The region of a message: `n` points packed densely in `order` (fastest first), `offset` elements into a buffer. */
Region packed_region(const Triple& n, const std::array<int, 3>& order, int64_t offset);

/** Whether the points of a region follow each other without gaps, in `order`. */
bool is_dense(const Region& region, const std::array<int, 3>& order);

/** What a transpose exchanges with one rank of its group. */
struct TransposePeer {
  Region send;           ///< in the input
  Region recv;           ///< in the output
  int64_t send_slot = 0; ///< element of the workspace where the packed message begins
  int64_t recv_slot = 0;
};

/** A transpose as boxes: what moves, not how. */
struct TransposePlan {
  Group group;
  int me;                           ///< calling rank's place in the group
  std::vector<TransposePeer> peers; ///< by place in the group, the calling rank included
  std::array<int, 3> message_order; ///< order of the points in messages, alike on all ranks
  std::array<int, 3> piece_order;   ///< axes to keep whole when a message is cut: those contiguous on either side first
  int64_t largest_message;          ///< points of the largest message between any two ranks of the group
  int64_t widest_part;              ///< points along the input axis of the widest message, alike on all ranks
  bool turns;                       ///< the axes contiguous in the input and in the output differ
  bool parts_of_rows; ///< the messages of a rank share its rows: they cut the axis contiguous on both sides
  int64_t work_size;  ///< elements of workspace, slots included
};

/** One direction of a halo update: what leaves, what arrives. */
struct HaloDirection {
  int to = -1;   ///< place in the group that receives `send`; -1 for none
  int from = -1; ///< place in the group that `recv` comes from; -1 for none
  Region send;
  Region recv;
  int64_t send_slot = 0;
  int64_t recv_slot = 0;
};

/** A halo update along one dim. */
struct HaloPlan {
  bool local;  ///< every copy stays on this rank
  Group group; ///< group of the neighbours, unless local
  std::array<int, 3> message_order;
  std::array<HaloDirection, 2> directions; ///< towards the low side, towards the high side
  int64_t work_size;
};

/** Everything that shapes a transpose. */
struct TransposeShape {
  int from, to; ///< pencil axes
  std::array<int, 3> input_order, output_order;
  Triple input_halo, output_halo, input_padding, output_padding;
};

TransposePlan plan_transpose(const Decomposition& decomposition, int row, int col, const TransposeShape& shape);

/** Everything that shapes a halo update. */
struct HaloShape {
  int axis, dim;
  std::array<int, 3> order;
  Triple halo, padding;
  bool periodic;
};

HaloPlan plan_halo(const Decomposition& decomposition, int row, int col, const HaloShape& shape);

/** Group that splits `dim` in the pencils along `axis`; only for dim != axis. */
Group group_of(int axis, int dim);

/** Group that exchanges in a transpose between two pencil axes. */
Group transpose_group(int from, int to);

/** Workspace slots begin at multiples of this many elements: 256 bytes even for the smallest type. */
constexpr int64_t slot_elements = 64;
constexpr int64_t slot_round(int64_t elements) {
  return (elements + slot_elements - 1) / slot_elements * slot_elements;
}

} // namespace cudecomp

#endif // CUDECOMP_PLAN_PLAN_H
