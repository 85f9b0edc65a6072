// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace cudecomp {

namespace {

void transpose4(const void* src_base, int64_t ss, void* dst_base, int64_t ds, int64_t ni, int64_t nj) {
  const uint32_t* src = static_cast<const uint32_t*>(src_base);
  uint32_t* dst = static_cast<uint32_t*>(dst_base);
  const int64_t whole_i = ni - ni % 4, whole_j = nj - nj % 4;
  for (int64_t i = 0; i < whole_i; i += 4) {
    for (int64_t j = 0; j < whole_j; j += 4) {
      const uint32_t* from = src + i + j * ss;
      uint32_t* to = dst + j + i * ds;
      const uint32x4_t r0 = vld1q_u32(from), r1 = vld1q_u32(from + ss);
      const uint32x4_t r2 = vld1q_u32(from + 2 * ss), r3 = vld1q_u32(from + 3 * ss);
      const uint64x2_t t0 = vreinterpretq_u64_u32(vtrn1q_u32(r0, r1)), t1 = vreinterpretq_u64_u32(vtrn2q_u32(r0, r1));
      const uint64x2_t t2 = vreinterpretq_u64_u32(vtrn1q_u32(r2, r3)), t3 = vreinterpretq_u64_u32(vtrn2q_u32(r2, r3));
      vst1q_u32(to, vreinterpretq_u32_u64(vtrn1q_u64(t0, t2)));
      vst1q_u32(to + ds, vreinterpretq_u32_u64(vtrn1q_u64(t1, t3)));
      vst1q_u32(to + 2 * ds, vreinterpretq_u32_u64(vtrn2q_u64(t0, t2)));
      vst1q_u32(to + 3 * ds, vreinterpretq_u32_u64(vtrn2q_u64(t1, t3)));
    }
    for (int64_t j = whole_j; j < nj; ++j) {
      for (int64_t k = i; k < i + 4; ++k) dst[j + k * ds] = src[k + j * ss];
    }
  }
  for (int64_t i = whole_i; i < ni; ++i) {
    for (int64_t j = 0; j < nj; ++j) dst[j + i * ds] = src[i + j * ss];
  }
}

void transpose8(const void* src_base, int64_t ss, void* dst_base, int64_t ds, int64_t ni, int64_t nj) {
  const uint64_t* src = static_cast<const uint64_t*>(src_base);
  uint64_t* dst = static_cast<uint64_t*>(dst_base);
  const int64_t whole_i = ni - ni % 2, whole_j = nj - nj % 2;
  for (int64_t i = 0; i < whole_i; i += 2) {
    for (int64_t j = 0; j < whole_j; j += 2) {
      const uint64x2_t r0 = vld1q_u64(src + i + j * ss), r1 = vld1q_u64(src + i + (j + 1) * ss);
      vst1q_u64(dst + j + i * ds, vtrn1q_u64(r0, r1));
      vst1q_u64(dst + j + (i + 1) * ds, vtrn2q_u64(r0, r1));
    }
    for (int64_t j = whole_j; j < nj; ++j) {
      dst[j + i * ds] = src[i + j * ss];
      dst[j + (i + 1) * ds] = src[i + 1 + j * ss];
    }
  }
  for (int64_t i = whole_i; i < ni; ++i) {
    for (int64_t j = 0; j < nj; ++j) dst[j + i * ds] = src[i + j * ss];
  }
}

} // namespace

const Kernels* neon_kernels() {
  // 16-byte items move as whole registers in the portable loop already.
  static const Kernels set{"NEON",  transpose4, transpose8, scalar_kernels().transpose16, nullptr, nullptr,
                           nullptr, nullptr,    [] {}};
  return &set;
}

} // namespace cudecomp

#else

namespace cudecomp {
const Kernels* neon_kernels() { return nullptr; }
} // namespace cudecomp

#endif
