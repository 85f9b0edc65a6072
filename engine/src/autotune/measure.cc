// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/measure.h"

#include <algorithm>

#include "common/error.h"

namespace cudecomp {

namespace {

void run_all(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) operation.run();
}

/** Seconds of each operation on this rank. All ranks start each together: one's delay is not the next one's time. */
void run_timed(const cudecompHandle& handle, const std::vector<Operation>& operations, double* seconds) {
  for (size_t k = 0; k < operations.size(); ++k) {
    check_mpi(MPI_Barrier(handle.comm.get()), "MPI_Barrier");
    const double start = MPI_Wtime();
    operations[k].run();
    seconds[k] = MPI_Wtime() - start;
  }
}

/** One reduction over the ranks, computed once and sent to all: what follows from it is the same everywhere. */
std::vector<double> over_ranks(const cudecompHandle& handle, const std::vector<double>& mine, MPI_Op reduction) {
  std::vector<double> out(mine.size());
  const int count = static_cast<int>(mine.size());
  check_mpi(MPI_Reduce(mine.data(), out.data(), count, MPI_DOUBLE, reduction, 0, handle.comm.get()), "MPI_Reduce");
  check_mpi(MPI_Bcast(out.data(), count, MPI_DOUBLE, 0, handle.comm.get()), "MPI_Bcast");
  return out;
}

/** Median over the trials of one operation; `values` are by trial, then by operation. */
double median(const std::vector<double>& values, size_t operation, size_t operations) {
  std::vector<double> trials;
  for (size_t k = operation; k < values.size(); k += operations) trials.push_back(values[k]);
  std::sort(trials.begin(), trials.end());
  const size_t half = trials.size() / 2;
  return trials.size() % 2 ? trials[half] : (trials[half - 1] + trials[half]) / 2;
}

/** Seconds of one trial: of each operation those of the slowest rank, weighted. */
double trial_total(const cudecompHandle& handle, const std::vector<Operation>& operations,
                   const std::vector<double>& mine) {
  const std::vector<double> slowest = over_ranks(handle, mine, MPI_MAX);
  double total = 0;
  for (size_t k = 0; k < operations.size(); ++k) total += operations[k].weight * slowest[k];
  return total;
}

Measurement summary(const cudecompHandle& handle, const std::vector<Operation>& operations,
                    const std::vector<double>& mine) {
  const std::vector<double> fastest = over_ranks(handle, mine, MPI_MIN), slowest = over_ranks(handle, mine, MPI_MAX),
                            sum = over_ranks(handle, mine, MPI_SUM);
  Measurement measured;
  for (size_t k = 0; k < operations.size(); ++k) {
    const size_t n = operations.size();
    measured.times.push_back({median(fastest, k, n), median(sum, k, n) / handle.nranks, median(slowest, k, n)});
    measured.total += operations[k].weight * measured.times.back().max;
  }
  return measured;
}

} // namespace

Measurement measure(const cudecompHandle& handle, const std::vector<Operation>& operations, const Trials& trials,
                    double best) {
  if (operations.empty()) return {};
  for (int trial = 0; trial < 1 + trials.warmups; ++trial) run_all(operations);

  std::vector<double> mine;
  for (int trial = 0; trial < trials.timed; ++trial) {
    std::vector<double> seconds(operations.size());
    run_timed(handle, operations, seconds.data());
    mine.insert(mine.end(), seconds.begin(), seconds.end());
    if (trial > 0 || trials.skip_threshold == 0) continue;
    const double total = trial_total(handle, operations, seconds);
    if (trials.skip_threshold * total > best) {
      Measurement broken_off;
      broken_off.skipped = format("the first trial took %.6g s, and skip_threshold %g times that is above the best so "
                                  "far, %.6g s",
                                  total, trials.skip_threshold, best);
      return broken_off;
    }
  }
  return summary(handle, operations, mine);
}

} // namespace cudecomp
