// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_EXCHANGE_NODE_EXCHANGE_H
#define CUDECOMP_EXCHANGE_NODE_EXCHANGE_H

#include <memory>
#include <vector>

#include "common/pause.h"
#include "common/stopwatch.h"
#include "copy/copy.h"
#include "exchange/node.h"
#include "exchange/slot_fill.h"
#include "plan/plan.h"

namespace cudecomp {

/**
 * A box cut into pieces of at most some number of points. The axes of `order` are kept whole for as long as they fit.
 * Where the first is contiguous on one side of a copy only, the second one is kept to a good part even if the first is
 * long: it may be contiguous on the other side.
 */
class Pieces {
public:
  Pieces() = default;
  /** @param one, other the two sides of the copy; the extents are those of `one` */
  Pieces(const Region& one, const Region& other, const std::array<int, 3>& order, int64_t most);
  /** Cuts between rows along order[0] only, as if those were `widest` points long. */
  static Pieces of_rows(const Triple& n, const std::array<int, 3>& order, int64_t widest, int64_t most);

  int64_t count() const { return count_; }
  /** First point and extents of a piece. */
  void get(int64_t piece, Triple& begin, Triple& n) const;

private:
  Pieces(const Triple& n, const std::array<int, 3>& order) : n_(n), order_(order) {}
  void cut(int dim, int64_t fits);

  Triple n_{}, step_{}, pieces_{};
  std::array<int, 3> order_{};
  int64_t count_ = 0;
};

/** A copy that is run piece by piece. */
class PiecewiseCopy {
public:
  PiecewiseCopy() = default;
  PiecewiseCopy(const Region& src, const Region& dst, const std::array<int, 3>& order, int item, int64_t bytes,
                bool streaming);

  int64_t pieces() const { return pieces_.count(); }
  void run(int64_t piece, const void* src, void* dst, Team* team) const;

private:
  Region src_, dst_;
  Pieces pieces_;
  int item_ = 0;
  bool streaming_ = false;
};

/** One message between this rank and a peer on its node. */
struct NodeMessage {
  int peer;      ///< index on the node
  Region mine;   ///< in this rank's array: the input for what it sends, the output for what it receives
  Region theirs; ///< the same points in the peer's array
};

/**
 * Exchanges messages with ranks of the same node. Per message, whichever is possible first: the receiver reads the
 * sender's array, the sender writes the receiver's array, or the data goes through the pair's ring of slots.
 *
 * Where the messages are parts of the same short rows of the sender, it moves all of them in one sweep over its array.
 */
class NodeExchange {
public:
  /**
   * @param signature tells the operation from others, alike on all ranks: what peers do meanwhile is compared with it
   * @param staged the output may lie over the input: arriving data waits in the workspace until all has left
   * @param order order of the points in slots, alike on both sides
   * @param team shares the copies, if there is one
   */
  NodeExchange(std::shared_ptr<Node> node, uint64_t signature, const std::vector<NodeMessage>& sends,
               const std::vector<NodeMessage>& receives, const std::array<int, 3>& order, int item, bool streaming,
               Team* team);

  /** Places in the workspace for arriving data, in the order of `receives`; needed before a staged run. */
  void stage_at(std::vector<int64_t> slots) { stage_slots_ = std::move(slots); }

  /**
   * What is sent are parts of rows along order[0], the longest part on any rank `widest` points, and so is `keep_from`,
   * which goes to `keep_to` in this rank's own output unless the run is staged. Returns whether it will be done in one
   * sweep; if not, the caller has to copy what it keeps. All ranks must come here or none.
   */
  bool sweep(int64_t widest, const Region& keep_from, const Region& keep_to, double* local_seconds);

  /**
   * What is exchanged are layers of one array: where they are the ends of short rows, they go through the slots even if
   * arrays are shared, since ranks that reach into each other's rows would fight over every line; and both sides go
   * together, so that this rank's lines are fetched once. Who sends to a peer here receives from it too, and so
   * finds out if it calls something else. All ranks must come here or none.
   */
  void exchange_edges();

  /**
   * @param input_bytes, output_bytes sizes of the arrays
   * @param idle called while nothing can move; returns whether it did something useful. It should let MPI work: the
   * peer may still wait for a message that only this rank's MPI can push out.
   */
  template <typename Idle>
  void run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work, bool staged,
           Idle idle);

private:
  enum class Path { undecided, pull, push, ring };
  struct Message {
    int peer; ///< place in peers_
    Region mine, theirs;
    Pieces pieces;
    BoxCopy direct;             ///< between the two arrays
    bool through_slots = false; ///< never straight between the arrays
    SlotFill fill;
    Path path = Path::undecided;
    int64_t next = 0, total = 0;
    bool finished() const { return path != Path::undecided && next == total; }
  };
  struct Peer {
    int index;
    uint64_t operation = 0;
    const Post* post = nullptr; ///< what the peer announced, once it has
    bool they_use_mine = false; ///< reads my input or writes my output
  };

  template <typename Idle>
  void exchange(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work, bool staged,
                Idle idle);
  template <typename Idle> void wait(Patience& patience, Idle& idle);
  void announce(const void* input, size_t input_bytes, void* output, size_t output_bytes, bool staged);
  void check_same_operation(const Peer& peer) const;
  bool decide(Message& message, bool sending);
  bool complete() const;
  bool progress_sends(const char* input);
  bool progress_send(Message& message, const char* input);
  bool sweep_can_move();
  bool progress_sweep(const char* input, char* output);
  void run_timed_sweep(int64_t kept, const char* input);
  bool progress_receives(char* output, char* work);
  bool progress_both_sends(const char* input);
  bool progress_both_receives(char* output);
  bool slots_free(const Message& message, uint64_t count = 1) const;
  char* free_slot(const Message& message, uint64_t ahead = 0) const;
  template <typename Fill> bool fill_slots(Message& message, int64_t bytes, int64_t sharers, Fill fill);
  void pass_slot(const Message& message, const Triple& n, bool past_caches);
  const char* filled_slot(const Message& message, const Triple& n, uint64_t ahead = 0) const;
  void give_slot_back(const Message& message, double seconds);
  bool progress_receive(Message& message, size_t number, char* output, char* work);
  bool places_free() const;
  bool others_done() const;
  void finish_peers();
  void unstage(const char* work, char* output);

  std::shared_ptr<Node> node_;
  std::array<int, 3> order_;
  int item_;
  bool streaming_;
  Team* team_;
  std::vector<Peer> peers_;
  std::vector<Message> sends_, receives_;
  bool both_sends_ = false, both_receives_ = false; ///< two messages that go together, piece by piece
  std::vector<int64_t> stage_slots_;
  Post post_; ///< what this rank announces

  bool sweeps_ = false;
  double* local_seconds_ = nullptr; ///< where the time of copying what stays adds up in sweeps; null where nobody asks
  Region keep_from_, keep_to_;
  Pieces sweep_pieces_;
  int64_t swept_ = 0;
  std::vector<SweepPart> sweep_parts_;
};

template <typename Idle>
void NodeExchange::run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work,
                       bool staged, Idle idle) {
  node_->check_in_step();
  try {
    exchange(input, input_bytes, output, output_bytes, work, staged, idle);
  } catch (...) {
    node_->fail();
    throw;
  }
}

/** While nothing moves here: lets MPI work, and finds out whether what is waited for will ever come. */
template <typename Idle> void NodeExchange::wait(Patience& patience, Idle& idle) {
  if (idle()) return patience.reset();
  node_->check_in_step();
  patience.pause();
}

template <typename Idle>
void NodeExchange::exchange(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work,
                            bool staged, Idle idle) {
  Patience patience;
  while (!places_free()) wait(patience, idle);
  announce(input, input_bytes, output, output_bytes, staged);
  const char* in = static_cast<const char*>(input);
  char* out = static_cast<char*>(output);
  char* scratch = static_cast<char*>(work);
  for (;;) {
    bool moved = sweeps_ ? progress_sweep(in, out) : both_sends_ ? progress_both_sends(in) : progress_sends(in);
    moved = (both_receives_ ? progress_both_receives(out) : progress_receives(out, scratch)) || moved;
    if (complete()) break;
    if (moved) {
      patience.reset();
    } else {
      wait(patience, idle);
    }
  }
  finish_peers();
  while (idle()) {
  }
  patience.reset();
  while (!others_done()) {
    idle();
    node_->check_in_step();
    patience.pause();
  }
  if (staged) unstage(scratch, out);
}

} // namespace cudecomp

#endif // CUDECOMP_EXCHANGE_NODE_EXCHANGE_H
