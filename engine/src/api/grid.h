// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_API_GRID_H
#define CUDECOMP_API_GRID_H

#include <memory>

#include "api/objects.h"

namespace cudecomp {

/** Collective: a grid descriptor from a configuration that is complete, checked, and equal on all ranks. */
std::unique_ptr<cudecompGridDesc> build_grid(cudecompHandle& handle, const cudecompGridDescConfig_t& config);

} // namespace cudecomp

#endif // CUDECOMP_API_GRID_H
