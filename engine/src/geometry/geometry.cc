// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "geometry/geometry.h"

#include <algorithm>

namespace cudecomp {

int64_t Split::smallest() const {
  int64_t least = count(0);
  for (int part = 1; part < parts(); ++part) least = std::min(least, count(part));
  return least;
}

Split split_points(int64_t n, int64_t n_dist, int parts) {
  Split split;
  split.start.resize(static_cast<size_t>(parts) + 1);
  const int64_t each = n_dist / parts, more = n_dist % parts;
  for (int part = 0; part < parts; ++part) split.start[part + 1] = split.start[part] + each + (part < more ? 1 : 0);

  // Parts behind the last one with points stay empty: they begin where the grid ends.
  const int last = each > 0 ? parts - 1 : static_cast<int>(more) - 1;
  for (int part = last + 1; part <= parts; ++part) split.start[part] = n;
  return split;
}

Decomposition::Decomposition(const Triple& gdims, const Triple& gdims_dist, int rows, int cols, bool column_major)
    : gdims_(gdims), rows_(rows), cols_(cols), column_major_(column_major) {
  for (int dim = 0; dim < 3; ++dim) {
    over_rows_[dim] = split_points(gdims[dim], gdims_dist[dim], rows);
    over_cols_[dim] = split_points(gdims[dim], gdims_dist[dim], cols);
    whole_[dim] = split_points(gdims[dim], gdims[dim], 1);
  }
}

int Decomposition::parts(int axis, int dim) const { return split(axis, dim).parts(); }

const Split& Decomposition::split(int axis, int dim) const {
  if (dim == axis) return whole_[dim];
  return dim == dim_over_rows(axis) ? over_rows_[dim] : over_cols_[dim];
}

Box Decomposition::box(int axis, int row, int col) const {
  Box box;
  for (int dim = 0; dim < 3; ++dim) {
    const Split& parts = split(axis, dim);
    const int part = dim == axis ? 0 : (dim == dim_over_rows(axis) ? row : col);
    box.lo[dim] = parts.start[part];
    box.n[dim] = parts.count(part);
  }
  return box;
}

Layout make_layout(const Triple& owned, const std::array<int, 3>& order, const Triple& halo, const Triple& padding) {
  Layout layout;
  layout.owned = owned;
  layout.halo = halo;
  int64_t elements = 1;
  for (int position = 0; position < 3; ++position) {
    const int dim = order[position];
    layout.extent[dim] = owned[dim] + 2 * halo[dim] + padding[dim];
    layout.stride[dim] = elements;
    elements *= layout.extent[dim];
  }
  layout.size = elements;
  return layout;
}

int shifted(int from, int displacement, int size, bool periodic) {
  const int64_t to = static_cast<int64_t>(from) + displacement;
  if (to >= 0 && to < size) return static_cast<int>(to);
  if (!periodic) return -1;
  return static_cast<int>(((to % size) + size) % size);
}

} // namespace cudecomp
