// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "exchange/node.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "common/error.h"

namespace cudecomp {

namespace {

constexpr size_t page = 4096;
constexpr size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/** Ranks on many-core nodes share the cache: the more rings, the smaller their slots. */
size_t slot_size(int ranks) { return ranks <= 16 ? 128 << 10 : 64 << 10; }

constexpr size_t huge_page = size_t{2} << 20;
#ifndef MADV_COLLAPSE
constexpr int MADV_COLLAPSE = 25; // Linux 6.1
#endif

/** Room for some bytes, at a multiple of the size of huge pages; nothing can be done there yet. */
char* reserve(size_t bytes) {
  const size_t whole = round_up(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  void* room = mmap(nullptr, whole + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(room);
  char* place = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(begin), huge_page));
  if (place > begin) munmap(begin, static_cast<size_t>(place - begin));
  if (place < begin + huge_page) munmap(place + whole, static_cast<size_t>(begin + huge_page - place));
  return place;
}

/** Maps a file; one that holds huge pages, where they can be mapped whole. */
char* map_pages(int fd, size_t bytes) {
  char* place = bytes >= huge_page ? reserve(bytes) : nullptr;
  void* data = mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
  if (data == MAP_FAILED) {
    if (place) munmap(place, bytes);
    return nullptr;
  }
  madvise(data, bytes, MADV_HUGEPAGE); // a wish: where the system refuses, small pages do
  return static_cast<char*>(data);
}

/**
 * Puts huge pages under new memory, also where the system gives shared memory none by itself. A huge page that is made
 * from a single small one is cleared at once, which takes a tenth of the time that small pages take one by one.
 */
void make_huge(char* data, size_t bytes) {
  for (size_t at = 0; at + huge_page <= bytes; at += huge_page) {
    *static_cast<volatile char*>(data + at) = 0;
    if (madvise(data + at, huge_page, MADV_COLLAPSE) != 0) return; // none left, or an older Linux
  }
}

} // namespace

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(fd_, other.fd_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

SharedMemory SharedMemory::create(size_t bytes) {
  SharedMemory memory;
  memory.fd_ = memfd_create("cudecomp", MFD_CLOEXEC);
  if (memory.fd_ < 0) return memory;
  if (ftruncate(memory.fd_, static_cast<off_t>(bytes)) != 0) return {};
  memory.data_ = map_pages(memory.fd_, bytes);
  if (!memory.data_) return {};
  memory.bytes_ = bytes;
  return memory;
}

SharedMemory SharedMemory::create_private(size_t bytes) {
  SharedMemory memory;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return memory;
  madvise(data, bytes, MADV_HUGEPAGE);
  memory.data_ = static_cast<char*>(data);
  memory.bytes_ = bytes;
  return memory;
}

SharedMemory SharedMemory::open(int64_t pid, int fd, size_t bytes) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%lld/fd/%d", static_cast<long long>(pid), fd);
  const int theirs = ::open(path, O_RDWR | O_CLOEXEC);
  if (theirs < 0) return {};
  SharedMemory memory;
  memory.data_ = map_pages(theirs, bytes);
  close(theirs);
  if (!memory.data_) return {};
  memory.bytes_ = bytes;
  return memory;
}

void SharedMemory::discard() {
  // Errors leave the pages to the last process that unmaps them.
  if (fd_ >= 0 && ftruncate(fd_, 0) != 0) return;
}

size_t Node::pair_stride() { return round_up(sizeof(Pair), 64); }

Pair& Node::pair(int from, int to) const {
  return *reinterpret_cast<Pair*>(control_.data() + pairs_at_ +
                                  (static_cast<size_t>(from) * size_ + to) * pair_stride());
}

char* Node::slot(int from, int to, uint64_t count) const {
  const size_t ring = static_cast<size_t>(from) * size_ + to;
  return control_.data() + slots_at_ + (ring * Pair::slots + count % Pair::slots) * slot_bytes_;
}

Node::Publication& Node::publication(int rank) const {
  return *reinterpret_cast<Publication*>(control_.data() +
                                         static_cast<size_t>(rank) * round_up(sizeof(Publication), page));
}

std::shared_ptr<Node> Node::create(const Comm& comm, int ranks_per_node) {
  const int rank = comm.rank(), ranks = comm.size();
  Comm local;
  if (ranks_per_node > 0) {
    local = comm.split(rank / ranks_per_node, rank);
  } else {
    local = comm.split_node(rank);
  }
  std::shared_ptr<Node> node(new Node);
  node->size_ = local.size();
  node->me_ = local.rank();
  const size_t size = node->size_;
  node->slot_bytes_ = slot_size(node->size_);
  node->pairs_at_ = size * round_up(sizeof(Publication), page);
  node->slots_at_ = round_up(node->pairs_at_ + size * size * pair_stride(), page);
  const size_t bytes = node->slots_at_ + size * size * Pair::slots * node->slot_bytes_;

  // The first rank of the node creates the memory, the others map it; a nonce shows that it is the same.
  struct {
    int64_t pid, fd, nonce;
  } from{};
  if (node->me_ == 0) {
    if (size > 1) node->control_ = SharedMemory::create(bytes);
    from = {getpid(), node->control_.fd(), static_cast<int64_t>(reinterpret_cast<uintptr_t>(node.get())) ^ getpid()};
    if (node->control_.data()) node->publication(0).pid = from.nonce;
  }
  check_mpi(MPI_Bcast(&from, sizeof from, MPI_BYTE, 0, local.get()), "MPI_Bcast");
  if (node->me_ != 0 && from.fd >= 0) node->control_ = SharedMemory::open(from.pid, static_cast<int>(from.fd), bytes);
  const char* data = node->control_.data();
  int works = data != nullptr && node->publication(0).pid == from.nonce, everywhere = 0;
  check_mpi(MPI_Allreduce(&works, &everywhere, 1, MPI_INT, MPI_LAND, local.get()), "MPI_Allreduce");
  if (works) node->publication(node->me_).pid = getpid();
  check_mpi(MPI_Barrier(local.get()), "MPI_Barrier");

  // All ranks of the handle learn who is where, whether or not this node shares memory.
  std::vector<int> leaders(ranks);
  int leader = rank;
  check_mpi(MPI_Bcast(&leader, 1, MPI_INT, 0, local.get()), "MPI_Bcast");
  check_mpi(MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, comm.get()), "MPI_Allgather");
  if (!everywhere) return nullptr;
  node->index_of_rank_.assign(ranks, -1);
  int index = 0;
  for (int other = 0; other < ranks; ++other) {
    if (leaders[other] == leader) node->index_of_rank_[other] = index++;
  }
  node->operations_.assign(size, 0);
  node->releases_seen_.assign(size, 0);
  return node;
}

Node::~Node() = default;

int Node::rank_of(int index) const {
  return static_cast<int>(std::find(index_of_rank_.begin(), index_of_rank_.end(), index) - index_of_rank_.begin());
}

void Node::fail() {
  int none = 0;
  publication(0).failed.compare_exchange_strong(none, 1 + rank_of(me_));
}

void Node::check_in_step() const {
  const int failed = publication(0).failed.load(std::memory_order_relaxed);
  if (failed) {
    invalid_usage("the ranks of this node are out of step, since an operation has failed on rank %d while data moved: "
                  "finalize the handle on all ranks, and make a new one",
                  failed - 1);
  }
}

Node::Block* Node::allocate(const std::shared_ptr<Node>& node, size_t bytes) {
  auto block = std::make_unique<Block>();
  const size_t whole = round_up(std::max(bytes, page), page);
  if (!node || !node->publish(*block, whole)) block->memory = SharedMemory::create_private(whole);
  if (!block->memory.data()) throw std::bad_alloc();
  return block.release();
}

bool Node::publish(Block& block, size_t bytes) {
  block.memory = SharedMemory::create(bytes);
  if (!block.memory.data()) return false;
  make_huge(block.memory.data(), bytes);
  std::lock_guard<std::mutex> lock(blocks_lock_);
  Publication& mine = publication(me_);
  int64_t index = 0;
  while (index < max_blocks && mine.entries[index].id.load(std::memory_order_relaxed) != 0) ++index;
  if (index == max_blocks) return false;
  block.node = shared_from_this();
  block.index = index;
  Entry& entry = mine.entries[index];
  entry.fd = block.memory.fd();
  entry.bytes = static_cast<int64_t>(bytes);
  entry.id.store(next_id_++, std::memory_order_release);
  blocks_[block.memory.data()] = &block;
  return true;
}

void Node::release(Block* block) {
  const std::unique_ptr<Block> owned(block);
  const std::shared_ptr<Node> node = block->node;
  // A forked process has the array too, and drops what is its parent's to release.
  if (!node || node->publication(node->me_).pid != getpid()) return;
  std::lock_guard<std::mutex> lock(node->blocks_lock_);
  Publication& mine = node->publication(node->me_);
  mine.entries[block->index].id.store(0, std::memory_order_release);
  mine.releases.fetch_add(1, std::memory_order_release);
  node->blocks_.erase(block->memory.data());
  block->memory.discard();
}

SharedPlace Node::find(const void* data, size_t bytes) {
  std::lock_guard<std::mutex> lock(blocks_lock_);
  const char* begin = static_cast<const char*>(data);
  auto after = blocks_.upper_bound(begin);
  if (after == blocks_.begin()) return {};
  const Block& block = *std::prev(after)->second;
  if (begin + bytes > block.memory.data() + block.memory.bytes()) return {};
  return {block.index, begin - block.memory.data()};
}

char* Node::map(int owner, const SharedPlace& place) {
  const Entry& entry = publication(owner).entries[place.block];
  const uint64_t id = entry.id.load(std::memory_order_acquire);
  Mapping& mapping = mappings_[{owner, place.block}];
  if (mapping.id != id || !mapping.memory.data()) {
    mapping.memory = SharedMemory();
    mapping.memory =
        SharedMemory::open(publication(owner).pid, static_cast<int>(entry.fd), static_cast<size_t>(entry.bytes));
    mapping.id = id;
    if (!mapping.memory.data()) {
      check_in_step(); // a rank that has raised may have let go of the array that it posted
      internal_error("cannot map a shared array of another rank of this node: the limit on open files or on memory "
                     "mappings is reached");
    }
  }
  return mapping.memory.data() + place.offset;
}

void Node::forget_released() {
  for (int owner = 0; owner < size_; ++owner) {
    const uint64_t releases = publication(owner).releases.load(std::memory_order_acquire);
    if (owner == me_ || releases == releases_seen_[owner]) continue;
    releases_seen_[owner] = releases;
    for (auto mapping = mappings_.lower_bound({owner, 0});
         mapping != mappings_.end() && mapping->first.first == owner;) {
      const uint64_t id = publication(owner).entries[mapping->first.second].id.load(std::memory_order_acquire);
      mapping = id == mapping->second.id ? std::next(mapping) : mappings_.erase(mapping);
    }
  }
}

} // namespace cudecomp
