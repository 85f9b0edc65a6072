// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "exchange/node_exchange.h"

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

Pieces::Pieces(const Region& one, const Region& other, const std::array<int, 3>& order, int64_t most)
    : n_(one.n), order_(order) {
  const Triple& n = one.n;
  if (one.points() == 0) return;
  const bool rows = one.stride[order[0]] == 1 && other.stride[order[0]] == 1;
  const int64_t second_at_least = rows ? 1 : 64;
  int64_t room = most;
  count_ = 1;
  for (int dim : order) {
    cut(dim, dim == order[0] ? room / std::min(n[order[1]], second_at_least) : room);
    room /= step_[dim];
  }
}

Pieces Pieces::of_rows(const Triple& n, const std::array<int, 3>& order, int64_t widest, int64_t most) {
  Pieces pieces(n, order);
  if (n[0] * n[1] * n[2] == 0) return pieces;
  const int64_t rows = most / widest;
  pieces.count_ = 1;
  pieces.cut(order[0], n[order[0]]);
  pieces.cut(order[1], rows);
  pieces.cut(order[2], rows / pieces.step_[order[1]]);
  return pieces;
}

void Pieces::cut(int dim, int64_t fits) {
  fits = std::max<int64_t>(1, std::min(n_[dim], fits));
  pieces_[dim] = ceil_div(n_[dim], fits);
  step_[dim] = ceil_div(n_[dim], pieces_[dim]); // pieces of one size rather than a small last one
  pieces_[dim] = ceil_div(n_[dim], step_[dim]);
  count_ *= pieces_[dim];
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
    : src_(src), dst_(dst), pieces_(src, dst, order, bytes / item), item_(item), streaming_(streaming) {}

void PiecewiseCopy::run(int64_t piece, const void* src, void* dst, Team* team) const {
  Triple begin, n;
  pieces_.get(piece, begin, n);
  run_copy(prepare_copy(part_of(src_, begin, n), part_of(dst_, begin, n), item_, streaming_), src, dst, team);
}

NodeExchange::NodeExchange(std::shared_ptr<Node> node, uint64_t signature, const std::vector<NodeMessage>& sends,
                           const std::vector<NodeMessage>& receives, const std::array<int, 3>& order, int item,
                           bool streaming, Team* team)
    : node_(std::move(node)), order_(order), item_(item), streaming_(streaming), team_(team) {
  post_.signature = signature;
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
    message.pieces = Pieces(given.mine, given.theirs, order, static_cast<int64_t>(node_->slot_bytes()) / item);
    message.direct = sending ? prepare_copy(given.mine, given.theirs, item, streaming)
                             : prepare_copy(given.theirs, given.mine, item, streaming);
    messages.push_back(message);
  };
  for (const NodeMessage& given : sends) add(sends_, given, true);
  for (const NodeMessage& given : receives) add(receives_, given, false);
}

bool NodeExchange::sweep(int64_t widest, const Region& keep_from, const Region& keep_to, double* local_seconds) {
  // Longer rows stop the prefetcher seldom enough, and must fit a slot in any case.
  constexpr int64_t longest_row_bytes = 16 << 10;
  if (widest * item_ > longest_row_bytes) return false;
  sweeps_ = true;
  keep_from_ = keep_from;
  keep_to_ = keep_to;
  local_seconds_ = local_seconds;
  const int64_t most = static_cast<int64_t>(node_->slot_bytes()) / item_;
  Triple rows = keep_from.n;
  rows[order_[0]] = 1;
  sweep_pieces_ = Pieces::of_rows(rows, order_, widest, most);
  for (std::vector<Message>* messages : {&sends_, &receives_}) {
    for (Message& message : *messages) message.pieces = Pieces::of_rows(message.mine.n, order_, widest, most);
  }
  return true;
}

void NodeExchange::exchange_edges() {
  for (std::vector<Message>* messages : {&sends_, &receives_}) {
    for (Message& message : *messages) {
      const Region &mine = message.mine, &theirs = message.theirs;
      const int row = order_[0], next = order_[1];
      const bool joined = mine.stride[next] == mine.n[row] && theirs.stride[next] == mine.n[row];
      message.through_slots = mine.n[row] * item_ <= short_row_bytes && mine.stride[row] == 1 && !joined;
    }
  }
  // Two messages with one peer share its ring: whether they take turns there follows from what both ranks know.
  const auto together = [&](const std::vector<Message>& messages) {
    return !team_ && messages.size() == 2 && messages[0].through_slots && messages[1].through_slots &&
           messages[0].mine.n == messages[1].mine.n && messages[0].pieces.count() > 0;
  };
  both_sends_ = together(sends_);
  both_receives_ = together(receives_);
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
  post_.input = post_.output = {};
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
  swept_ = 0;
  for (Message& message : receives_) {
    message.path = Path::undecided;
    message.next = 0;
  }
}

void NodeExchange::check_same_operation(const Peer& peer) const {
  if (peer.post->signature == post_.signature) return;
  invalid_usage(
      "rank %d calls another operation than this rank, or the same on another grid or with another dtype, halo, "
      "padding or period: all ranks must make the same calls in the same order; CUDECOMP_CHECK=1 tells what "
      "differs",
      node_->rank_of(peer.index));
}

bool NodeExchange::decide(Message& message, bool sending) {
  Peer& peer = peers_[message.peer];
  if (sending && message.through_slots) { // the peer, which finds the slots, also finds out if it calls something else
    message.path = Path::ring;
    message.total = message.pieces.count();
    return true;
  }
  if (!peer.post) {
    const Pair& in = node_->pair(peer.index, node_->me());
    if (in.posted.load(std::memory_order_acquire) < peer.operation) return false;
    peer.post = &in.post[peer.operation % Pair::posts];
    check_same_operation(peer);
  }
  const Post& sender = sending ? post_ : *peer.post;
  const Post& receiver = sending ? *peer.post : post_;
  const bool can_pull = sender.input.block >= 0, can_push = receiver.output.block >= 0;
  message.path = message.pieces.count() == 0 || receiver.staged || message.through_slots ? Path::ring
                 : can_push && (sweeps_ || !can_pull)                                    ? Path::push
                 : can_pull                                                              ? Path::pull
                                                                                         : Path::ring;
  // The side that does nothing has nothing left to do, but must wait for the other before it returns.
  const bool idle_side = message.path == (sending ? Path::pull : Path::push);
  const bool by_pieces = message.path == Path::ring || (message.path == Path::push && sweeps_);
  message.total = idle_side ? 0 : by_pieces ? message.pieces.count() : 1;
  if (idle_side) peer.they_use_mine = true;
  return true;
}

bool NodeExchange::complete() const {
  const auto finished = [](const Message& message) { return message.finished(); };
  return (!sweeps_ || swept_ == sweep_pieces_.count()) && std::all_of(sends_.begin(), sends_.end(), finished) &&
         std::all_of(receives_.begin(), receives_.end(), finished);
}

/** Several messages with one peer share its ring, so they go one after the other. */
class Turns {
public:
  template <typename Message, typename Progress> bool take(const Message& message, Progress progress) {
    if (message.finished()) return false;
    const uint64_t bit = uint64_t{1} << (message.peer % 64);
    const bool moved = !(busy_ & bit) && progress();
    if (!message.finished()) busy_ |= bit;
    return moved;
  }

private:
  uint64_t busy_ = 0;
};

bool NodeExchange::progress_sends(const char* input) {
  Turns turns;
  bool moved = false;
  for (Message& message : sends_) moved = turns.take(message, [&] { return progress_send(message, input); }) || moved;
  return moved;
}

bool NodeExchange::progress_receives(char* output, char* work) {
  Turns turns;
  bool moved = false;
  for (size_t number = 0; number < receives_.size(); ++number) {
    Message& message = receives_[number];
    moved = turns.take(message, [&] { return progress_receive(message, number, output, work); }) || moved;
  }
  return moved;
}

bool NodeExchange::slots_free(const Message& message, uint64_t count) const {
  const Pair& pair = node_->pair(node_->me(), peers_[message.peer].index);
  const uint64_t filled = pair.filled.load(std::memory_order_relaxed);
  return filled + count - pair.emptied.load(std::memory_order_acquire) <= Pair::slots;
}

/** The slot to fill next, or one behind it. */
char* NodeExchange::free_slot(const Message& message, uint64_t ahead) const {
  const int peer = peers_[message.peer].index;
  const Pair& pair = node_->pair(node_->me(), peer);
  return node_->slot(node_->me(), peer, pair.filled.load(std::memory_order_relaxed) + ahead);
}

/**
 * Fills the slot for the next piece of a message, of some bytes, and at the same time those of other messages,
 * `sharers` in all. `fill` takes whether to store past the caches. Returns that.
 */
template <typename Fill> bool NodeExchange::fill_slots(Message& message, int64_t bytes, int64_t sharers, Fill fill) {
  if (team_ || !can_pass_caches()) {
    fill(false);
    return false;
  }
  if (message.next >= Pair::slots) { // the slot has been used for this message, and is empty again
    const Pair& pair = node_->pair(node_->me(), peers_[message.peer].index);
    const uint64_t slot = pair.filled.load(std::memory_order_relaxed) % Pair::slots;
    const double seconds = pair.slot_seconds[slot] * static_cast<double>(sharers);
    message.fill.took_to_empty(pair.slot_past_caches[slot], seconds / static_cast<double>(pair.slot_bytes[slot]));
  }
  const bool past_caches = message.fill.past_caches();
  const double begin = seconds_now();
  fill(past_caches);
  message.fill.took_to_fill(past_caches, (seconds_now() - begin) / static_cast<double>(bytes));
  return past_caches;
}

/** Hands over the slot that now holds a piece of `n` points. */
void NodeExchange::pass_slot(const Message& message, const Triple& n, bool past_caches) {
  Pair& pair = node_->pair(node_->me(), peers_[message.peer].index);
  const uint64_t filled = pair.filled.load(std::memory_order_relaxed);
  pair.slot_bytes[filled % Pair::slots] = n[0] * n[1] * n[2] * item_;
  pair.slot_past_caches[filled % Pair::slots] = past_caches;
  pair.filled.store(filled + 1, std::memory_order_release);
}

/** The slot that holds the next piece, or one behind it, of `n` points; null if that has not arrived. */
const char* NodeExchange::filled_slot(const Message& message, const Triple& n, uint64_t ahead) const {
  const int peer = peers_[message.peer].index;
  const Pair& pair = node_->pair(peer, node_->me());
  const uint64_t number = pair.emptied.load(std::memory_order_relaxed) + ahead;
  if (pair.filled.load(std::memory_order_acquire) <= number) return nullptr;
  const int64_t bytes = n[0] * n[1] * n[2] * item_, found = pair.slot_bytes[number % Pair::slots];
  if (found != bytes) {
    invalid_usage("a message of another rank has %lld bytes where %lld were expected: all ranks must call the same "
                  "operations in the same order with the same dtype, halos and padding",
                  static_cast<long long>(found), static_cast<long long>(bytes));
  }
  return node_->slot(peer, node_->me(), number);
}

/** What has been unpacked may be overwritten. */
void NodeExchange::give_slot_back(const Message& message, double seconds) {
  Pair& pair = node_->pair(peers_[message.peer].index, node_->me());
  const uint64_t emptied = pair.emptied.load(std::memory_order_relaxed);
  pair.slot_seconds[emptied % Pair::slots] = seconds;
  pair.emptied.store(emptied + 1, std::memory_order_release);
}

bool NodeExchange::progress_both_sends(const char* input) {
  Message &one = sends_[0], &two = sends_[1];
  for (Message* message : {&one, &two}) {
    if (message->path == Path::undecided && !decide(*message, true)) return false;
  }
  const uint64_t same_ring = one.peer == two.peer;
  if (one.finished() || !slots_free(one, 1 + same_ring) || !slots_free(two)) return false;
  Triple begin, n;
  one.pieces.get(one.next, begin, n);
  const auto pack = [&](const Message& message, uint64_t ahead) {
    return PlacedCopy{prepare_pack(part_of(message.mine, begin, n), order_, 0, item_, false), input,
                      free_slot(message, ahead)};
  };
  run_copies_by_turns(pack(one, 0), pack(two, same_ring));
  for (Message* message : {&one, &two}) {
    pass_slot(*message, n, false);
    ++message->next;
  }
  return true;
}

bool NodeExchange::progress_both_receives(char* output) {
  Message &one = receives_[0], &two = receives_[1];
  for (Message* message : {&one, &two}) {
    if (message->path == Path::undecided && !decide(*message, false)) return false;
  }
  if (one.finished()) return false;
  Triple begin, n;
  one.pieces.get(one.next, begin, n);
  const char *slot_one = filled_slot(one, n), *slot_two = filled_slot(two, n, one.peer == two.peer);
  if (!slot_one || !slot_two) return false;
  const auto unpack = [&](const Message& message, const char* slot) {
    return PlacedCopy{prepare_copy(packed_region(n, order_, 0), part_of(message.mine, begin, n), item_, false), slot,
                      output};
  };
  run_copies_by_turns(unpack(one, slot_one), unpack(two, slot_two));
  for (Message* message : {&one, &two}) {
    give_slot_back(*message, 0);
    ++message->next;
  }
  return true;
}

bool NodeExchange::sweep_can_move() {
  for (Message& message : sends_) {
    if (message.path == Path::undecided && !decide(message, true)) return false;
  }
  if (swept_ == sweep_pieces_.count()) return false;
  return std::all_of(sends_.begin(), sends_.end(), [&](const Message& message) {
    return message.finished() || message.path != Path::ring || slots_free(message);
  });
}

/** Copies the parts of a sweep. Of its time, as much counts as local as `kept` is of the points. */
void NodeExchange::run_timed_sweep(int64_t kept, const char* input) {
  if (!local_seconds_) return run_sweep(sweep_parts_, order_, item_, input, team_);
  const double begin = seconds_now();
  run_sweep(sweep_parts_, order_, item_, input, team_);
  const double seconds = seconds_now() - begin;
  int64_t points = 0;
  for (const SweepPart& part : sweep_parts_) points += part.src.points();
  if (points > 0) *local_seconds_ += seconds * static_cast<double>(kept) / static_cast<double>(points);
}

bool NodeExchange::progress_sweep(const char* input, char* output) {
  if (!sweep_can_move()) return false;
  Triple begin, n;
  sweep_pieces_.get(swept_++, begin, n);
  const auto add = [&](const Region& mine, const Region& theirs, void* to) {
    n[order_[0]] = mine.n[order_[0]];
    sweep_parts_.push_back({part_of(mine, begin, n), part_of(theirs, begin, n), to, streaming_});
  };
  sweep_parts_.clear();
  int64_t kept = 0;
  if (!post_.staged && keep_from_.points() > 0) {
    add(keep_from_, keep_to_, output);
    kept = sweep_parts_.front().src.points();
  }
  Message* through_slot = nullptr;
  int64_t slots = 0;
  for (Message& message : sends_) {
    if (message.finished()) continue;
    const Peer& peer = peers_[message.peer];
    if (message.path == Path::push) {
      add(message.mine, message.theirs, node_->map(peer.index, peer.post->output));
    } else {
      n[order_[0]] = message.mine.n[order_[0]];
      through_slot = &message;
      ++slots;
      sweep_parts_.push_back({part_of(message.mine, begin, n), packed_region(n, order_, 0), free_slot(message), false});
    }
  }
  std::sort(sweep_parts_.begin(), sweep_parts_.end(),
            [](const SweepPart& a, const SweepPart& b) { return a.src.offset < b.src.offset; });
  bool past_caches = false;
  if (through_slot) {
    n[order_[0]] = through_slot->mine.n[order_[0]];
    past_caches = fill_slots(*through_slot, n[0] * n[1] * n[2] * item_, slots, [&](bool past) {
      for (SweepPart& part : sweep_parts_) part.streaming = part.streaming || past;
      run_timed_sweep(kept, input);
    });
  } else {
    run_timed_sweep(kept, input);
  }
  for (Message& message : sends_) {
    if (message.finished()) continue;
    n[order_[0]] = message.mine.n[order_[0]];
    if (message.path == Path::ring) pass_slot(message, n, past_caches);
    ++message.next;
  }
  return true;
}

bool NodeExchange::progress_send(Message& message, const char* input) {
  if (message.path == Path::undecided && !decide(message, true)) return false;
  const Peer& peer = peers_[message.peer];
  if (message.finished()) return true;
  if (message.path == Path::push) {
    run_copy(message.direct, input, node_->map(peer.index, peer.post->output), team_);
    message.next = 1;
    return true;
  }
  if (!slots_free(message)) return false;
  Triple begin, n;
  message.pieces.get(message.next, begin, n);
  const BoxCopy pack = prepare_pack(part_of(message.mine, begin, n), order_, 0, item_, false);
  char* slot = free_slot(message);
  const bool past_caches = fill_slots(message, pack.points() * item_, 1, [&](bool past) {
    past ? run_copy_past_caches(pack, input, slot) : run_copy(pack, input, slot, team_);
  });
  pass_slot(message, n, past_caches);
  ++message.next;
  return true;
}

bool NodeExchange::progress_receive(Message& message, size_t number, char* output, char* work) {
  if (message.path == Path::undecided && !decide(message, false)) return false;
  const Peer& peer = peers_[message.peer];
  if (message.finished()) return true;
  if (message.path == Path::pull) {
    run_copy(message.direct, node_->map(peer.index, peer.post->input), output, team_);
    message.next = 1;
    return true;
  }
  Triple begin, n;
  message.pieces.get(message.next, begin, n);
  const char* slot = filled_slot(message, n);
  if (!slot) return false;
  const Region target = post_.staged ? part_of(packed_region(message.mine.n, order_, stage_slots_[number]), begin, n)
                                     : part_of(message.mine, begin, n);
  const double started = seconds_now();
  run_copy(prepare_copy(packed_region(n, order_, 0), target, item_, streaming_), slot, post_.staged ? work : output,
           team_);
  give_slot_back(message, seconds_now() - started);
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
    run_copy(prepare_unpack(receives_[number].mine, order_, stage_slots_[number], item_, streaming_), work, output,
             team_);
  }
}

} // namespace cudecomp
