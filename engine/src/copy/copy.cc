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

constexpr int64_t line_bytes = 64;
constexpr bool on_line(int64_t bytes) { return bytes % line_bytes == 0; }

constexpr size_t streamed_row_bytes = 256;

/** A row of few bytes, a multiple of 4, without the call that memcpy would be. */
inline void copy_short(char* to, const char* from, size_t bytes) {
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8) std::memcpy(to + at, from + at, 8);
  if (at < bytes) std::memcpy(to + at, from + at, 4);
}

/** A row whose length the compiler knows: a move or two. */
template <size_t bytes> struct RowOf {
  void operator()(char* to, const char* from) const { std::memcpy(to, from, bytes); }
};

/** Calls `run` with what copies a short row. */
template <typename Run> void with_short_row(size_t bytes, Run run) {
  switch (bytes) {
  case 4: return run(RowOf<4>());
  case 8: return run(RowOf<8>());
  case 12: return run(RowOf<12>());
  case 16: return run(RowOf<16>());
  case 24: return run(RowOf<24>());
  case 32: return run(RowOf<32>());
  case 48: return run(RowOf<48>());
  case 64: return run(RowOf<64>());
  default: return run([=](char* to, const char* from) { copy_short(to, from, bytes); });
  }
}

/** Where the rows of a plane are. */
struct Rows {
  const char* from;
  char* to;
  int64_t from_step, to_step; ///< bytes to the next row

  Rows(const BoxCopy& copy, const char* src, char* dst, int64_t plane)
      : from(src + plane * copy.src_stride[2] * copy.item), to(dst + plane * copy.dst_stride[2] * copy.item),
        from_step(copy.src_stride[1] * copy.item), to_step(copy.dst_stride[1] * copy.item) {}

  /** Copies a row and goes on to the next. Each lies in other cache lines, which are asked for in good time. */
  template <typename CopyRow> void next(CopyRow copy_row) {
    constexpr int64_t rows_ahead = 128; // more than the latency asks for: what is asked for in the first cache stays
    __builtin_prefetch(from + rows_ahead * from_step, 0);
    __builtin_prefetch(to + rows_ahead * to_step, 1);
    copy_row(to, from);
    from += from_step;
    to += to_step;
  }
};

/** Rows as short as the layers of a halo. */
void run_short_rows(const BoxCopy& copy, const char* src, char* dst) {
  with_short_row(static_cast<size_t>(copy.n[0]) * copy.item, [&](auto copy_row) {
    for (int64_t k = 0; k < copy.n[2]; ++k) {
      Rows rows(copy, src, dst, k);
      for (int64_t j = 0; j < copy.n[1]; ++j) rows.next(copy_row);
    }
  });
}

/** One row, streamed if there is such a store and it is long enough. */
inline void copy_row(char* to, const char* from, size_t bytes, StreamRow stream) {
  if (stream && bytes >= streamed_row_bytes) return stream(to, from, bytes);
  if (bytes <= size_t{short_row_bytes}) return copy_short(to, from, bytes);
  std::memcpy(to, from, bytes);
}

void run_rows(const BoxCopy& copy, const char* src, char* dst) {
  const size_t bytes = static_cast<size_t>(copy.n[0]) * copy.item;
  if (bytes <= size_t{short_row_bytes}) return run_short_rows(copy, src, dst);
  const StreamRow stream = copy.streaming ? kernels().stream_row : nullptr;
  // Where rows lie in another order on the other side, tiles of them keep runs of some length on both.
  constexpr int64_t tile_bytes = 16 << 10;
  const bool crossed = copy.src_stride[1] > copy.src_stride[2] && copy.n[2] > 1;
  const int64_t tile = crossed ? std::max<int64_t>(1, tile_bytes / static_cast<int64_t>(bytes)) : copy.n[1];
  for (int64_t k0 = 0; k0 < copy.n[2]; k0 += tile) {
    for (int64_t j0 = 0; j0 < copy.n[1]; j0 += tile) {
      for (int64_t k = k0; k < std::min(copy.n[2], k0 + tile); ++k) {
        for (int64_t j = j0; j < std::min(copy.n[1], j0 + tile); ++j) {
          char* to = dst + (j * copy.dst_stride[1] + k * copy.dst_stride[2]) * copy.item;
          const char* from = src + (j * copy.src_stride[1] + k * copy.src_stride[2]) * copy.item;
          copy_row(to, from, bytes, stream);
        }
      }
    }
  }
  if (stream) kernels().fence();
}

/** Through the caches: blocks that fit the first level on both sides. */
void run_transpose_cached(const BoxCopy& copy, const char* src, char* dst) {
  const int item = copy.item;
  const int64_t most_i = 256 / item, most_j = 512 / item;
  const TransposeBlock transpose = kernels().transpose(item);
  for (int64_t k = 0; k < copy.n[2]; ++k) {
    for (int64_t j = 0; j < copy.n[1]; j += most_j) {
      for (int64_t i = 0; i < copy.n[0]; i += most_i) {
        const int64_t from = i + j * copy.src_stride[1] + k * copy.src_stride[2];
        const int64_t to = i * copy.dst_stride[0] + j + k * copy.dst_stride[2];
        transpose(src + from * item, copy.src_stride[1], dst + to * item, copy.dst_stride[0],
                  std::min(most_i, copy.n[0] - i), std::min(most_j, copy.n[1] - j));
      }
    }
  }
}

/** Past the caches where every row of the destination begins on a line, but for a few elements before the first line.
 */
void run_transpose_lines(const BoxCopy& copy, const char* src, char* dst) {
  const int item = copy.item;
  const TransposeBlock transpose = kernels().transpose(item), stream = kernels().stream_transpose(item);
  for (int64_t k = 0; k < copy.n[2]; ++k) {
    const char* from = src + k * copy.src_stride[2] * item;
    char* to = dst + k * copy.dst_stride[2] * item;
    const int64_t before = (line_bytes - reinterpret_cast<uintptr_t>(to) % line_bytes) % line_bytes / item;
    const int64_t head = std::min(copy.n[1], before);
    if (head) transpose(from, copy.src_stride[1], to, copy.dst_stride[0], copy.n[0], head);
    constexpr int64_t run_bytes = 2048; // of the source: long enough for its prefetcher, few enough rows to write
    for (int64_t i = 0; i < copy.n[0]; i += run_bytes / item) {
      stream(from + (i + head * copy.src_stride[1]) * item, copy.src_stride[1],
             to + (i * copy.dst_stride[0] + head) * item, copy.dst_stride[0], std::min(run_bytes / item, copy.n[0] - i),
             copy.n[1] - head);
    }
  }
  kernels().fence();
}

void run_transpose(const BoxCopy& copy, const char* src, char* dst) {
  const bool whole_items = reinterpret_cast<uintptr_t>(dst) % copy.item == 0;
  const bool lines = whole_items && on_line(copy.dst_stride[0] * copy.item);
  const bool streams = copy.streaming && kernels().stream_row;
  return streams && lines ? run_transpose_lines(copy, src, dst) : run_transpose_cached(copy, src, dst);
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
    copy.kind = BoxCopy::Kind::rows; // of one element: the fastest axis of one side is one point long
    for (int loop = count++; loop > 0; --loop) loops[loop] = loops[loop - 1];
    loops[0] = {1, 1, 1};
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
  copy.streaming = streaming;
  return copy;
}

BoxCopy prepare_pack(const Region& region, const std::array<int, 3>& order, int64_t slot, int item, bool streaming) {
  return prepare_copy(region, packed_region(region.n, order, slot), item, streaming);
}

BoxCopy prepare_unpack(const Region& region, const std::array<int, 3>& order, int64_t slot, int item, bool streaming) {
  return prepare_copy(packed_region(region.n, order, slot), region, item, streaming);
}

namespace {

/** Where a copy begins, from the bases that its offsets count from. */
const char* source(const BoxCopy& copy, const void* base) {
  return static_cast<const char*>(base) + copy.src_offset * copy.item;
}

char* destination(const BoxCopy& copy, void* base) { return static_cast<char*>(base) + copy.dst_offset * copy.item; }

void run_alone(const BoxCopy& copy, const void* src_base, void* dst_base) {
  const char* src = source(copy, src_base);
  char* dst = destination(copy, dst_base);
  switch (copy.kind) {
  case BoxCopy::Kind::nothing: return;
  case BoxCopy::Kind::rows: return run_rows(copy, src, dst);
  case BoxCopy::Kind::transpose: return run_transpose(copy, src, dst);
  }
}

/** The part of a copy from `begin` up to `end` of its outermost loop. */
BoxCopy slice(const BoxCopy& copy, int loop, int64_t begin, int64_t end) {
  BoxCopy part = copy;
  part.n[loop] = std::max<int64_t>(0, std::min(end, copy.n[loop]) - begin);
  part.src_offset += begin * copy.src_stride[loop];
  part.dst_offset += begin * copy.dst_stride[loop];
  return part;
}

int outermost_loop(const BoxCopy& copy) { return copy.n[2] > 1 ? 2 : copy.n[1] > 1 ? 1 : 0; }

/** Parts that a team makes of some bytes: each worth the microsecond that sharing costs. */
int parts_for(const Team* team, int64_t bytes) {
  constexpr int64_t part_bytes = 64 << 10;
  return team ? static_cast<int>(std::min<int64_t>(team->size(), bytes / part_bytes)) : 1;
}

/** The loop to share: the outermost that is long enough, along rows of the destination rather than across. */
int shared_loop(const BoxCopy& copy, int parts) {
  const bool transposes = copy.kind == BoxCopy::Kind::transpose;
  for (int loop : {2, transposes ? 0 : 1, transposes ? 1 : 0}) {
    if (copy.n[loop] >= parts) return loop;
  }
  return outermost_loop(copy);
}

/** The border before a part of `n` things shared evenly. */
int64_t border(int64_t n, int part, int parts) { return n * part / parts; }

} // namespace

void run_copy(const BoxCopy& copy, const void* src, void* dst, Team* team) {
  const int parts = parts_for(team, copy.points() * copy.item);
  if (parts <= 1) return run_alone(copy, src, dst);
  const int loop = shared_loop(copy, parts);
  team->run(parts, [&](int part) {
    run_alone(slice(copy, loop, border(copy.n[loop], part, parts), border(copy.n[loop], part + 1, parts)), src, dst);
  });
}

namespace {

/** Where a part of a sweep is. */
struct SweepRows {
  const char* from;
  char* to;
  int64_t from_step, to_step; ///< bytes to the next row
  size_t bytes;
  StreamRow stream;
};

/** The rows from `begin` up to `end` of a loop, all rows along the other one. */
void sweep_alone(const std::vector<SweepPart>& parts, const std::array<int, 3>& order, int item, const char* src,
                 int loop, int64_t begin, int64_t end) {
  const auto [row, inner, outer] = order;
  const StreamRow stream = kernels().stream_row;
  const Triple& n = parts.front().src.n;
  const int64_t begin_j = loop == inner ? begin : 0, end_j = loop == inner ? end : n[inner];
  std::vector<SweepRows> rows(parts.size());
  for (int64_t k = loop == outer ? begin : 0; k < (loop == outer ? end : n[outer]); ++k) {
    for (size_t number = 0; number < parts.size(); ++number) {
      const SweepPart& part = parts[number];
      const int64_t from = part.src.offset + begin_j * part.src.stride[inner] + k * part.src.stride[outer];
      const int64_t to = part.dst.offset + begin_j * part.dst.stride[inner] + k * part.dst.stride[outer];
      rows[number] = {src + from * item,
                      static_cast<char*>(part.to) + to * item,
                      part.src.stride[inner] * item,
                      part.dst.stride[inner] * item,
                      static_cast<size_t>(part.src.n[row] * item),
                      part.streaming ? stream : nullptr};
    }
    for (int64_t j = begin_j; j < end_j; ++j) {
      for (SweepRows& part : rows) {
        copy_row(part.to, part.from, part.bytes, part.stream);
        part.from += part.from_step;
        part.to += part.to_step;
      }
    }
  }
  if (stream) kernels().fence();
}

} // namespace

void run_sweep(const std::vector<SweepPart>& sweep, const std::array<int, 3>& order, int item, const void* src_base,
               Team* team) {
  if (sweep.empty()) return;
  const char* src = static_cast<const char*>(src_base);
  const Triple& n = sweep.front().src.n;
  int64_t points = 0;
  for (const SweepPart& part : sweep) points += part.src.points();
  const int parts = parts_for(team, points * item);
  const int loop = n[order[2]] >= parts ? order[2] : order[1];
  if (parts <= 1) return sweep_alone(sweep, order, item, src, loop, 0, n[loop]);
  team->run(parts, [&](int part) {
    sweep_alone(sweep, order, item, src, loop, border(n[loop], part, parts), border(n[loop], part + 1, parts));
  });
}

namespace {

/** Two copies of short rows, alike in number and length, row by row. */
void run_row_pairs(const PlacedCopy& first, const PlacedCopy& second) {
  const int64_t* n = first.copy.n;
  with_short_row(static_cast<size_t>(n[0]) * first.copy.item, [&](auto copy_row) {
    const auto plane = [](const PlacedCopy& placed, int64_t k) {
      return Rows(placed.copy, source(placed.copy, placed.src), destination(placed.copy, placed.dst), k);
    };
    for (int64_t k = 0; k < n[2]; ++k) {
      Rows one = plane(first, k), two = plane(second, k);
      for (int64_t j = 0; j < n[1]; ++j) {
        one.next(copy_row);
        two.next(copy_row);
      }
    }
  });
}

} // namespace

void run_copies_by_turns(const PlacedCopy& first, const PlacedCopy& second) {
  constexpr int64_t few_points = 256; // their lines stay in the first cache
  const BoxCopy &one = first.copy, &two = second.copy;
  const bool alike = one.kind == two.kind && one.item == two.item && std::equal(one.n, one.n + 3, two.n);
  const int64_t row_bytes = one.kind == BoxCopy::Kind::rows ? one.n[0] * one.item : 0;
  if (alike && row_bytes > 0 && row_bytes <= short_row_bytes) return run_row_pairs(first, second);
  const int loop_one = outermost_loop(one), loop_two = outermost_loop(two);
  const int64_t n = one.n[loop_one];
  // Long rows share no lines.
  const bool by_turns = row_bytes < 8 * line_bytes && one.points() == two.points() && n == two.n[loop_two];
  if (!by_turns) {
    run_copy(one, first.src, first.dst);
    run_copy(two, second.src, second.dst);
    return;
  }
  const int64_t step = std::max<int64_t>(1, few_points * n / std::max<int64_t>(1, one.points()));
  for (int64_t begin = 0; begin < n; begin += step) {
    run_copy(slice(one, loop_one, begin, begin + step), first.src, first.dst);
    run_copy(slice(two, loop_two, begin, begin + step), second.src, second.dst);
  }
}

bool can_pass_caches() { return kernels().stream_row != nullptr; }

void run_copy_past_caches(const BoxCopy& copy, const void* src, void* dst) {
  constexpr int64_t block_bytes = 8 << 10;
  if (copy.kind != BoxCopy::Kind::rows) return run_alone(copy, src, dst);
  const int64_t row_bytes = copy.n[0] * copy.item;
  if (row_bytes >= block_bytes || (on_line(row_bytes) && row_bytes >= static_cast<int64_t>(streamed_row_bytes))) {
    BoxCopy streamed = copy;
    streamed.streaming = true;
    return run_alone(streamed, src, dst);
  }
  alignas(line_bytes) char block[block_bytes];
  const int64_t rows = block_bytes / row_bytes;
  for (int64_t k = 0; k < copy.n[2]; ++k) {
    for (int64_t j = 0; j < copy.n[1]; j += rows) {
      BoxCopy part = slice(slice(copy, 2, k, k + 1), 1, j, j + rows);
      char* to = static_cast<char*>(dst) + part.dst_offset * copy.item;
      part.dst_offset = 0;
      run_alone(part, src, block);
      kernels().stream_row(to, block, static_cast<size_t>(part.points() * copy.item));
    }
  }
  kernels().fence();
}

const char* copy_instruction_set() { return kernels().name; }

} // namespace cudecomp
