// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "exchange/exchange.h"

namespace cudecomp {

HaloExchange::HaloExchange(const HaloPlan& plan, const HaloPlan (&neighbours)[2], const Channel& channel, bool blocking)
    : plan_(plan), channel_(channel), blocking_(blocking),
      messages_(channel.comm, channel.type, channel.item, channel.largest_message) {
  size_t pieces = 0;
  std::vector<NodeMessage> sends, receives;
  for (int side = 0; side < 2; ++side) {
    const HaloDirection& boxes = plan_.directions[side];
    Direction& direction = directions_[side];
    direction.count = boxes.send.points();
    direction.far_to = !plan_.local && boxes.to >= 0 && !channel.near(boxes.to);
    direction.far_from = !plan_.local && boxes.from >= 0 && !channel.near(boxes.from);
    direction.send_direct = is_dense(boxes.send, plan_.message_order);
    direction.recv_direct = is_dense(boxes.recv, plan_.message_order);
    direction.send_at = direction.send_direct ? boxes.send.offset : boxes.send_slot;
    direction.recv_at = direction.recv_direct ? boxes.recv.offset : boxes.recv_slot;
    if (direction.far_to && !direction.send_direct) {
      direction.pack = prepare_pack(boxes.send, plan_.message_order, boxes.send_slot, channel.item, false);
    }
    if (direction.far_from && !direction.recv_direct) {
      direction.unpack = prepare_unpack(boxes.recv, plan_.message_order, boxes.recv_slot, channel.item, false);
    }
    pieces += 2 * messages_.pieces(direction.count);
    if (plan_.local) {
      if (boxes.to >= 0) local_[side] = prepare_copy(boxes.send, boxes.recv, channel.item, false);
      continue;
    }
    // What goes to the low side arrives in the high halo of the neighbour there, and the other way round.
    if (boxes.to >= 0 && !direction.far_to) {
      sends.push_back({channel.node_index[boxes.to], boxes.send, neighbours[side].directions[side].recv});
    }
    if (boxes.from >= 0 && !direction.far_from) {
      receives.push_back({channel.node_index[boxes.from], boxes.recv, neighbours[1 - side].directions[side].send});
    }
  }
  requests_.reserve(pieces);
  if (!sends.empty() || !receives.empty()) {
    near_ = std::make_unique<NodeExchange>(channel.node, channel.signature, sends, receives, plan_.message_order,
                                           channel.item, false, channel.team);
    near_->exchange_edges();
  }
}

Traffic HaloExchange::traffic() const {
  Traffic traffic{0, 0, plan_.local};
  for (const HaloDirection& direction : plan_.directions) {
    if (direction.from >= 0) traffic.bytes += direction.recv.points() * channel_.item;
  }
  if (!plan_.local) traffic.from_others = traffic.bytes;
  return traffic;
}

void HaloExchange::run(void* data, size_t bytes, void* work) {
  if (plan_.local) return run_local(data);
  if (blocking_) {
    for (int side = 0; side < 2; ++side) {
      post_receive(side, data, work);
      post_send(side, data, work);
      finish(side, side, data, work);
    }
    return run_near(data, bytes);
  }
  for (int side = 0; side < 2; ++side) post_receive(side, data, work);
  for (int side = 0; side < 2; ++side) post_send(side, data, work);
  run_near(data, bytes);
  finish(0, 1, data, work);
}

void HaloExchange::run_near(void* data, size_t bytes) {
  if (!near_) return;
  // Faces that leave and layers that arrive never overlap: peers may reach into the array while it is filled.
  near_->run(data, bytes, data, bytes, nullptr, false, [&] {
    messages_.progress(requests_);
    return false;
  });
}

void HaloExchange::run_local(void* data) { run_copies_by_turns({local_[0], data, data}, {local_[1], data, data}); }

void HaloExchange::post_receive(int side, void* data, void* work) {
  const Direction& direction = directions_[side];
  if (!direction.far_from) return;
  char* into = static_cast<char*>(direction.recv_direct ? data : work) + direction.recv_at * channel_.item;
  messages_.receive(into, direction.count, plan_.directions[side].from, side, requests_);
}

void HaloExchange::post_send(int side, void* data, void* work) {
  const Direction& direction = directions_[side];
  if (!direction.far_to) return;
  {
    const Stopwatch timed(channel_.local_seconds);
    run_copy(direction.pack, data, work, channel_.team);
  }
  const char* out = static_cast<const char*>(direction.send_direct ? data : work) + direction.send_at * channel_.item;
  messages_.send(out, direction.count, plan_.directions[side].to, side, requests_);
}

void HaloExchange::finish(int first_side, int last_side, void* data, const void* work) {
  Messages::wait(requests_);
  for (int side = first_side; side <= last_side; ++side) {
    const Stopwatch timed(channel_.local_seconds);
    if (directions_[side].far_from) run_copy(directions_[side].unpack, work, data, channel_.team);
  }
}

} // namespace cudecomp
