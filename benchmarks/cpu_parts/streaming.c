/* SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The copy limit of the benchmarks: a copy with streaming stores, which do not read the lines they overwrite. */

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void copy_avx2(char* to, const char* from, size_t bytes) {
  size_t head = (size_t)(-(uintptr_t)to & 63);
  if (head > bytes) {
    head = bytes;
  }
  memcpy(to, from, head);
  to += head, from += head, bytes -= head;
  for (; bytes >= 64; to += 64, from += 64, bytes -= 64) {
    const __m256i low = _mm256_loadu_si256((const __m256i*)from);
    const __m256i high = _mm256_loadu_si256((const __m256i*)(from + 32));
    _mm256_stream_si256((__m256i*)to, low);
    _mm256_stream_si256((__m256i*)(to + 32), high);
  }
  _mm_sfence();
  memcpy(to, from, bytes);
}

const char* copy_kind(void) { return __builtin_cpu_supports("avx2") ? "AVX2 streaming stores" : "memcpy"; }

void copy_streaming(void* to, const void* from, size_t bytes) {
  if (__builtin_cpu_supports("avx2")) {
    copy_avx2(to, from, bytes);
  } else {
    memcpy(to, from, bytes);
  }
}

#elif defined(__aarch64__)
#include <arm_neon.h>

const char* copy_kind(void) { return "NEON non-temporal stores"; }

void copy_streaming(void* to, const void* from, size_t bytes) {
  char* t = to;
  const char* f = from;
  for (; bytes >= 32; t += 32, f += 32, bytes -= 32) {
    const uint8x16_t low = vld1q_u8((const uint8_t*)f);
    const uint8x16_t high = vld1q_u8((const uint8_t*)f + 16);
    __asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(t), "w"(low), "w"(high) : "memory");
  }
  memcpy(t, f, bytes);
}

#else

const char* copy_kind(void) { return "memcpy"; }

void copy_streaming(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }

#endif
