// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * What the trials of a candidate run, and the arrays they run on.
 */

#ifndef CUDECOMP_AUTOTUNE_TRIALS_H
#define CUDECOMP_AUTOTUNE_TRIALS_H

#include <vector>

#include "api/objects.h"
#include "autotune/candidates.h"
#include "autotune/measure.h"

namespace cudecomp {

using Options = cudecompGridDescAutotuneOptions_t;

/** Arrays that the trials work on. They only grow. */
struct Arrays {
  Workspace first, second;
};

struct ArraySizes {
  int64_t first = 0, second = 0; ///< bytes
};

/** What the trials of a kind need on a grid; throws, on all ranks alike, why they cannot run there. */
ArraySizes array_sizes(Kind kind, const cudecompGridDesc& grid, const Options& options);

/** Collective: arrays of at least these sizes; throws, on all ranks alike, where there is no memory. */
void make_arrays(const cudecompHandle& handle, const ArraySizes& sizes, Arrays& arrays);

/** Touches all pages, so that no trial is the first to do so. */
void touch_arrays(const Arrays& arrays);

/** The operations of one trial, on arrays that stay where they are. Those that cannot matter are left out. */
std::vector<Operation> trial_operations(Kind kind, cudecompGridDesc& grid, const Options& options,
                                        const Arrays& arrays);

} // namespace cudecomp

#endif // CUDECOMP_AUTOTUNE_TRIALS_H
