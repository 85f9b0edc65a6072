// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_EXCHANGE_EXCHANGE_H
#define CUDECOMP_EXCHANGE_EXCHANGE_H

#include <mpi.h>

#include <memory>
#include <vector>

#include "common/stopwatch.h"
#include "copy/copy.h"
#include "exchange/comm.h"
#include "exchange/node_exchange.h"
#include "plan/plan.h"

namespace cudecomp {

/** What an operation runs over: the group's communicator (null when alone), element type and message limit. */
struct Channel {
  MPI_Comm comm;
  MPI_Datatype type;
  int item;
  int64_t largest_message;     ///< elements of one MPI message at most
  std::shared_ptr<Node> node;  ///< null where no memory is shared
  uint64_t signature;          ///< of the operation, alike on all ranks that call the same
  std::vector<int> node_index; ///< per place in the group: index on the node, -1 for elsewhere and for this rank
  double* local_seconds;       ///< where the time of copies within this rank adds up; null where nobody asks
  Team* team;                  ///< shares the copies of this rank, if it has more than one thread

  bool near(int member) const { return node && node_index[member] >= 0; }
};

/** What one operation brings to this rank. */
struct Traffic {
  int64_t bytes;       ///< in all
  int64_t from_others; ///< of them from other ranks
  bool alone;          ///< no other rank takes part
};

/** A transpose as every rank of the group sees it: those of this node are needed to reach into their arrays. */
using TransposePlans = std::vector<TransposePlan>;

/** A transpose that is ready to run: copies prepared, requests and counts allocated. */
class TransposeExchange {
public:
  /** @param near_plans by place in the group; filled for this rank and for those on its node */
  TransposeExchange(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place);
  virtual ~TransposeExchange() = default;
  TransposeExchange(const TransposeExchange&) = delete;
  TransposeExchange& operator=(const TransposeExchange&) = delete;

  /** Elements of workspace that run() touches. */
  int64_t work_size() const { return plan_.work_size; }
  Traffic traffic() const;
  virtual void run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) = 0;

protected:
  struct Peer {
    bool far; ///< reached through MPI
    int64_t send_count, recv_count;
    bool send_direct, recv_direct; ///< the message lies densely in the array itself
    int64_t send_at, recv_at;      ///< element where the message begins, in the array or the workspace
    BoxCopy pack, unpack;
  };

  int members() const { return static_cast<int>(peers_.size()); }
  /** Prepares the packing of far messages that do not lie densely in the array. */
  void prepare_far();
  bool all_near() const { return far_to_.empty(); }
  void pack(int peer, const void* input, void* work) const { run_local(peers_[peer].pack, input, work); }
  void unpack(int peer, const void* work, void* output) const { run_local(peers_[peer].unpack, work, output); }
  void run_local(const BoxCopy& copy, const void* source, void* target) const {
    const Stopwatch timed(channel_.local_seconds);
    run_copy(copy, source, target, channel_.team);
  }
  const char* send_data(int peer, const void* input, const void* work) const;
  char* recv_data(int peer, void* output, void* work) const;
  /**
   * What moves within the node, this rank's own part included. In place, all far messages must be packed before;
   * `progress` is called while nothing can move.
   */
  template <typename Progress>
  void run_near(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work,
                Progress progress);

  TransposePlan plan_;
  Channel channel_;
  Messages messages_;
  bool in_place_, streaming_;
  std::vector<Peer> peers_;
  std::vector<int> far_to_, far_from_; ///< far members in the order of sending and of receiving

private:
  void prepare_near(const TransposePlans& near_plans);

  bool sweeps_ = false;                ///< what stays is copied together with what leaves
  bool still_;                         ///< in place, and every point that stays already is where it belongs
  PiecewiseCopy keep_;                 ///< what stays on this rank
  BoxCopy keep_out_, keep_in_;         ///< the same through the workspace, for in place
  std::unique_ptr<NodeExchange> near_; ///< null without ranks on this node
};

template <typename Progress>
void TransposeExchange::run_near(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work,
                                 Progress progress) {
  if (in_place_ && !still_) run_local(keep_out_, input, work);
  int64_t kept = in_place_ || sweeps_ ? keep_.pieces() : 0;
  const auto idle = [&] {
    if (kept < keep_.pieces()) {
      const Stopwatch timed(channel_.local_seconds);
      keep_.run(kept++, input, output, channel_.team);
      return true;
    }
    if (near_) progress();
    return false;
  };
  if (near_) {
    near_->run(input, input_bytes, output, output_bytes, work, in_place_, idle);
  } else {
    while (idle()) {
    }
  }
  if (in_place_ && !still_) run_local(keep_in_, work, output);
}

/** Everything packed and posted at once, then awaited, then unpacked. */
class TransposeP2P : public TransposeExchange {
public:
  TransposeP2P(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place);
  void run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) override;

private:
  std::vector<MPI_Request> sends_, receives_;
};

/** Peer by peer: while one message travels, the next is packed and the previous is unpacked. */
class TransposePipelined : public TransposeExchange {
public:
  TransposePipelined(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place);
  void run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) override;

private:
  std::vector<std::vector<MPI_Request>> receives_; ///< one by one in the order of receiving
  std::vector<MPI_Request> sends_;
};

/** One collective exchange of the whole group. */
class TransposeAllToAll : public TransposeExchange {
public:
  TransposeAllToAll(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place);
  ~TransposeAllToAll() override;
  void run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) override;

private:
  void gather_side(bool Peer::* direct, int64_t Peer::* where, bool& from_array, int64_t& base);
  void make_counts();
  void make_types();

  bool send_from_input_, receive_into_output_;
  int64_t send_base_, recv_base_; ///< element that displacements count from
  bool typed_;                    ///< a count or displacement may need more than an int: one derived type per peer
  std::vector<int> send_counts_, send_displacements_, recv_counts_, recv_displacements_;
  std::vector<MPI_Datatype> send_types_, recv_types_;
  std::vector<MPI_Request> none_; ///< the collective has ended before ranks of the node exchange
};

/** A halo update that is ready to run. */
class HaloExchange {
public:
  /** @param neighbours the plans of the ranks on the low and the high side, where they are on this node */
  HaloExchange(const HaloPlan& plan, const HaloPlan (&neighbours)[2], const Channel& channel, bool blocking);

  int64_t work_size() const { return plan_.work_size; }
  Traffic traffic() const;
  void run(void* data, size_t bytes, void* work);

private:
  struct Direction {
    int64_t count;
    bool far_to, far_from; ///< reached through MPI
    bool send_direct, recv_direct;
    int64_t send_at, recv_at;
    BoxCopy pack, unpack;
  };

  void run_local(void* data);
  void run_near(void* data, size_t bytes);
  void post_receive(int side, void* data, void* work);
  void post_send(int side, void* data, void* work);
  void finish(int first_side, int last_side, void* data, const void* work);

  HaloPlan plan_;
  Channel channel_;
  bool blocking_;
  Direction directions_[2];
  BoxCopy local_[2];
  std::unique_ptr<NodeExchange> near_; ///< null without neighbours on this node
  Messages messages_;
  std::vector<MPI_Request> requests_;
};

} // namespace cudecomp

#endif // CUDECOMP_EXCHANGE_EXCHANGE_H
