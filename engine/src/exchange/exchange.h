// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_EXCHANGE_EXCHANGE_H
#define CUDECOMP_EXCHANGE_EXCHANGE_H

#include <mpi.h>

#include <vector>

#include "copy/copy.h"
#include "exchange/comm.h"
#include "plan/plan.h"

namespace cudecomp {

/** What an operation runs over: the group's communicator (null when alone), element type and message limit. */
struct Channel {
  MPI_Comm comm;
  MPI_Datatype type;
  int item;
  int64_t largest_message; ///< elements of one MPI message at most
};

/** A transpose that is ready to run: copies prepared, requests and counts allocated. */
class TransposeExchange {
public:
  TransposeExchange(const TransposePlan& plan, const Channel& channel, bool in_place);
  virtual ~TransposeExchange() = default;
  TransposeExchange(const TransposeExchange&) = delete;
  TransposeExchange& operator=(const TransposeExchange&) = delete;

  /** Elements of workspace that run() touches. */
  int64_t work_size() const { return plan_.work_size; }
  virtual void run(const void* input, void* output, void* work) = 0;

protected:
  struct Peer {
    int64_t send_count, recv_count;
    bool send_direct, recv_direct; ///< the message lies densely in the array itself
    int64_t send_at, recv_at;      ///< element where the message begins, in the array or the workspace
    BoxCopy pack, unpack;
  };

  int members() const { return static_cast<int>(peers_.size()); }
  bool alone() const { return peers_.size() == 1; }
  /** Moves the part that stays on this rank; in place it goes through the workspace in two steps. */
  void keep_first(const void* input, void* output, void* work) const;
  void keep_last(void* output, const void* work) const;
  void pack(int peer, const void* input, void* work) const { run_copy(peers_[peer].pack, input, work); }
  void unpack(int peer, const void* work, void* output) const { run_copy(peers_[peer].unpack, work, output); }
  const char* send_data(int peer, const void* input, const void* work) const;
  char* recv_data(int peer, void* output, void* work) const;

  TransposePlan plan_;
  Channel channel_;
  bool in_place_, still_; ///< still_: in place, and every point already is where it belongs
  std::vector<Peer> peers_;
  BoxCopy keep_;
};

/** Everything packed and posted at once, then awaited, then unpacked. */
class TransposeP2P : public TransposeExchange {
public:
  TransposeP2P(const TransposePlan& plan, const Channel& channel, bool in_place);
  void run(const void* input, void* output, void* work) override;

private:
  Messages messages_;
  std::vector<MPI_Request> sends_, receives_;
};

/** Peer by peer: while one message travels, the next is packed and the previous is unpacked. */
class TransposePipelined : public TransposeExchange {
public:
  TransposePipelined(const TransposePlan& plan, const Channel& channel, bool in_place);
  void run(const void* input, void* output, void* work) override;

private:
  Messages messages_;
  std::vector<std::vector<MPI_Request>> receives_; ///< by step
  std::vector<MPI_Request> sends_;
};

/** One collective exchange of the whole group. */
class TransposeAllToAll : public TransposeExchange {
public:
  TransposeAllToAll(const TransposePlan& plan, const Channel& channel, bool in_place);
  ~TransposeAllToAll() override;
  void run(const void* input, void* output, void* work) override;

private:
  void gather_side(bool Peer::* direct, int64_t Peer::* where, bool& from_array, int64_t& base);
  void make_counts();
  void make_types();

  bool send_from_input_, receive_into_output_;
  int64_t send_base_, recv_base_; ///< element that displacements count from
  bool typed_;                    ///< a count or displacement may need more than an int: one derived type per peer
  std::vector<int> send_counts_, send_displacements_, recv_counts_, recv_displacements_;
  std::vector<MPI_Datatype> send_types_, recv_types_;
};

/** A halo update that is ready to run. */
class HaloExchange {
public:
  HaloExchange(const HaloPlan& plan, const Channel& channel, bool blocking);

  int64_t work_size() const { return plan_.work_size; }
  void run(void* data, void* work);

private:
  struct Direction {
    int64_t count;
    bool send_direct, recv_direct;
    int64_t send_at, recv_at;
    BoxCopy pack, unpack;
  };

  void run_local(void* data);
  void post_receive(int side, void* data, void* work);
  void post_send(int side, void* data, void* work);
  void finish(int first_side, int last_side, void* data, const void* work);

  HaloPlan plan_;
  Channel channel_;
  bool blocking_;
  Direction directions_[2];
  BoxCopy local_[2];
  Messages messages_;
  std::vector<MPI_Request> requests_;
};

} // namespace cudecomp

#endif // CUDECOMP_EXCHANGE_EXCHANGE_H
