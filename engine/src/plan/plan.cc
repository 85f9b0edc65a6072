// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "plan/plan.h"

namespace cudecomp {

Region packed_region(const Triple& n, const std::array<int, 3>& order, int64_t offset) {
  Region region;
  region.n = n;
  region.offset = offset;
  int64_t elements = 1;
  for (int dim : order) {
    region.stride[dim] = elements;
    elements *= n[dim];
  }
  return region;
}

bool is_dense(const Region& region, const std::array<int, 3>& order) {
  int64_t elements = 1;
  for (int dim : order) {
    if (region.n[dim] != 1 && region.stride[dim] != elements) return false;
    elements *= region.n[dim];
  }
  return true;
}

Group group_of(int axis, int dim) { return dim == Decomposition::dim_over_rows(axis) ? Group::column : Group::row; }

} // namespace cudecomp
