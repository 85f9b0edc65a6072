// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <climits>

#include "copy/cache.h"
#include "exchange/exchange.h"

namespace cudecomp {

namespace {

constexpr int tag = 0;

char* at(void* base, int64_t element, int item) { return static_cast<char*>(base) + element * item; }
const char* at(const void* base, int64_t element, int item) { return static_cast<const char*>(base) + element * item; }

} // namespace

TransposeExchange::TransposeExchange(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place)
    : plan_(near_plans[me]), channel_(channel),
      messages_(channel.comm, channel.type, channel.item, channel.largest_message), in_place_(in_place) {
  int64_t points = 0;
  for (const TransposePeer& peer : plan_.peers) points += peer.send.points();
  const int64_t share = cache_share(channel.node ? channel.node->size() : 1);
  streaming_ = points * channel.item >= streaming_threshold(share, plan_.turns);

  for (int member = 0; member < static_cast<int>(plan_.peers.size()); ++member) {
    const TransposePeer& boxes = plan_.peers[member];
    Peer peer{};
    peer.far = member != me && !channel.near(member);
    peer.send_count = boxes.send.points();
    peer.recv_count = boxes.recv.points();
    // In place, the output may lie over parts of the input that still have to leave: all goes through the workspace.
    peer.send_direct = peer.far && !in_place && is_dense(boxes.send, plan_.message_order);
    peer.recv_direct = peer.far && !in_place && is_dense(boxes.recv, plan_.message_order);
    peer.send_at = peer.send_direct ? boxes.send.offset : boxes.send_slot;
    peer.recv_at = peer.recv_direct ? boxes.recv.offset : boxes.recv_slot;
    peers_.push_back(peer);
  }
  // Every rank starts with another peer, so that no one is addressed by all at once.
  const int size = members();
  for (int step = 1; step < size; ++step) {
    if (peers_[(me + step) % size].far) far_to_.push_back((me + step) % size);
    if (peers_[(me + size - step) % size].far) far_from_.push_back((me + size - step) % size);
  }
  prepare_far();
  prepare_near(near_plans);
}

void TransposeExchange::prepare_far() {
  for (int member : far_to_) {
    const TransposePeer& boxes = plan_.peers[member];
    Peer& peer = peers_[member];
    if (!peer.send_direct) {
      peer.pack = prepare_pack(boxes.send, plan_.message_order, boxes.send_slot, channel_.item, streaming_);
    }
    if (!peer.recv_direct) {
      peer.unpack = prepare_unpack(boxes.recv, plan_.message_order, boxes.recv_slot, channel_.item, streaming_);
    }
  }
}

void TransposeExchange::prepare_near(const TransposePlans& near_plans) {
  const int size = members(), me = plan_.me, item = channel_.item;
  const TransposePeer& mine = plan_.peers[me];
  keep_out_ = prepare_pack(mine.send, plan_.piece_order, mine.send_slot, item, streaming_);
  keep_in_ = prepare_unpack(mine.recv, plan_.piece_order, mine.send_slot, item, streaming_);
  still_ = in_place_ && mine.send.offset == mine.recv.offset && mine.send.stride == mine.recv.stride;

  std::vector<NodeMessage> sends, receives;
  std::vector<int64_t> stage;
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size, from = (me + size - step) % size;
    if (channel_.near(to)) {
      sends.push_back({channel_.node_index[to], plan_.peers[to].send, near_plans[to].peers[me].recv});
    }
    if (channel_.near(from)) {
      receives.push_back({channel_.node_index[from], plan_.peers[from].recv, near_plans[from].peers[me].send});
      stage.push_back(plan_.peers[from].recv_slot);
    }
  }
  // Where others wait for this rank, what stays goes in pieces between what they need; else at once, which is faster.
  constexpr int64_t kept_bytes = 256 << 10;
  const int64_t piece_bytes = sends.empty() ? INT64_MAX : kept_bytes * (channel_.team ? channel_.team->size() : 1);
  keep_ = PiecewiseCopy(mine.send, mine.recv, plan_.piece_order, item, piece_bytes, streaming_);
  if (sends.empty()) return;
  near_ = std::make_unique<NodeExchange>(channel_.node, channel_.signature, sends, receives, plan_.piece_order, item,
                                         streaming_, channel_.team);
  near_->stage_at(std::move(stage));
  sweeps_ = plan_.parts_of_rows && near_->sweep(plan_.widest_part, mine.send, mine.recv, channel_.local_seconds);
}

Traffic TransposeExchange::traffic() const {
  Traffic traffic{0, 0, members() == 1};
  for (int member = 0; member < members(); ++member) {
    const int64_t bytes = plan_.peers[member].recv.points() * channel_.item;
    traffic.bytes += bytes;
    if (member != plan_.me) traffic.from_others += bytes;
  }
  return traffic;
}

const char* TransposeExchange::send_data(int peer, const void* input, const void* work) const {
  return at(peers_[peer].send_direct ? input : work, peers_[peer].send_at, channel_.item);
}

char* TransposeExchange::recv_data(int peer, void* output, void* work) const {
  return at(peers_[peer].recv_direct ? output : work, peers_[peer].recv_at, channel_.item);
}

TransposeP2P::TransposeP2P(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place)
    : TransposeExchange(near_plans, me, channel, in_place) {
  size_t sends = 0, receives = 0;
  for (int to : far_to_) sends += messages_.pieces(peers_[to].send_count);
  for (int from : far_from_) receives += messages_.pieces(peers_[from].recv_count);
  sends_.reserve(sends);
  receives_.reserve(receives);
}

void TransposeP2P::run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) {
  for (int from : far_from_) {
    messages_.receive(recv_data(from, output, work), peers_[from].recv_count, from, tag, receives_);
  }
  for (int to : far_to_) {
    pack(to, input, work);
    messages_.send(send_data(to, input, work), peers_[to].send_count, to, tag, sends_);
  }
  run_near(input, input_bytes, output, output_bytes, work, [&] { messages_.progress(receives_); });
  Messages::wait(receives_);
  for (int from : far_from_) unpack(from, work, output);
  Messages::wait(sends_);
}

TransposePipelined::TransposePipelined(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place)
    : TransposeExchange(near_plans, me, channel, in_place), receives_(far_from_.size()) {
  size_t sends = 0;
  for (int to : far_to_) sends += messages_.pieces(peers_[to].send_count);
  sends_.reserve(sends);
  for (size_t step = 0; step < far_from_.size(); ++step) {
    receives_[step].reserve(messages_.pieces(peers_[far_from_[step]].recv_count));
  }
}

void TransposePipelined::run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) {
  const size_t steps = far_to_.size();
  size_t arrived = 0;
  const auto arrive = [&] {
    Messages::wait(receives_[arrived]);
    unpack(far_from_[arrived++], work, output);
  };
  for (size_t step = 0; step < steps; ++step) {
    const int to = far_to_[step], from = far_from_[step];
    messages_.receive(recv_data(from, output, work), peers_[from].recv_count, from, tag, receives_[step]);
    pack(to, input, work);
    messages_.send(send_data(to, input, work), peers_[to].send_count, to, tag, sends_);
    // In place, nothing may be unpacked before all of the input is packed; messages still overlap with packing.
    if (!in_place_ && step > 0) arrive();
  }
  run_near(input, input_bytes, output, output_bytes, work,
           [&] { messages_.progress(arrived < steps ? receives_[arrived] : sends_); });
  while (arrived < steps) arrive();
  Messages::wait(sends_);
}

TransposeAllToAll::TransposeAllToAll(const TransposePlans& near_plans, int me, const Channel& channel, bool in_place)
    : TransposeExchange(near_plans, me, channel, in_place) {
  // The collective reads from one buffer and writes to one: either all messages lie in the array, or all are packed.
  gather_side(&Peer::send_direct, &Peer::send_at, send_from_input_, send_base_);
  gather_side(&Peer::recv_direct, &Peer::recv_at, receive_into_output_, recv_base_);
  prepare_far();
  // The choice between the two collectives rests on what all ranks of the group know alike.
  typed_ =
      plan_.largest_message > channel.largest_message || 2 * members() * slot_round(plan_.largest_message) > INT_MAX;
  if (typed_) {
    make_types();
  } else {
    make_counts();
  }
}

void TransposeAllToAll::gather_side(bool Peer::* direct, int64_t Peer::* where, bool& from_array, int64_t& base) {
  int64_t first = INT64_MAX, last = 0;
  from_array = true;
  for (int member : far_to_) {
    from_array = from_array && peers_[member].*direct;
    first = std::min(first, peers_[member].*where);
    last = std::max(last, peers_[member].*where);
  }
  from_array = from_array && (all_near() || last - first <= INT_MAX);
  base = all_near() ? 0 : INT64_MAX;
  for (int member : far_to_) {
    Peer& peer = peers_[member];
    if (!from_array) {
      peer.*direct = false;
      peer.*where = where == &Peer::send_at ? plan_.peers[member].send_slot : plan_.peers[member].recv_slot;
    }
    base = std::min(base, peer.*where);
  }
}

void TransposeAllToAll::make_counts() {
  for (int member = 0; member < members(); ++member) {
    const Peer& peer = peers_[member];
    send_counts_.push_back(static_cast<int>(peer.far ? peer.send_count : 0));
    recv_counts_.push_back(static_cast<int>(peer.far ? peer.recv_count : 0));
    send_displacements_.push_back(static_cast<int>(peer.far ? peer.send_at - send_base_ : 0));
    recv_displacements_.push_back(static_cast<int>(peer.far ? peer.recv_at - recv_base_ : 0));
  }
}

void TransposeAllToAll::make_types() {
  const auto make = [&](int64_t count, int64_t begin) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    for (int64_t done = 0; done < count; done += channel_.largest_message) {
      lengths.push_back(static_cast<int>(std::min(channel_.largest_message, count - done)));
      places.push_back(static_cast<MPI_Aint>((begin + done) * channel_.item));
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check_mpi(
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), channel_.type, &type),
        "MPI_Type_create_hindexed");
    check_mpi(MPI_Type_commit(&type), "MPI_Type_commit");
    return type;
  };
  send_displacements_.assign(members(), 0);
  recv_displacements_.assign(members(), 0);
  for (int member = 0; member < members(); ++member) {
    const Peer& peer = peers_[member];
    send_counts_.push_back(peer.far && peer.send_count > 0);
    recv_counts_.push_back(peer.far && peer.recv_count > 0);
    send_types_.push_back(make(peer.far ? peer.send_count : 0, peer.send_at - send_base_));
    recv_types_.push_back(make(peer.far ? peer.recv_count : 0, peer.recv_at - recv_base_));
  }
}

TransposeAllToAll::~TransposeAllToAll() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) return;
  for (MPI_Datatype& type : send_types_) MPI_Type_free(&type);
  for (MPI_Datatype& type : recv_types_) MPI_Type_free(&type);
}

void TransposeAllToAll::run(const void* input, size_t input_bytes, void* output, size_t output_bytes, void* work) {
  for (int to : far_to_) pack(to, input, work);
  if (!all_near()) {
    const char* send = at(send_from_input_ ? input : work, send_base_, channel_.item);
    char* receive = at(receive_into_output_ ? output : work, recv_base_, channel_.item);
    if (typed_) {
      check_mpi(MPI_Alltoallw(send, send_counts_.data(), send_displacements_.data(), send_types_.data(), receive,
                              recv_counts_.data(), recv_displacements_.data(), recv_types_.data(), channel_.comm),
                "MPI_Alltoallw");
    } else {
      check_mpi(MPI_Alltoallv(send, send_counts_.data(), send_displacements_.data(), channel_.type, receive,
                              recv_counts_.data(), recv_displacements_.data(), channel_.type, channel_.comm),
                "MPI_Alltoallv");
    }
  }
  run_near(input, input_bytes, output, output_bytes, work, [&] { messages_.progress(none_); });
  for (int from : far_from_) unpack(from, work, output);
}

} // namespace cudecomp
