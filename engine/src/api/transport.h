// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_API_TRANSPORT_H
#define CUDECOMP_API_TRANSPORT_H

#include "api/objects.h"

namespace cudecomp {

/** A transpose of this grid descriptor, as the plan wants it. */
TransposeShape transpose_shape(const cudecompGridDesc& grid, int from, int to, const Triple& input_halo,
                               const Triple& output_halo, const Triple& input_padding, const Triple& output_padding);

/** Refuses, on all ranks alike, layers deeper than a part: they would need points from beyond the neighbour. */
void check_halo_depth(const cudecompGridDesc& grid, int axis, int dim, int64_t depth, bool periodic);

} // namespace cudecomp

#endif // CUDECOMP_API_TRANSPORT_H
