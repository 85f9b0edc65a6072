// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COPY_KERNELS_H
#define CUDECOMP_COPY_KERNELS_H

#include <cstddef>
#include <cstdint>

namespace cudecomp {

/**
 * Transposes one block: element (i, j) goes from src[i + j * src_stride] to dst[j + i * dst_stride], strides in
 * elements.
 */
using TransposeBlock = void (*)(const void* src, int64_t src_stride, void* dst, int64_t dst_stride, int64_t ni,
                                int64_t nj);

/** Copies contiguous bytes past the caches; the writes are ordered by the fence of the kernel set. */
using StreamRow = void (*)(void* dst, const void* src, size_t bytes);

/** The inner loops for one instruction set. */
struct Kernels {
  const char* name;
  TransposeBlock transpose4, transpose8, transpose16; ///< by bytes of an element
  /** The same past the caches, for destinations whose rows all begin on a cache line; null like stream_row. */
  TransposeBlock stream_transpose4, stream_transpose8, stream_transpose16;
  StreamRow stream_row; ///< null where the instruction set has no such stores
  void (*fence)();      ///< makes streamed rows visible to other threads

  TransposeBlock transpose(int item) const { return item == 4 ? transpose4 : item == 8 ? transpose8 : transpose16; }
  TransposeBlock stream_transpose(int item) const {
    return item == 4 ? stream_transpose4 : item == 8 ? stream_transpose8 : stream_transpose16;
  }
};

/** The best set that this processor runs. */
const Kernels& kernels();

/** The portable set, and one per instruction set; null where the build or the processor lacks it. */
const Kernels& scalar_kernels();
const Kernels* x86_kernels();
const Kernels* neon_kernels();

} // namespace cudecomp

#endif // CUDECOMP_COPY_KERNELS_H
