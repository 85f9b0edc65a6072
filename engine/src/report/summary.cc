// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "report/summary.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cudecomp {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/** What a rank has recorded as numbers, all of them exact in doubles. */
std::vector<double> flat(const Recorder& recorder, bool with_samples) {
  std::vector<double> numbers{static_cast<double>(recorder.unrecorded())};
  for (const auto& [operation, record] : recorder.records()) {
    numbers.insert(numbers.end(), operation.begin(), operation.end());
    Sample sum{0, 0};
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const Sample& sample : record.samples) {
      sum.seconds += sample.seconds;
      sum.exchange += sample.exchange;
      least = std::min(least, sample.seconds);
      most = std::max(most, sample.seconds);
    }
    const size_t single = with_samples ? record.samples.size() : 0;
    numbers.insert(numbers.end(),
                   {static_cast<double>(record.calls), static_cast<double>(record.traffic.bytes),
                    static_cast<double>(record.traffic.from_others), static_cast<double>(record.samples.size()),
                    sum.seconds, sum.exchange, least, most, static_cast<double>(single)});
    for (size_t k = 0; k < single; ++k) {
      const Sample& sample = record.samples[(record.oldest + k) % record.samples.size()];
      numbers.insert(numbers.end(), {sample.seconds, sample.exchange});
    }
  }
  return numbers;
}

/** Adds one record of a rank to the rows, and returns where the next begins. */
const double* add(const double* at, int rank, std::map<OperationKey, Row>& rows) {
  OperationKey operation;
  for (int32_t& number : operation) number = static_cast<int32_t>(*at++);
  Row& row = rows[operation];
  if (row.ranks++ == 0) row.least = std::numeric_limits<double>::infinity();
  row.operation = operation;
  row.calls = std::max(row.calls, static_cast<int64_t>(*at++));
  row.bytes += *at++;
  row.exchanged_bytes += *at++;
  row.samples += static_cast<int64_t>(*at++);
  row.seconds += *at++;
  row.exchange += *at++;
  row.least = std::min(row.least, *at++);
  row.most = std::max(row.most, *at++);
  const size_t single = static_cast<size_t>(*at++);
  if (single > 0) row.by_rank.push_back({rank, {}});
  for (size_t k = 0; k < single; ++k, at += 2) row.by_rank.back().second.push_back({at[0], at[1]});
  return at;
}

/** Collective: the numbers of all ranks on rank 0, one after the other, with where each begins and all end. */
std::vector<double> gather(const Comm& comm, const std::vector<double>& mine, std::vector<int>& starts) {
  const int ranks = comm.size();
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(ranks);
  check_mpi(MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm.get()), "MPI_Gather");
  starts.assign(ranks + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  std::vector<double> all(comm.rank() == 0 ? starts.back() : 0);
  check_mpi(
      MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), starts.data(), MPI_DOUBLE, 0, comm.get()),
      "MPI_Gatherv");
  return all;
}

} // namespace

double Row::mean() const { return samples ? seconds / static_cast<double>(samples) : unknown; }
double Row::shortest() const { return samples ? least : unknown; }
double Row::longest() const { return samples ? most : unknown; }
double Row::exchange_share() const { return samples && seconds > 0 ? exchange / seconds : unknown; }

double Row::exchange_bandwidth() const {
  if (exchanged_bytes == 0 || exchange == 0) return unknown;
  return mean_exchanged_bytes() / (exchange / static_cast<double>(samples));
}

Summary summarize(const Comm& comm, const Recorder& recorder) {
  const int rank = comm.rank(), detail = recorder.settings().detail;
  std::vector<int> starts;
  const std::vector<double> all = gather(comm, flat(recorder, detail > (rank ? 1 : 0)), starts);
  Summary summary;
  if (rank != 0) return summary;
  std::map<OperationKey, Row> rows;
  for (int other = 0; other + 1 < static_cast<int>(starts.size()); ++other) {
    const double* at = all.data() + starts[other];
    summary.unrecorded += static_cast<int64_t>(*at++);
    while (at < all.data() + starts[other + 1]) at = add(at, other, rows);
  }
  for (auto& [operation, row] : rows) summary.rows.push_back(std::move(row));
  return summary;
}

} // namespace cudecomp
