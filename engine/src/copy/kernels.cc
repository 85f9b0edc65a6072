// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/kernels.h"

namespace cudecomp {

namespace {

struct Item16 {
  uint64_t low, high;
};

template <typename Item>
void transpose_block(const void* src_base, int64_t src_stride, void* dst_base, int64_t dst_stride, int64_t ni,
                     int64_t nj) {
  const Item* src = static_cast<const Item*>(src_base);
  Item* dst = static_cast<Item*>(dst_base);
  for (int64_t i = 0; i < ni; ++i) {
    for (int64_t j = 0; j < nj; ++j) dst[j + i * dst_stride] = src[i + j * src_stride];
  }
}

} // namespace

const Kernels& scalar_kernels() {
  static const Kernels set{"scalar",
                           transpose_block<uint32_t>,
                           transpose_block<uint64_t>,
                           transpose_block<Item16>,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           [] {}};
  return set;
}

const Kernels& kernels() {
  static const Kernels& best = x86_kernels() ? *x86_kernels() : neon_kernels() ? *neon_kernels() : scalar_kernels();
  return best;
}

} // namespace cudecomp
