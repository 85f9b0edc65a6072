// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/copy.h"

#include <algorithm>
#include <cstring>

#include "copy/kernels.h"

namespace cudecomp {

namespace {

struct Loop {
  int64_t n, src, dst;
};

/** Block of a transposition: a few cache lines along the source, longer runs along the destination. */
constexpr int64_t block_bytes_src = 256, block_bytes_dst = 512;

void run_rows(const BoxCopy& copy, const char* src, char* dst) {
  const size_t bytes = static_cast<size_t>(copy.n[0]) * copy.item;
  const StreamRow stream = copy.streaming && bytes >= 256 ? kernels().stream_row : nullptr;
  for (int64_t k = 0; k < copy.n[2]; ++k) {
    for (int64_t j = 0; j < copy.n[1]; ++j) {
      char* to = dst + (j * copy.dst_stride[1] + k * copy.dst_stride[2]) * copy.item;
      const char* from = src + (j * copy.src_stride[1] + k * copy.src_stride[2]) * copy.item;
      if (stream) {
        stream(to, from, bytes);
      } else {
        std::memcpy(to, from, bytes);
      }
    }
  }
  if (stream) kernels().fence();
}

void run_transpose(const BoxCopy& copy, const char* src, char* dst) {
  const int item = copy.item;
  const int64_t block_i = block_bytes_src / item, block_j = block_bytes_dst / item;
  const TransposeBlock transpose = kernels().transpose(item);
  const StreamRow stream = copy.streaming ? kernels().stream_row : nullptr;
  // Streaming stores need whole lines in a row: a block is turned in the cache, then its rows are streamed.
  alignas(64) char scratch[block_bytes_src / 4 * block_bytes_dst];

  for (int64_t k = 0; k < copy.n[2]; ++k) {
    const char* src_plane = src + k * copy.src_stride[2] * item;
    char* dst_plane = dst + k * copy.dst_stride[2] * item;
    for (int64_t j = 0; j < copy.n[1]; j += block_j) {
      const int64_t nj = std::min(block_j, copy.n[1] - j);
      for (int64_t i = 0; i < copy.n[0]; i += block_i) {
        const int64_t ni = std::min(block_i, copy.n[0] - i);
        const char* from = src_plane + (i + j * copy.src_stride[1]) * item;
        char* to = dst_plane + (i * copy.dst_stride[0] + j) * item;
        if (!stream) {
          transpose(from, copy.src_stride[1], to, copy.dst_stride[0], ni, nj);
          continue;
        }
        transpose(from, copy.src_stride[1], scratch, block_j, ni, nj);
        for (int64_t row = 0; row < ni; ++row) {
          stream(to + row * copy.dst_stride[0] * item, scratch + row * block_j * item, static_cast<size_t>(nj) * item);
        }
      }
    }
  }
  if (stream) kernels().fence();
}

template <int item> void run_strided(const BoxCopy& copy, const char* src, char* dst) {
  for (int64_t k = 0; k < copy.n[2]; ++k) {
    for (int64_t j = 0; j < copy.n[1]; ++j) {
      const char* from = src + (j * copy.src_stride[1] + k * copy.src_stride[2]) * item;
      char* to = dst + (j * copy.dst_stride[1] + k * copy.dst_stride[2]) * item;
      for (int64_t i = 0; i < copy.n[0]; ++i) {
        std::memcpy(to + i * copy.dst_stride[0] * item, from + i * copy.src_stride[0] * item, item);
      }
    }
  }
}

} // namespace

BoxCopy prepare_copy(const Region& src, const Region& dst, int item, bool streaming) {
  BoxCopy copy;
  copy.item = item;
  copy.src_offset = src.offset;
  copy.dst_offset = dst.offset;
  if (src.points() == 0) return copy;

  // Loops longer than one, sorted by where they go; those that continue each other on both sides become one.
  Loop loops[3];
  int count = 0;
  for (int dim = 0; dim < 3; ++dim) {
    if (src.n[dim] == 1) continue;
    const Loop loop{src.n[dim], src.stride[dim], dst.stride[dim]};
    int place = count++;
    for (; place > 0 && loops[place - 1].dst > loop.dst; --place) loops[place] = loops[place - 1];
    loops[place] = loop;
  }
  for (int loop = 0; loop + 1 < count;) {
    Loop& inner = loops[loop];
    const Loop outer = loops[loop + 1];
    if (outer.src == inner.n * inner.src && outer.dst == inner.n * inner.dst) {
      inner.n *= outer.n;
      std::move(loops + loop + 2, loops + count, loops + loop + 1);
      --count;
    } else {
      ++loop;
    }
  }
  if (count == 0) loops[count++] = {1, 1, 1};

  int by_src = -1;
  for (int loop = 0; loop < count; ++loop) {
    if (loops[loop].src == 1) by_src = loop;
  }
  if (loops[0].dst != 1 || by_src < 0) {
    copy.kind = BoxCopy::Kind::strided;
  } else if (by_src == 0) {
    copy.kind = BoxCopy::Kind::rows;
  } else {
    copy.kind = BoxCopy::Kind::transpose;
    std::rotate(loops, loops + by_src, loops + by_src + 1); // source-contiguous, destination-contiguous, third
  }
  for (int loop = 0; loop < count; ++loop) {
    copy.n[loop] = loops[loop].n;
    copy.src_stride[loop] = loops[loop].src;
    copy.dst_stride[loop] = loops[loop].dst;
  }
  copy.streaming = streaming && copy.kind != BoxCopy::Kind::strided;
  return copy;
}

void run_copy(const BoxCopy& copy, const void* src_base, void* dst_base) {
  const char* src = static_cast<const char*>(src_base) + copy.src_offset * copy.item;
  char* dst = static_cast<char*>(dst_base) + copy.dst_offset * copy.item;
  switch (copy.kind) {
  case BoxCopy::Kind::nothing: return;
  case BoxCopy::Kind::rows: return run_rows(copy, src, dst);
  case BoxCopy::Kind::transpose: return run_transpose(copy, src, dst);
  case BoxCopy::Kind::strided:
    return copy.item == 4   ? run_strided<4>(copy, src, dst)
           : copy.item == 8 ? run_strided<8>(copy, src, dst)
                            : run_strided<16>(copy, src, dst);
  }
}

const char* copy_instruction_set() { return kernels().name; }

} // namespace cudecomp
