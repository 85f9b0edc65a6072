// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_REPORT_RECORDER_H
#define CUDECOMP_REPORT_RECORDER_H

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exchange/exchange.h"

namespace cudecomp {

/** What the environment asks for. */
struct ReportSettings {
  bool enabled = false;
  int detail = 0;     ///< single samples: 0 of no rank, 1 of rank 0, 2 of all
  int samples = 20;   ///< latest calls of each operation that are kept
  int warmups = 3;    ///< first calls of each operation that are not
  std::string folder; ///< where CSV files go, empty for none
};

/**
 * What tells one operation from another, as numbers that travel between ranks: kind (0 transpose, 1 halo update);
 * operation (X to Y, Y to Z, Z to Y, Y to X) or pencil axis; dim, -1 for transposes; dtype; in place or periodic; and
 * four triples: input and output halo, input and output padding, or halo, nothing, padding, nothing.
 */
using OperationKey = std::array<int32_t, 17>;

OperationKey transpose_operation(int from, int to, int dtype, bool in_place, const Triple& input_halo,
                                 const Triple& output_halo, const Triple& input_padding, const Triple& output_padding);
OperationKey halo_operation(int axis, int dim, int dtype, bool periodic, const Triple& halo, const Triple& padding);

/** One call. */
struct Sample {
  double seconds;  ///< from the beginning to the end
  double exchange; ///< of that, all but copies within the rank
};

/** The calls of one operation. */
struct Record {
  int64_t calls = 0;
  Traffic traffic{};
  std::vector<Sample> samples; ///< a ring: once full, the oldest is overwritten
  size_t oldest = 0;           ///< place in the ring
};

/** Takes the times of the operations of one grid descriptor on one rank. */
class Recorder {
public:
  explicit Recorder(const ReportSettings& settings) : settings_(settings) {}

  /** Where exchanges add up the time of copies that stay within this rank. */
  double* local_seconds() { return &local_; }
  void start();
  void finish(const OperationKey& operation, const Traffic& traffic);

  const ReportSettings& settings() const { return settings_; }
  const std::map<OperationKey, Record>& records() const { return records_; }
  int64_t unrecorded() const { return unrecorded_; }

private:
  ReportSettings settings_;
  double begin_ = 0, local_ = 0;
  std::map<OperationKey, Record> records_;
  int64_t unrecorded_ = 0; ///< calls beyond the number of operations that are told apart
};

} // namespace cudecomp

#endif // CUDECOMP_REPORT_RECORDER_H
