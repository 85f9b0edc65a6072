// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/measure.h"

#include "common/error.h"

namespace cudecomp {

namespace {

/** One reduction over the ranks, computed once and sent to all: what follows from it is the same everywhere. */
std::vector<double> over_ranks(const cudecompHandle& handle, const std::vector<double>& mine, MPI_Op reduction) {
  std::vector<double> out(mine.size());
  const int count = static_cast<int>(mine.size());
  check_mpi(MPI_Reduce(mine.data(), out.data(), count, MPI_DOUBLE, reduction, 0, handle.comm.get()), "MPI_Reduce");
  check_mpi(MPI_Bcast(out.data(), count, MPI_DOUBLE, 0, handle.comm.get()), "MPI_Bcast");
  return out;
}

/** The place of an operation in the trial that took it the least time; `values` are by trial, then by operation. */
size_t best_trial(const std::vector<double>& values, size_t operation, size_t operations) {
  size_t best = operation;
  for (size_t k = operation; k < values.size(); k += operations) {
    if (values[k] < values[best]) best = k;
  }
  return best;
}

} // namespace

std::vector<double> run_timed(const cudecompHandle& handle, const std::vector<Operation>& operations) {
  std::vector<double> seconds;
  for (const Operation& operation : operations) {
    // All ranks start together: one operation's delay is not the next one's time.
    check_mpi(MPI_Barrier(handle.comm.get()), "MPI_Barrier");
    const double start = MPI_Wtime();
    operation.run();
    seconds.push_back(MPI_Wtime() - start);
  }
  return seconds;
}

double trial_total(const cudecompHandle& handle, const std::vector<Operation>& operations,
                   const std::vector<double>& seconds) {
  const std::vector<double> slowest = over_ranks(handle, seconds, MPI_MAX);
  double total = 0;
  for (size_t k = 0; k < operations.size(); ++k) total += operations[k].weight * slowest[k];
  return total;
}

Measurement summary(const cudecompHandle& handle, const std::vector<Operation>& operations,
                    const std::vector<double>& seconds) {
  const std::vector<double> fastest = over_ranks(handle, seconds, MPI_MIN),
                            slowest = over_ranks(handle, seconds, MPI_MAX), sum = over_ranks(handle, seconds, MPI_SUM);
  Measurement measured;
  const size_t n = operations.size();
  for (size_t k = 0; k < n; ++k) {
    const size_t best = best_trial(slowest, k, n);
    measured.times.push_back({fastest[best], sum[best] / handle.nranks, slowest[best]});
    measured.total += operations[k].weight * measured.times.back().max;
  }
  return measured;
}

} // namespace cudecomp
