// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <climits>

#include "exchange/exchange.h"

namespace cudecomp {

namespace {

constexpr int tag = 0;

char* at(void* base, int64_t element, int item) { return static_cast<char*>(base) + element * item; }
const char* at(const void* base, int64_t element, int item) { return static_cast<const char*>(base) + element * item; }

} // namespace

TransposeExchange::TransposeExchange(const TransposePlan& plan, const Channel& channel, bool in_place)
    : plan_(plan), channel_(channel), in_place_(in_place) {
  int64_t points = 0;
  for (const TransposePeer& peer : plan_.peers)
    points += peer.send.points();
  const bool streaming = points * channel.item >= streaming_threshold;

  for (int member = 0; member < static_cast<int>(plan_.peers.size()); ++member) {
    const TransposePeer& boxes = plan_.peers[member];
    const bool other = member != plan_.me;
    Peer peer{};
    peer.send_count = boxes.send.points();
    peer.recv_count = boxes.recv.points();
    // In place, the output may lie over parts of the input that still have to leave: all goes through the workspace.
    peer.send_direct = other && !in_place && is_dense(boxes.send, plan_.message_order);
    peer.recv_direct = other && !in_place && is_dense(boxes.recv, plan_.message_order);
    peer.send_at = peer.send_direct ? boxes.send.offset : boxes.send_slot;
    peer.recv_at = peer.recv_direct ? boxes.recv.offset : boxes.recv_slot;
    if (!peer.send_direct && (other || in_place)) {
      peer.pack = prepare_copy(boxes.send, packed_region(boxes.send.n, plan_.message_order, boxes.send_slot),
                               channel.item, streaming);
    }
    if (!peer.recv_direct && (other || in_place)) {
      // What stays is read where it was packed.
      const int64_t slot = other ? boxes.recv_slot : boxes.send_slot;
      peer.unpack =
          prepare_copy(packed_region(boxes.recv.n, plan_.message_order, slot), boxes.recv, channel.item, streaming);
    }
    peers_.push_back(peer);
  }
  const TransposePeer& mine = plan_.peers[plan_.me];
  keep_ = prepare_copy(mine.send, mine.recv, channel.item, streaming);
  still_ = in_place && mine.send.offset == mine.recv.offset && mine.send.stride == mine.recv.stride;
}

void TransposeExchange::keep_first(const void* input, void* output, void* work) const {
  if (still_)
    return;
  if (in_place_) {
    pack(plan_.me, input, work);
  } else {
    run_copy(keep_, input, output);
  }
}

void TransposeExchange::keep_last(void* output, const void* work) const {
  if (in_place_ && !still_)
    unpack(plan_.me, work, output);
}

const char* TransposeExchange::send_data(int peer, const void* input, const void* work) const {
  return at(peers_[peer].send_direct ? input : work, peers_[peer].send_at, channel_.item);
}

char* TransposeExchange::recv_data(int peer, void* output, void* work) const {
  return at(peers_[peer].recv_direct ? output : work, peers_[peer].recv_at, channel_.item);
}

TransposeP2P::TransposeP2P(const TransposePlan& plan, const Channel& channel, bool in_place)
    : TransposeExchange(plan, channel, in_place),
      messages_(channel.comm, channel.type, channel.item, channel.largest_message) {
  size_t sends = 0, receives = 0;
  for (const Peer& peer : peers_) {
    sends += messages_.pieces(peer.send_count);
    receives += messages_.pieces(peer.recv_count);
  }
  sends_.reserve(sends);
  receives_.reserve(receives);
}

void TransposeP2P::run(const void* input, void* output, void* work) {
  const int size = members(), me = plan_.me;
  for (int step = 1; step < size; ++step) {
    const int from = (me + size - step) % size;
    messages_.receive(recv_data(from, output, work), peers_[from].recv_count, from, tag, receives_);
  }
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size;
    pack(to, input, work);
    messages_.send(send_data(to, input, work), peers_[to].send_count, to, tag, sends_);
  }
  keep_first(input, output, work);
  Messages::wait(receives_);
  for (int step = 1; step < size; ++step)
    unpack((me + size - step) % size, work, output);
  keep_last(output, work);
  Messages::wait(sends_);
}

TransposePipelined::TransposePipelined(const TransposePlan& plan, const Channel& channel, bool in_place)
    : TransposeExchange(plan, channel, in_place),
      messages_(channel.comm, channel.type, channel.item, channel.largest_message), receives_(peers_.size()) {
  size_t sends = 0;
  for (int step = 1; step < members(); ++step) {
    const int from = (plan_.me + members() - step) % members();
    receives_[step].reserve(messages_.pieces(peers_[from].recv_count));
    sends += messages_.pieces(peers_[(plan_.me + step) % members()].send_count);
  }
  sends_.reserve(sends);
}

void TransposePipelined::run(const void* input, void* output, void* work) {
  const int size = members(), me = plan_.me;
  const auto arrive = [&](int step) {
    Messages::wait(receives_[step]);
    unpack((me + size - step) % size, work, output);
  };
  // In place, nothing may be unpacked before all of the input is packed; sends still overlap with packing.
  const bool unpack_early = !in_place_;
  for (int step = 1; step < size; ++step) {
    const int to = (me + step) % size, from = (me + size - step) % size;
    messages_.receive(recv_data(from, output, work), peers_[from].recv_count, from, tag, receives_[step]);
    pack(to, input, work);
    messages_.send(send_data(to, input, work), peers_[to].send_count, to, tag, sends_);
    if (unpack_early && step > 1)
      arrive(step - 1);
  }
  keep_first(input, output, work);
  for (int step = unpack_early ? std::max(1, size - 1) : 1; step < size; ++step)
    arrive(step);
  keep_last(output, work);
  Messages::wait(sends_);
}

TransposeAllToAll::TransposeAllToAll(const TransposePlan& plan, const Channel& channel, bool in_place)
    : TransposeExchange(plan, channel, in_place) {
  // The collective reads from one buffer and writes to one: either all messages lie in the array, or all are packed.
  gather_side(&Peer::send_direct, &Peer::send_at, send_from_input_, send_base_);
  gather_side(&Peer::recv_direct, &Peer::recv_at, receive_into_output_, recv_base_);
  for (int member = 0; member < members(); ++member) {
    Peer& peer = peers_[member];
    if (member == plan_.me)
      continue;
    const TransposePeer& boxes = plan_.peers[member];
    if (!send_from_input_) {
      peer.pack = prepare_copy(boxes.send, packed_region(boxes.send.n, plan_.message_order, boxes.send_slot),
                               channel.item, keep_.streaming);
    }
    if (!receive_into_output_) {
      peer.unpack = prepare_copy(packed_region(boxes.recv.n, plan_.message_order, boxes.recv_slot), boxes.recv,
                                 channel.item, keep_.streaming);
    }
  }
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
  for (int member = 0; member < members(); ++member) {
    if (member == plan_.me)
      continue;
    from_array = from_array && peers_[member].*direct;
    first = std::min(first, peers_[member].*where);
    last = std::max(last, peers_[member].*where);
  }
  from_array = from_array && last - first <= INT_MAX;
  for (int member = 0; member < members(); ++member) {
    Peer& peer = peers_[member];
    if (from_array || member == plan_.me)
      continue;
    peer.*direct = false;
    peer.*where = where == &Peer::send_at ? plan_.peers[member].send_slot : plan_.peers[member].recv_slot;
  }
  base = INT64_MAX;
  for (int member = 0; member < members(); ++member) {
    if (member != plan_.me)
      base = std::min(base, peers_[member].*where);
  }
  if (alone())
    base = 0;
}

void TransposeAllToAll::make_counts() {
  for (int member = 0; member < members(); ++member) {
    const Peer& peer = peers_[member];
    const bool other = member != plan_.me;
    send_counts_.push_back(static_cast<int>(other ? peer.send_count : 0));
    recv_counts_.push_back(static_cast<int>(other ? peer.recv_count : 0));
    send_displacements_.push_back(static_cast<int>(other ? peer.send_at - send_base_ : 0));
    recv_displacements_.push_back(static_cast<int>(other ? peer.recv_at - recv_base_ : 0));
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
    const bool other = member != plan_.me;
    send_counts_.push_back(other && peer.send_count > 0);
    recv_counts_.push_back(other && peer.recv_count > 0);
    send_types_.push_back(make(other ? peer.send_count : 0, peer.send_at - send_base_));
    recv_types_.push_back(make(other ? peer.recv_count : 0, peer.recv_at - recv_base_));
  }
}

TransposeAllToAll::~TransposeAllToAll() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended)
    return;
  for (MPI_Datatype& type : send_types_)
    MPI_Type_free(&type);
  for (MPI_Datatype& type : recv_types_)
    MPI_Type_free(&type);
}

void TransposeAllToAll::run(const void* input, void* output, void* work) {
  const int size = members(), me = plan_.me;
  for (int member = 0; member < size; ++member) {
    if (member != me)
      pack(member, input, work);
  }
  keep_first(input, output, work);
  if (size > 1) {
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
  for (int member = 0; member < size; ++member) {
    if (member != me)
      unpack(member, work, output);
  }
  keep_last(output, work);
}

} // namespace cudecomp
