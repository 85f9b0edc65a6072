// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "plan/plan.h"

namespace cudecomp {

HaloPlan plan_halo(const Decomposition& decomposition, int row, int col, const HaloShape& shape) {
  const int dim = shape.dim;
  const int64_t depth = shape.halo[dim];
  const int members = decomposition.parts(shape.axis, dim);
  const Box mine = decomposition.box(shape.axis, row, col);
  const Layout array = make_layout(mine.n, shape.order, shape.halo, shape.padding);

  HaloPlan plan{};
  plan.local = members == 1;
  plan.group = plan.local ? Group::row : group_of(shape.axis, dim);
  plan.message_order = shape.order;
  const int me = plan.local ? 0 : (plan.group == Group::column ? row : col);

  // Faces span the halos of the other dims, so that updates in turn fill edges and corners; padding stays out.
  Triple face;
  for (int other = 0; other < 3; ++other) face[other] = other == dim ? depth : mine.n[other] + 2 * shape.halo[other];
  const auto face_at = [&](int64_t local) {
    Region region;
    region.n = face;
    region.stride = array.stride;
    region.offset = (local + depth) * array.stride[dim];
    return region;
  };

  const int64_t points = face[0] * face[1] * face[2];
  for (int side = 0; side < 2; ++side) {
    HaloDirection& direction = plan.directions[side];
    const int step = side == 0 ? -1 : 1;
    direction.to = shifted(me, step, members, shape.periodic);
    direction.from = shifted(me, -step, members, shape.periodic);
    direction.send = face_at(side == 0 ? 0 : mine.n[dim] - depth);
    direction.recv = face_at(side == 0 ? mine.n[dim] : -depth);
    direction.send_slot = side * slot_round(points);
    direction.recv_slot = (2 + side) * slot_round(points);
    // A rank whose pencil holds no points has faces of halo alone: nothing in them belongs to anyone.
    if (mine.points() == 0) direction.to = direction.from = -1;
  }
  plan.work_size = 4 * slot_round(points);
  return plan;
}

} // namespace cudecomp
