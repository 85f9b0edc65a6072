// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define TARGET_AVX2 __attribute__((target("avx2")))

namespace cudecomp {

namespace {

/**
 * A square of `side` x `side` elements, turned in registers: rows of the source go in, rows of the destination come
 * out, 32 bytes each.
 */
struct Square4 {
  using Item = uint32_t;
  static constexpr int side = 8;
  TARGET_AVX2 static inline void turn(const Item* src, int64_t stride, __m256i (&out)[side]) {
    __m256 r[8], t[8];
    for (int k = 0; k < 8; ++k) r[k] = _mm256_loadu_ps(reinterpret_cast<const float*>(src + k * stride));
    for (int k = 0; k < 4; ++k) { // pairs of rows, interleaved
      t[2 * k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
      t[2 * k + 1] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
    }
    for (int k = 0; k < 2; ++k) { // four rows
      r[4 * k] = _mm256_shuffle_ps(t[4 * k], t[4 * k + 2], 0x44);
      r[4 * k + 1] = _mm256_shuffle_ps(t[4 * k], t[4 * k + 2], 0xee);
      r[4 * k + 2] = _mm256_shuffle_ps(t[4 * k + 1], t[4 * k + 3], 0x44);
      r[4 * k + 3] = _mm256_shuffle_ps(t[4 * k + 1], t[4 * k + 3], 0xee);
    }
    for (int k = 0; k < 4; ++k) { // eight rows
      out[k] = _mm256_castps_si256(_mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
      out[k + 4] = _mm256_castps_si256(_mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
    }
  }
};

struct Square8 {
  using Item = uint64_t;
  static constexpr int side = 4;
  TARGET_AVX2 static inline void turn(const Item* src, int64_t stride, __m256i (&out)[side]) {
    __m256i r[4];
    for (int k = 0; k < 4; ++k) r[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + k * stride));
    const __m256i t0 = _mm256_unpacklo_epi64(r[0], r[1]), t1 = _mm256_unpackhi_epi64(r[0], r[1]);
    const __m256i t2 = _mm256_unpacklo_epi64(r[2], r[3]), t3 = _mm256_unpackhi_epi64(r[2], r[3]);
    out[0] = _mm256_permute2x128_si256(t0, t2, 0x20);
    out[1] = _mm256_permute2x128_si256(t1, t3, 0x20);
    out[2] = _mm256_permute2x128_si256(t0, t2, 0x31);
    out[3] = _mm256_permute2x128_si256(t1, t3, 0x31);
  }
};

struct Item16 {
  uint64_t low, high;
};

struct Square16 {
  using Item = Item16;
  static constexpr int side = 2;
  TARGET_AVX2 static inline void turn(const Item* src, int64_t stride, __m256i (&out)[side]) {
    const __m256i r0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
    const __m256i r1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + stride));
    out[0] = _mm256_permute2x128_si256(r0, r1, 0x20);
    out[1] = _mm256_permute2x128_si256(r0, r1, 0x31);
  }
};

/** Moves a block one by one, row of the destination by row: what little there is of a row lies in one cache line. */
template <typename Item>
void move_each(const Item* src, int64_t src_stride, Item* dst, int64_t dst_stride, int64_t ni, int64_t nj) {
  for (int64_t i = 0; i < ni; ++i) {
    for (int64_t j = 0; j < nj; ++j) dst[j + i * dst_stride] = src[i + j * src_stride];
  }
}

/**
 * Squares of one cache line of the source go together: where rows lie a power of two apart they share few cache sets,
 * and a line is gone once left.
 */
template <typename Square>
TARGET_AVX2 void transpose(const void* src_base, int64_t src_stride, void* dst_base, int64_t dst_stride, int64_t ni,
                           int64_t nj) {
  using Item = typename Square::Item;
  constexpr int side = Square::side, line = 2 * side;
  const Item* src = static_cast<const Item*>(src_base);
  Item* dst = static_cast<Item*>(dst_base);
  const int64_t whole_i = ni - ni % side, whole_j = nj - nj % side;
  for (int64_t begin = 0; begin < whole_i; begin += line) {
    const int64_t end = std::min<int64_t>(begin + line, whole_i);
    for (int64_t j = 0; j < whole_j; j += side) {
      for (int64_t i = begin; i < end; i += side) {
        __m256i rows[side];
        Square::turn(src + i + j * src_stride, src_stride, rows);
        for (int k = 0; k < side; ++k) {
          _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + j + (i + k) * dst_stride), rows[k]);
        }
      }
    }
  }
  move_each(src + whole_j * src_stride, src_stride, dst + whole_j, dst_stride, whole_i, nj - whole_j);
  move_each(src + whole_i, src_stride, dst + whole_i * dst_stride, dst_stride, ni - whole_i, nj);
}

/** `lines` cache lines of `side` rows of the destination, from that many squares of the source. */
template <typename Square, int lines>
TARGET_AVX2 inline void stream_lines(const typename Square::Item* src, int64_t src_stride, typename Square::Item* dst,
                                     int64_t dst_stride) {
  constexpr int side = Square::side, line = 2 * side;
  for (int number = 0; number < lines; ++number) {
    __m256i first[side], second[side];
    Square::turn(src + number * line * src_stride, src_stride, first);
    Square::turn(src + (number * line + side) * src_stride, src_stride, second);
    for (int k = 0; k < side; ++k) {
      __m256i* to = reinterpret_cast<__m256i*>(dst + k * dst_stride + number * line);
      _mm256_stream_si256(to, first[k]);
      _mm256_stream_si256(to + 1, second[k]);
    }
  }
}

/** Whole lines leave at once, two next to each other; the source is read in long runs that the prefetcher follows. */
template <typename Square>
TARGET_AVX2 void stream_transpose(const void* src_base, int64_t src_stride, void* dst_base, int64_t dst_stride,
                                  int64_t ni, int64_t nj) {
  using Item = typename Square::Item;
  constexpr int side = Square::side, line = 2 * side;
  const Item* src = static_cast<const Item*>(src_base);
  Item* dst = static_cast<Item*>(dst_base);
  const int64_t whole_i = ni - ni % side;
  int64_t j = 0;
  for (; j + 2 * line <= nj; j += 2 * line) {
    for (int64_t i = 0; i < whole_i; i += side) {
      stream_lines<Square, 2>(src + i + j * src_stride, src_stride, dst + j + i * dst_stride, dst_stride);
    }
  }
  for (; j + line <= nj; j += line) {
    for (int64_t i = 0; i < whole_i; i += side) {
      stream_lines<Square, 1>(src + i + j * src_stride, src_stride, dst + j + i * dst_stride, dst_stride);
    }
  }
  move_each(src + j * src_stride, src_stride, dst + j, dst_stride, whole_i, nj - j);
  move_each(src + whole_i, src_stride, dst + whole_i * dst_stride, dst_stride, ni - whole_i, nj);
}

/** Less than a line, by two moves that may overlap. */
TARGET_AVX2 inline void copy_part_of_line(char* dst, const char* src, size_t bytes) {
  if (bytes >= 32) {
    const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
    const __m256i last = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + bytes - 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), first);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + bytes - 32), last);
  } else if (bytes >= 16) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
    const __m128i last = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + bytes - 16));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), first);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + bytes - 16), last);
  } else {
    for (size_t at = 0; at + 4 <= bytes; at += 4) std::memcpy(dst + at, src + at, 4);
    for (size_t at = bytes - bytes % 4; at < bytes; ++at) dst[at] = src[at];
  }
}

TARGET_AVX2 void stream_row(void* dst_base, const void* src_base, size_t bytes) {
  char* dst = static_cast<char*>(dst_base);
  const char* src = static_cast<const char*>(src_base);
  // Whole cache lines go past the caches; what lies before and behind them goes through.
  const size_t head = std::min(bytes, (64 - reinterpret_cast<uintptr_t>(dst) % 64) % 64);
  copy_part_of_line(dst, src, head);
  size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + 32), high);
  }
  copy_part_of_line(dst + at, src + at, bytes - at);
}

} // namespace

const Kernels* x86_kernels() {
  static const Kernels set{"AVX2",
                           transpose<Square4>,
                           transpose<Square8>,
                           transpose<Square16>,
                           stream_transpose<Square4>,
                           stream_transpose<Square8>,
                           stream_transpose<Square16>,
                           stream_row,
                           [] { _mm_sfence(); }};
  return __builtin_cpu_supports("avx2") ? &set : nullptr;
}

} // namespace cudecomp

#else

namespace cudecomp {
const Kernels* x86_kernels() { return nullptr; }
} // namespace cudecomp

#endif
