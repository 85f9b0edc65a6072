// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_EXCHANGE_COMM_H
#define CUDECOMP_EXCHANGE_COMM_H

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace cudecomp {

/** Throws with the text of MPI when a call failed. `call` names it. */
void check_mpi(int code, const char* call);

/** A communicator that frees itself, unless MPI has ended by then. Empty by default. */
class Comm {
public:
  Comm() = default;
  Comm(Comm&& other) noexcept : comm_(other.comm_) { other.comm_ = MPI_COMM_NULL; }
  Comm& operator=(Comm&& other) noexcept;
  Comm(const Comm&) = delete;
  ~Comm();

  /** Collective: a duplicate whose errors come back as codes. */
  static Comm duplicate(MPI_Comm comm);
  /** Collective over this communicator: one communicator per color, ordered by key. */
  Comm split(int color, int key) const;
  /** Collective over this communicator: one communicator per node, ordered by key. */
  Comm split_node(int key) const;

  MPI_Comm get() const { return comm_; }
  int rank() const;
  int size() const;

private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/** Opaque elements of 4, 8 and 16 bytes, so that counts are elements whatever they hold. */
class ItemTypes {
public:
  ItemTypes();
  ~ItemTypes();
  ItemTypes(const ItemTypes&) = delete;
  ItemTypes& operator=(const ItemTypes&) = delete;

  MPI_Datatype of(int item) const { return types_[item == 4 ? 0 : item == 8 ? 1 : 2]; }

private:
  MPI_Datatype types_[3];
};

/** Point-to-point messages of any length, cut into pieces that an MPI count can hold. */
class Messages {
public:
  /** @param comm where they travel @param largest elements of one piece at most */
  Messages(MPI_Comm comm, MPI_Datatype type, int item, int64_t largest)
      : comm_(comm), type_(type), item_(item), largest_(largest) {}

  /** Pieces that a message of `count` elements takes. */
  int pieces(int64_t count) const { return static_cast<int>((count + largest_ - 1) / largest_); }

  void send(const void* data, int64_t count, int to, int tag, std::vector<MPI_Request>& requests) const;
  void receive(void* data, int64_t count, int from, int tag, std::vector<MPI_Request>& requests) const;
  static void wait(std::vector<MPI_Request>& requests);
  /** Lets MPI work on what is under way: these requests, and all else that waits for this rank. */
  void progress(std::vector<MPI_Request>& requests) const;

private:
  MPI_Comm comm_;
  MPI_Datatype type_;
  int item_;
  int64_t largest_;
};

} // namespace cudecomp

#endif // CUDECOMP_EXCHANGE_COMM_H
