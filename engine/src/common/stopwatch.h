// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COMMON_STOPWATCH_H
#define CUDECOMP_COMMON_STOPWATCH_H

#include <chrono>

namespace cudecomp {

/** Seconds since some moment in the past. */
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/** Adds the time until the end of a block to a total; a null total costs one comparison. */
class Stopwatch {
public:
  explicit Stopwatch(double* total) : total_(total), begin_(total ? seconds_now() : 0) {}
  ~Stopwatch() {
    if (total_) *total_ += seconds_now() - begin_;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

private:
  double* total_;
  double begin_;
};

} // namespace cudecomp

#endif // CUDECOMP_COMMON_STOPWATCH_H
