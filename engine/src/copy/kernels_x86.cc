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
 * Runs `tile` over whole tiles of `side` x `side` and moves the rest one by one. The tiles of one cache line of the
 * source go together: where rows lie a power of two apart they share few cache sets, and a line is gone once left.
 */
template <typename Item, int side, typename Tile>
inline __attribute__((always_inline)) void tiled(const Item* src, int64_t src_stride, Item* dst, int64_t dst_stride,
                                                 int64_t ni, int64_t nj, Tile tile) {
  constexpr int64_t line = 64 / sizeof(Item);
  const int64_t whole_i = ni - ni % side, whole_j = nj - nj % side;
  for (int64_t begin = 0; begin < whole_i; begin += line) {
    const int64_t end = std::min(begin + line, whole_i);
    for (int64_t j = 0; j < whole_j; j += side) {
      for (int64_t i = begin; i < end; i += side) tile(src + i + j * src_stride, dst + j + i * dst_stride);
    }
    for (int64_t j = whole_j; j < nj; ++j) {
      for (int64_t i = begin; i < end; ++i) dst[j + i * dst_stride] = src[i + j * src_stride];
    }
  }
  for (int64_t j = 0; j < nj; ++j) {
    for (int64_t i = whole_i; i < ni; ++i) dst[j + i * dst_stride] = src[i + j * src_stride];
  }
}

TARGET_AVX2 void transpose4(const void* src_base, int64_t ss, void* dst_base, int64_t ds, int64_t ni, int64_t nj) {
  tiled<float, 8>(static_cast<const float*>(src_base), ss, static_cast<float*>(dst_base), ds, ni, nj,
                  [=](const float* src, float* dst) TARGET_AVX2 {
                    __m256 r[8], t[8];
                    for (int k = 0; k < 8; ++k) r[k] = _mm256_loadu_ps(src + k * ss);
                    for (int k = 0; k < 4; ++k) { // pairs of rows, interleaved
                      t[2 * k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
                      t[2 * k + 1] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
                    }
                    for (int k = 0; k < 2; ++k) { // four rows
                      const __m256 a = t[4 * k], b = t[4 * k + 1], c = t[4 * k + 2], d = t[4 * k + 3];
                      r[4 * k] = _mm256_shuffle_ps(a, c, 0x44);
                      r[4 * k + 1] = _mm256_shuffle_ps(a, c, 0xee);
                      r[4 * k + 2] = _mm256_shuffle_ps(b, d, 0x44);
                      r[4 * k + 3] = _mm256_shuffle_ps(b, d, 0xee);
                    }
                    for (int k = 0; k < 4; ++k) { // eight rows
                      _mm256_storeu_ps(dst + k * ds, _mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
                      _mm256_storeu_ps(dst + (k + 4) * ds, _mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
                    }
                  });
}

TARGET_AVX2 void transpose8(const void* src_base, int64_t ss, void* dst_base, int64_t ds, int64_t ni, int64_t nj) {
  tiled<double, 4>(static_cast<const double*>(src_base), ss, static_cast<double*>(dst_base), ds, ni, nj,
                   [=](const double* src, double* dst) TARGET_AVX2 {
                     const __m256d r0 = _mm256_loadu_pd(src), r1 = _mm256_loadu_pd(src + ss);
                     const __m256d r2 = _mm256_loadu_pd(src + 2 * ss), r3 = _mm256_loadu_pd(src + 3 * ss);
                     const __m256d t0 = _mm256_unpacklo_pd(r0, r1), t1 = _mm256_unpackhi_pd(r0, r1);
                     const __m256d t2 = _mm256_unpacklo_pd(r2, r3), t3 = _mm256_unpackhi_pd(r2, r3);
                     _mm256_storeu_pd(dst, _mm256_permute2f128_pd(t0, t2, 0x20));
                     _mm256_storeu_pd(dst + ds, _mm256_permute2f128_pd(t1, t3, 0x20));
                     _mm256_storeu_pd(dst + 2 * ds, _mm256_permute2f128_pd(t0, t2, 0x31));
                     _mm256_storeu_pd(dst + 3 * ds, _mm256_permute2f128_pd(t1, t3, 0x31));
                   });
}

struct Item16 {
  double low, high;
};

TARGET_AVX2 void transpose16(const void* src_base, int64_t ss, void* dst_base, int64_t ds, int64_t ni, int64_t nj) {
  tiled<Item16, 2>(static_cast<const Item16*>(src_base), ss, static_cast<Item16*>(dst_base), ds, ni, nj,
                   [=](const Item16* src, Item16* dst) TARGET_AVX2 {
                     const __m256d r0 = _mm256_loadu_pd(&src->low), r1 = _mm256_loadu_pd(&src[ss].low);
                     _mm256_storeu_pd(&dst->low, _mm256_permute2f128_pd(r0, r1, 0x20));
                     _mm256_storeu_pd(&dst[ds].low, _mm256_permute2f128_pd(r0, r1, 0x31));
                   });
}

TARGET_AVX2 void stream_row(void* dst_base, const void* src_base, size_t bytes) {
  char* dst = static_cast<char*>(dst_base);
  const char* src = static_cast<const char*>(src_base);
  // Whole cache lines go past the caches; what lies before and behind them goes through.
  const size_t head = std::min(bytes, (64 - reinterpret_cast<uintptr_t>(dst) % 64) % 64);
  if (head) std::memcpy(dst, src, head);
  size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + at + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + at + 32), high);
  }
  if (at < bytes) std::memcpy(dst + at, src + at, bytes - at);
}

} // namespace

const Kernels* x86_kernels() {
  static const Kernels set{"AVX2", transpose4, transpose8, transpose16, stream_row, [] { _mm_sfence(); }};
  return __builtin_cpu_supports("avx2") ? &set : nullptr;
}

} // namespace cudecomp

#else

namespace cudecomp {
const Kernels* x86_kernels() { return nullptr; }
} // namespace cudecomp

#endif
