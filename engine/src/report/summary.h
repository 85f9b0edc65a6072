// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_REPORT_SUMMARY_H
#define CUDECOMP_REPORT_SUMMARY_H

#include <utility>
#include <vector>

#include "exchange/comm.h"
#include "report/recorder.h"

namespace cudecomp {

/** One operation over all ranks that called it. */
struct Row {
  OperationKey operation;
  int ranks = 0;
  int64_t calls = 0;                                        ///< on the rank with the most
  int64_t samples = 0;                                      ///< of all ranks together
  double seconds = 0, exchange = 0;                         ///< sums over the samples
  double least = 0, most = 0;                               ///< of any sample
  double bytes = 0, exchanged_bytes = 0;                    ///< sums over the ranks
  std::vector<std::pair<int, std::vector<Sample>>> by_rank; ///< where single samples are wanted

  // What no sample tells is no number.
  double mean() const;
  double shortest() const;
  double longest() const;
  double exchange_share() const;
  double mean_bytes() const { return bytes / ranks; }
  double mean_exchanged_bytes() const { return exchanged_bytes / ranks; }
  /** Bytes per second and rank. */
  double bandwidth() const { return mean_bytes() / mean(); }
  double exchange_bandwidth() const;
};

struct Summary {
  std::vector<Row> rows;
  int64_t unrecorded = 0; ///< calls, of all ranks together
};

/** Collective: what all ranks have recorded, on rank 0; empty on the others. */
Summary summarize(const Comm& comm, const Recorder& recorder);

} // namespace cudecomp

#endif // CUDECOMP_REPORT_SUMMARY_H
