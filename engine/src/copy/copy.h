// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COPY_COPY_H
#define CUDECOMP_COPY_COPY_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "copy/team.h"
#include "plan/plan.h"

namespace cudecomp {

/** Up to here rows are moved one by one without a call; each lies in a cache line or two of its own. */
constexpr int64_t short_row_bytes = 64;

/** A copy between two strided boxes, its loops sorted and merged once so that running it decides nothing. */
struct BoxCopy {
  enum class Kind {
    nothing,  ///< no points
    rows,     ///< both sides have the same fastest axis: runs of contiguous bytes
    transpose ///< the fastest axes differ: blocked transposition
  };

  Kind kind = Kind::nothing;
  int item = 0;           ///< bytes of an element
  bool streaming = false; ///< store past the caches
  /** Loops. rows: innermost first. transpose: axis contiguous in the source, in the destination, third. */
  int64_t n[3] = {1, 1, 1}, src_stride[3] = {0, 0, 0}, dst_stride[3] = {0, 0, 0};
  int64_t src_offset = 0, dst_offset = 0; ///< elements

  int64_t points() const { return kind == Kind::nothing ? 0 : n[0] * n[1] * n[2]; }
};

/** Each of the regions has an axis of stride 1, if only of one point. */
BoxCopy prepare_copy(const Region& src, const Region& dst, int item, bool streaming);

/** From a region to its message: dense in `order`, `slot` elements into a buffer; and back. */
BoxCopy prepare_pack(const Region& region, const std::array<int, 3>& order, int64_t slot, int item, bool streaming);
BoxCopy prepare_unpack(const Region& region, const std::array<int, 3>& order, int64_t slot, int item, bool streaming);

/**
 * Runs a copy; `src` and `dst` are the bases that the offsets count from, and must not overlap where it writes. A team
 * shares what is large.
 */
void run_copy(const BoxCopy& copy, const void* src, void* dst, Team* team = nullptr);

/** Whether this processor can store past the caches. */
bool can_pass_caches();

/** Runs a packing copy, its rows stored past the caches; short ones are gathered first. */
void run_copy_past_caches(const BoxCopy& copy, const void* src, void* dst);

/** One part of the rows of a sweep. */
struct SweepPart {
  Region src, dst;
  void* to;       ///< base that the offset of `dst` counts from
  bool streaming; ///< store past the caches
};

/**
 * Copies parts that lie next to each other in the rows of one array, row by row: the array is read in a single sweep.
 * Part by part, its short runs would come at half the speed, since each of them stops the prefetcher.
 *
 * @param parts in the order of the source, of equal extents and source strides along order[1] and order[2], all
 * contiguous along order[0]
 */
void run_sweep(const std::vector<SweepPart>& parts, const std::array<int, 3>& order, int item, const void* src,
               Team* team = nullptr);

/** A copy and the bases that its offsets count from. */
struct PlacedCopy {
  BoxCopy copy;
  const void* src;
  void* dst;
};

/**
 * Runs two copies a little at a time by turns: where they touch the same cache lines, such as the two ends of short
 * rows, the lines are fetched once.
 */
void run_copies_by_turns(const PlacedCopy& first, const PlacedCopy& second);

/** Name of the instruction set that the kernels use on this processor. */
const char* copy_instruction_set();

} // namespace cudecomp

#endif // CUDECOMP_COPY_COPY_H
