// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * What autotuning chooses from: process grids and backends, narrowed by the options and the environment. No MPI here.
 */

#ifndef CUDECOMP_AUTOTUNE_CANDIDATES_H
#define CUDECOMP_AUTOTUNE_CANDIDATES_H

#include <array>
#include <map>
#include <string>
#include <vector>

#include "cudecomp.h"

namespace cudecomp {

/** The operations that decide, each with backends of its own. */
enum class Kind { transpose, halo };

const char* kind_name(Kind kind);
const char* backend_name(Kind kind, int backend);

/** What is left open and asked to be chosen. User-fixed fields are not in it. */
struct Tuned {
  bool grid = false, transpose_backend = false, halo_backend = false;

  bool any() const { return grid || transpose_backend || halo_backend; }
  bool backend(Kind kind) const { return kind == Kind::transpose ? transpose_backend : halo_backend; }
};

/** `options` may be null: nothing is chosen then. */
Tuned tuned(const cudecompGridDescConfig_t& config, const cudecompGridDescAutotuneOptions_t* options);

/** Environment variables that are set and concern what is tuned: value by name. */
using Filters = std::map<std::string, std::string>;
Filters read_filters(const Tuned& tuned);

using ProcessGrid = std::array<int32_t, 2>;

/** Every process grid of this many ranks that the environment allows, rows rising; throws if none is left. */
std::vector<ProcessGrid> process_grids(int nranks, const Filters& filters);

/** Every backend of a kind that options and environment allow; throws if none is left. */
std::vector<int> backends(Kind kind, const cudecompGridDescAutotuneOptions_t& options, const Filters& filters);

} // namespace cudecomp

#endif // CUDECOMP_AUTOTUNE_CANDIDATES_H
