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

/** What a candidate took in the end. */
struct Measurement {
  std::vector<Times> times; ///< by operation: of the trial in which the slowest rank was fastest
  double total = 0;         ///< sum of weight times max
  std::string skipped;      ///< why the candidate was skipped; empty if it was not
};

/** Collective: seconds of each operation on this rank, once. */
std::vector<double> run_timed(const cudecompHandle& handle, const std::vector<Operation>& operations);

/** Collective: seconds of one trial, of each operation those of the slowest rank, weighted. The same on all ranks. */
double trial_total(const cudecompHandle& handle, const std::vector<Operation>& operations,
                   const std::vector<double>& seconds);

/** Collective: what comes out of some trials; `seconds` are by trial, then by operation. The same on all ranks. */
Measurement summary(const cudecompHandle& handle, const std::vector<Operation>& operations,
                    const std::vector<double>& seconds);

} // namespace cudecomp

#endif // CUDECOMP_AUTOTUNE_MEASURE_H
