// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_AUTOTUNE_REPORT_H
#define CUDECOMP_AUTOTUNE_REPORT_H

#include <string>
#include <vector>

#include "autotune/candidates.h"
#include "autotune/measure.h"

namespace cudecomp {

/** One candidate and what became of it. */
struct Candidate {
  Kind kind;
  ProcessGrid grid;
  int backend;
  std::vector<std::string> operations; ///< names, as in `measured.times`
  std::vector<double> weights;
  Measurement measured;
  bool chosen = false;
};

/** Everything that autotuning found out. */
struct Report {
  Tuned tuned;
  Filters filters;
  int ranks = 0;
  double seconds = 0; ///< that all of it took
  std::vector<Candidate> candidates;
};

/** The report as one JSON object; `config` holds the choice. */
std::string to_json(const Report& report, const cudecompGridDescConfig_t& config);

} // namespace cudecomp

#endif // CUDECOMP_AUTOTUNE_REPORT_H
