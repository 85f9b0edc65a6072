// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "report/recorder.h"

#include <algorithm>

namespace cudecomp {

namespace {

/** A program whose geometries never repeat must not fill the memory. */
constexpr size_t max_records = 1024;

void put(const Triple& triple, int32_t* target) {
  for (int dim = 0; dim < 3; ++dim) target[dim] = static_cast<int32_t>(triple[dim]);
}

} // namespace

OperationKey transpose_operation(int from, int to, int dtype, bool in_place, const Triple& input_halo,
                                 const Triple& output_halo, const Triple& input_padding, const Triple& output_padding) {
  OperationKey operation{0, from < to ? from : 4 - from, -1, dtype, in_place};
  put(input_halo, &operation[5]);
  put(output_halo, &operation[8]);
  put(input_padding, &operation[11]);
  put(output_padding, &operation[14]);
  return operation;
}

OperationKey halo_operation(int axis, int dim, int dtype, bool periodic, const Triple& halo, const Triple& padding) {
  OperationKey operation{1, axis, dim, dtype, periodic};
  put(halo, &operation[5]);
  put(padding, &operation[11]);
  return operation;
}

void Recorder::start() {
  local_ = 0;
  begin_ = seconds_now();
}

void Recorder::finish(const OperationKey& operation, const Traffic& traffic) {
  const double seconds = seconds_now() - begin_;
  if (records_.size() >= max_records && records_.find(operation) == records_.end()) {
    ++unrecorded_;
    return;
  }
  Record& record = records_[operation];
  record.traffic = traffic;
  const int64_t number = record.calls++ - settings_.warmups;
  if (number < 0) return;
  const Sample sample{seconds, traffic.alone ? 0 : std::max(0.0, seconds - local_)};
  if (number < settings_.samples) {
    record.samples.push_back(sample);
  } else {
    record.samples[record.oldest] = sample;
    record.oldest = (record.oldest + 1) % record.samples.size();
  }
}

} // namespace cudecomp
