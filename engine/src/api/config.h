// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_API_CONFIG_H
#define CUDECOMP_API_CONFIG_H

#include "api/checks.h"
#include "autotune/candidates.h"
#include "cudecomp.h"

namespace cudecomp {

bool column_major(const cudecompGridDescConfig_t& config);
bool pdims_unset(const cudecompGridDescConfig_t& config);
Triple distributed_dims(const cudecompGridDescConfig_t& config);
std::array<std::array<int, 3>, 3> memory_orders(const cudecompGridDescConfig_t& config);

/** Throws what is wrong with a configuration for this number of ranks. Backends that are tuned may be anything. */
void check_config(const cudecompGridDescConfig_t& config, int nranks, const Tuned& tuned);
void check_options(const cudecompGridDescAutotuneOptions_t& options);

/** All that ranks must agree on. `options` may be null. */
Fingerprint fingerprint(const cudecompGridDescConfig_t& config, const cudecompGridDescAutotuneOptions_t* options);

cudecompGridDescConfig_t default_config();
cudecompGridDescAutotuneOptions_t default_options();

} // namespace cudecomp

#endif // CUDECOMP_API_CONFIG_H
