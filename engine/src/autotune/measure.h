// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * Times operations over all ranks of a handle.
 */

#ifndef CUDECOMP_AUTOTUNE_MEASURE_H
#define CUDECOMP_AUTOTUNE_MEASURE_H

#include <functional>
#include <string>
#include <vector>

#include "api/objects.h"

namespace cudecomp {

/** One operation of a trial. */
struct Operation {
  std::string name;
  double weight;
  std::function<void()> run;
};

/** How long an operation takes on the fastest rank, on average, and on the slowest, in seconds. */
struct Times {
  double min = 0, mean = 0, max = 0;
};

struct Trials {
  int warmups, timed;
  double skip_threshold; ///< 0 to complete every candidate
};

struct Measurement {
  std::vector<Times> times; ///< by operation: of each figure the median over the trials
  double total = 0;         ///< sum of weight times max
  std::string skipped;      ///< why the trials were broken off; empty if they were not
};

/**
 * Collective, and the same on all ranks. Each operation runs once before the warm-ups, so that plans, workspace and
 * first touches are never timed.
 *
 * @param best total of the best candidate so far
 */
Measurement measure(const cudecompHandle& handle, const std::vector<Operation>& operations, const Trials& trials,
                    double best);

} // namespace cudecomp

#endif // CUDECOMP_AUTOTUNE_MEASURE_H
