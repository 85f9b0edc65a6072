// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "plan/plan.h"

namespace cudecomp {

namespace {

/** The part of `array` that starts `local` points behind its first owned point. */
Region region_in(const Layout& array, const Triple& local, const Triple& n) {
  Region region;
  region.n = n;
  region.stride = array.stride;
  region.offset = array.offset(local);
  return region;
}

} // namespace

Group transpose_group(int from, int to) {
  // X and Y pencils differ in what the rows split, Y and Z pencils in what the columns split.
  return from + to == 1 ? Group::column : Group::row;
}

TransposePlan plan_transpose(const Decomposition& decomposition, int row, int col, const TransposeShape& shape) {
  TransposePlan plan;
  plan.group = transpose_group(shape.from, shape.to);
  plan.me = plan.group == Group::column ? row : col;
  const int members = decomposition.members(plan.group);
  plan.peers.resize(members);

  // Within the group, the input axis is split in the output and the output axis is split in the input.
  const Split& cut_from = decomposition.split(shape.to, shape.from);
  const Split& cut_to = decomposition.split(shape.from, shape.to);
  const Box mine_in = decomposition.box(shape.from, row, col), mine_out = decomposition.box(shape.to, row, col);
  const Layout in = make_layout(mine_in.n, shape.input_order, shape.input_halo, shape.input_padding);
  const Layout out = make_layout(mine_out.n, shape.output_order, shape.output_halo, shape.output_padding);

  // The order that lets one side send or receive without packing, if there is one; every rank decides alike.
  plan.message_order =
      shape.output_order[2] == shape.to && shape.input_order[2] != shape.from ? shape.output_order : shape.input_order;
  plan.piece_order = shape.input_order;
  if (shape.input_order[0] != shape.output_order[0]) {
    plan.piece_order[1] = shape.output_order[0];
    plan.piece_order[2] = 3 - plan.piece_order[0] - plan.piece_order[1];
  }
  int64_t send_slot = 0, recv_size = 0;
  for (int member = 0; member < members; ++member) {
    TransposePeer& peer = plan.peers[member];
    Triple at{}, n = mine_in.n;
    at[shape.from] = cut_from.start[member];
    n[shape.from] = cut_from.count(member);
    peer.send = region_in(in, at, n);

    at = {};
    n = mine_out.n;
    at[shape.to] = cut_to.start[member];
    n[shape.to] = cut_to.count(member);
    peer.recv = region_in(out, at, n);

    peer.send_slot = send_slot;
    send_slot += slot_round(peer.send.points());
    recv_size += slot_round(peer.recv.points());
  }
  int64_t recv_slot = send_slot;
  for (TransposePeer& peer : plan.peers) {
    peer.recv_slot = recv_slot;
    recv_slot += slot_round(peer.recv.points());
  }
  plan.work_size = send_slot + recv_size;

  const int third = 3 - shape.from - shape.to;
  int64_t widest_from = 0, widest_to = 0;
  for (int member = 0; member < members; ++member) {
    widest_from = std::max(widest_from, cut_from.count(member));
    widest_to = std::max(widest_to, cut_to.count(member));
  }
  plan.widest_part = widest_from;
  plan.turns = shape.input_order[0] != shape.output_order[0];
  plan.parts_of_rows = !plan.turns && shape.input_order[0] == shape.from;
  plan.largest_message = widest_from * widest_to * mine_in.n[third];
  return plan;
}

} // namespace cudecomp
