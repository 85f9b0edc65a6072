// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "exchange/node_exchange.h"

#include <sched.h>

#include <algorithm>

#include "common/error.h"

namespace cudecomp {

namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/** The piece of a region that begins at a point and has some extents. */
Region part_of(const Region& region, const Triple& begin, const Triple& n) {
  Region part = region;
  part.n = n;
  for (int dim = 0; dim < 3; ++dim) part.offset += begin[dim] * region.stride[dim];
  return part;
}

} // namespace

Pieces::Pieces(const Triple& n, const std::array<int, 3>& order, int64_t most) : n_(n), order_(order) {
  if (n[0] * n[1] * n[2] == 0) return;
  constexpr int64_t second_at_least = 64;
  int64_t room = most;
  count_ = 1;
  for (int dim : order) {
    const int64_t share = dim == order[0] ? room / std::min(n[order[1]], second_at_least) : room;
    const int64_t fits = std::max<int64_t>(1, std::min(n[dim], share));
    pieces_[dim] = ceil_div(n[dim], fits);
    step_[dim] = ceil_div(n[dim], pieces_[dim]); // pieces of one size rather than a small last one
    pieces_[dim] = ceil_div(n[dim], step_[dim]);
    count_ *= pieces_[dim];
    room = std::max<int64_t>(1, room / step_[dim]);
  }
}

void Pieces::get(int64_t piece, Triple& begin, Triple& n) const {
  for (int dim : order_) {
    begin[dim] = piece % pieces_[dim] * step_[dim];
    n[dim] = std::min(step_[dim], n_[dim] - begin[dim]);
    piece /= pieces_[dim];
  }
}

PiecewiseCopy::PiecewiseCopy(const Region& src, const Region& dst, const std::array<int, 3>& order, int item,
                             int64_t bytes, bool streaming)
    : src_(src), dst_(dst), pieces_(src.n, order, bytes / item), item_(item), streaming_(streaming) {}

void PiecewiseCopy::run(int64_t piece, const void* src, void* dst) const {
  Triple begin, n;
  pieces_.get(piece, begin, n);
  run_copy(prepare_copy(part_of(src_, begin, n), part_of(dst_, begin, n), item_, streaming_), src, dst);
}

NodeExchange::NodeExchange(std::shared_ptr<Node> node, const std::vector<NodeMessage>& sends,
                           const std::vector<NodeMessage>& receives, const std::array<int, 3>& order, int item,
                           bool streaming)
    : node_(std::move(node)), order_(order), item_(item), streaming_(streaming) {
  const auto place_of = [&](int index) {
    for (size_t place = 0; place < peers_.size(); ++place) {
      if (peers_[place].index == index) return static_cast<int>(place);
    }
    peers_.push_back({index});
    return static_cast<int>(peers_.size()) - 1;
  };
  const auto add = [&](std::vector<Message>& messages, const NodeMessage& given, bool sending) {
    Message message;
    message.peer = place_of(given.peer);
    message.mine = given.mine;
    message.theirs = given.theirs;
    message.pieces = Pieces(given.mine.n, order, static_cast<int64_t>(node_->slot_bytes()) / item);
    message.direct = sending ? prepare_copy(given.mine, given.theirs, item, streaming)
                             : prepare_copy(given.theirs, given.mine, item, streaming);
    messages.push_back(message);
  };
  for (const NodeMessage& given : sends) add(sends_, given, true);
  for (const NodeMessage& given : receives) add(receives_, given, false);
}

/** Posts are reused: peers must have finished the operations that the places were used for before. */
bool NodeExchange::places_free() const {
  for (const Peer& peer : peers_) {
    const Pair& in = node_->pair(peer.index, node_->me());
    const uint64_t next = node_->operations(peer.index) + 1;
    if (in.done.load(std::memory_order_acquire) + Pair::posts < next) return false;
  }
  return true;
}

void NodeExchange::announce(const void* input, size_t input_bytes, void* output, size_t output_bytes, bool staged) {
  node_->forget_released();
  // In place, peers may neither read what is being overwritten nor overwrite what is still to leave.
  post_ = {};
  post_.staged = staged;
  if (!staged) {
    if (input_bytes) post_.input = node_->find(input, input_bytes);
    if (output_bytes) post_.output = node_->find(output, output_bytes);
  }
  for (Peer& peer : peers_) {
    peer.operation = ++node_->operations(peer.index);
    peer.post = nullptr;
    peer.they_use_mine = false;
    Pair& out = node_->pair(node_->me(), peer.index);
    out.post[peer.operation % Pair::posts] = post_;
    out.posted.store(peer.operation, std::memory_order_release);
  }
  for (Message& message : sends_) {
    message.path = Path::undecided;
    message.next = 0;
  }
  for (Message& message : receives_) {
    message.path = Path::undecided;
    message.next = 0;
  }
}

bool NodeExchange::decide(Message& message, bool sending) {
  Peer& peer = peers_[message.peer];
  if (!peer.post) {
    const Pair& in = node_->pair(peer.index, node_->me());
    if (in.posted.load(std::memory_order_acquire) < peer.operation) return false;
    peer.post = &in.post[peer.operation % Pair::posts];
  }
  const Post& sender = sending ? post_ : *peer.post;
  const Post& receiver = sending ? *peer.post : post_;
  message.path = message.pieces.count() == 0 || receiver.staged ? Path::ring
                 : sender.input.block >= 0                      ? Path::pull
                 : receiver.output.block >= 0                   ? Path::push
                                                                : Path::ring;
  // The side that does nothing has nothing left to do, but must wait for the other before it returns.
  const bool idle_side = message.path == (sending ? Path::pull : Path::push);
  message.total = message.path == Path::ring ? message.pieces.count() : idle_side ? 0 : 1;
  if (idle_side) peer.they_use_mine = true;
  return true;
}

bool NodeExchange::progress_send(Message& message, const char* input) {
  if (message.path == Path::undecided && !decide(message, true)) return false;
  const Peer& peer = peers_[message.peer];
  if (message.finished()) return true;
  if (message.path == Path::push) {
    run_copy(message.direct, input, node_->map(peer.index, peer.post->output));
    message.next = 1;
    return true;
  }
  Pair& pair = node_->pair(node_->me(), peer.index);
  const uint64_t filled = pair.filled.load(std::memory_order_relaxed);
  if (filled - pair.emptied.load(std::memory_order_acquire) == Pair::slots) return false;
  Triple begin, n;
  message.pieces.get(message.next, begin, n);
  run_copy(prepare_pack(part_of(message.mine, begin, n), order_, 0, item_, false), input,
           node_->slot(node_->me(), peer.index, filled));
  pair.slot_bytes[filled % Pair::slots] = n[0] * n[1] * n[2] * item_;
  pair.filled.store(filled + 1, std::memory_order_release);
  ++message.next;
  return true;
}

bool NodeExchange::progress_receive(Message& message, size_t number, char* output, char* work) {
  if (message.path == Path::undecided && !decide(message, false)) return false;
  const Peer& peer = peers_[message.peer];
  if (message.finished()) return true;
  if (message.path == Path::pull) {
    run_copy(message.direct, node_->map(peer.index, peer.post->input), output);
    message.next = 1;
    return true;
  }
  Pair& pair = node_->pair(peer.index, node_->me());
  const uint64_t emptied = pair.emptied.load(std::memory_order_relaxed);
  if (pair.filled.load(std::memory_order_acquire) == emptied) return false;
  Triple begin, n;
  message.pieces.get(message.next, begin, n);
  const int64_t bytes = n[0] * n[1] * n[2] * item_;
  if (pair.slot_bytes[emptied % Pair::slots] != bytes) {
    invalid_usage("a message of another rank has %lld bytes where %lld were expected: all ranks must call the same "
                  "operations in the same order with the same dtype, halos and padding",
                  static_cast<long long>(pair.slot_bytes[emptied % Pair::slots]), static_cast<long long>(bytes));
  }
  const Region slot = packed_region(n, order_, 0);
  const Region target = post_.staged ? part_of(packed_region(message.mine.n, order_, stage_slots_[number]), begin, n)
                                     : part_of(message.mine, begin, n);
  run_copy(prepare_copy(slot, target, item_, streaming_), node_->slot(peer.index, node_->me(), emptied),
           post_.staged ? work : output);
  pair.emptied.store(emptied + 1, std::memory_order_release);
  ++message.next;
  return true;
}

void NodeExchange::finish_peers() {
  for (const Peer& peer : peers_) {
    node_->pair(node_->me(), peer.index).done.store(peer.operation, std::memory_order_release);
  }
}

bool NodeExchange::others_done() const {
  for (const Peer& peer : peers_) {
    const Pair& in = node_->pair(peer.index, node_->me());
    if (peer.they_use_mine && in.done.load(std::memory_order_acquire) < peer.operation) return false;
  }
  return true;
}

void NodeExchange::unstage(const char* work, char* output) {
  for (size_t number = 0; number < receives_.size(); ++number) {
    run_copy(prepare_unpack(receives_[number].mine, order_, stage_slots_[number], item_, streaming_), work, output);
  }
}

void Patience::pause() {
  if (++waits_ < 256) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  } else {
    sched_yield();
  }
}

} // namespace cudecomp
