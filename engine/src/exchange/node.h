// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_EXCHANGE_NODE_H
#define CUDECOMP_EXCHANGE_NODE_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "exchange/comm.h"

namespace cudecomp {

/** Anonymous memory behind a file descriptor, that other processes of the node can map. Frees itself. */
class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory();

  /** Empty where the system does not give it. */
  static SharedMemory create(size_t bytes);
  /** Private pages. Empty where the system does not give them. */
  static SharedMemory create_private(size_t bytes);
  /** Maps what another process created; empty where that is not permitted. */
  static SharedMemory open(int64_t pid, int fd, size_t bytes);

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  int fd() const { return fd_; }
  /** Gives the pages back at once, also those that others have mapped; nobody may touch them any more. */
  void discard();

private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;
};

/** A place inside the shared blocks of a rank; block is -1 for private memory. */
struct SharedPlace {
  int64_t block = -1;
  int64_t offset = 0;
};

/** What one rank tells a peer at the start of an operation: where its arrays are. */
struct alignas(64) Post {
  SharedPlace input, output;
  bool staged = false;    ///< what arrives may not be written to the output yet
  uint64_t signature = 0; ///< of the operation: equal where ranks call the same
};

/** One direction between two ranks of a node: posts, and a ring of slots that the receiver empties while it is filled.
 */
struct alignas(64) Pair {
  static constexpr int posts = 4, slots = 4;

  alignas(64) std::atomic<uint64_t> posted;  ///< operations announced by the sender
  alignas(64) std::atomic<uint64_t> done;    ///< operations that the sender has finished with this peer
  alignas(64) std::atomic<uint64_t> filled;  ///< slots filled by the sender
  alignas(64) std::atomic<uint64_t> emptied; ///< slots emptied by the receiver
  Post post[posts];
  int64_t slot_bytes[slots];    ///< what a filled slot holds
  double slot_seconds[slots];   ///< what the receiver took to empty it
  bool slot_past_caches[slots]; ///< how the sender has filled it
};

/**
 * The ranks of one node: memory they all map, with a pair of rings for every two of them, and the blocks that each has
 * handed out. Made once per handle; blocks may outlive the handle.
 */
class Node : public std::enable_shared_from_this<Node> {
public:
  /** Collective over `comm`. Null where no other rank is on this node, or memory cannot be shared with them. */
  static std::shared_ptr<Node> create(const Comm& comm, int ranks_per_node);
  ~Node();

  int size() const { return size_; }
  int me() const { return me_; }
  /** Index on this node of a rank of the handle, -1 for ranks elsewhere. */
  int index_of(int rank) const { return index_of_rank_[rank]; }
  int rank_of(int index) const;
  size_t slot_bytes() const { return slot_bytes_; }

  Pair& pair(int from, int to) const;
  char* slot(int from, int to, uint64_t count) const;

  /** Memory handed out to a user. */
  struct Block {
    std::shared_ptr<Node> node; ///< null for memory that is not shared
    int64_t index = 0;
    SharedMemory memory;
  };
  /** Never null; throws std::bad_alloc. Without a node, or with all its places taken, the memory is private. */
  static Block* allocate(const std::shared_ptr<Node>& node, size_t bytes);
  static void release(Block* block);

  /** The place of a local array, with block -1 if any of it is private. */
  SharedPlace find(const void* data, size_t bytes);
  /** Address, in this process, of a place that `owner` has posted. */
  char* map(int owner, const SharedPlace& place);
  /** Unmaps blocks that their owners have released. */
  void forget_released();

  /**
   * An operation that ends in the middle, by an error on one rank, leaves posts and slots that the next would take for
   * its own, and peers that wait. So it is told to the whole node, and every rank throws from then on.
   */
  void fail();
  void check_in_step() const;

  /** Operations announced to and finished with each peer, in this process. */
  uint64_t& operations(int peer) { return operations_[peer]; }

private:
  static constexpr int max_blocks = 1024;

  /** A rank's public list of blocks. */
  struct Entry {
    std::atomic<uint64_t> id; ///< 0 while free; never reused
    int64_t fd, bytes;
  };
  struct Publication {
    int64_t pid;
    std::atomic<int> failed; ///< of the first rank of the node: 1 more than the rank that failed first
    alignas(64) std::atomic<uint64_t> releases; ///< counts up with every block released
    Entry entries[max_blocks];
  };
  struct Mapping {
    uint64_t id;
    SharedMemory memory;
  };

  Node() = default;
  Publication& publication(int rank) const;
  bool publish(Block& block, size_t bytes);
  static size_t pair_stride();

  SharedMemory control_;
  int size_ = 1, me_ = 0;
  size_t slot_bytes_ = 0, pairs_at_ = 0, slots_at_ = 0;
  std::vector<int> index_of_rank_;
  std::vector<uint64_t> operations_, releases_seen_;
  std::map<std::pair<int, int64_t>, Mapping> mappings_; ///< by owner and block
  std::mutex blocks_lock_;                              ///< blocks die with the arrays over them, on any thread
  std::map<const char*, Block*> blocks_;                ///< by address
  uint64_t next_id_ = 1;
};

} // namespace cudecomp

#endif // CUDECOMP_EXCHANGE_NODE_H
