// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_GEOMETRY_GEOMETRY_H
#define CUDECOMP_GEOMETRY_GEOMETRY_H

#include <array>
#include <cstdint>
#include <vector>

namespace cudecomp {

/** Three numbers along X, Y, Z, unless a name says "order". */
using Triple = std::array<int64_t, 3>;

/** How the points of one axis are cut into parts: part k owns the indices start[k] up to start[k + 1]. */
struct Split {
  std::vector<int64_t> start;

  int parts() const { return static_cast<int>(start.size()) - 1; }
  int64_t count(int part) const { return start[part + 1] - start[part]; }
  int64_t smallest() const;
};

/** Cuts n_dist points evenly, the first parts larger, and gives the surplus n - n_dist to the last part with points. */
Split split_points(int64_t n, int64_t n_dist, int parts);

/** A box of global indices: its first point and its extents. */
struct Box {
  Triple lo;
  Triple n;

  int64_t points() const { return n[0] * n[1] * n[2]; }
};

/** The two groups of ranks that exchange: those sharing a column index, and those sharing a row index. */
enum class Group { column, row };

/** A process grid laid over a global grid. */
class Decomposition {
public:
  Decomposition(const Triple& gdims, const Triple& gdims_dist, int rows, int cols, bool column_major);

  int rows() const { return rows_; }
  int cols() const { return cols_; }
  const Triple& gdims() const { return gdims_; }

  /** Ranks of the group that splits `dim` of the pencils along `axis`; 1 where the pencil is complete. */
  int parts(int axis, int dim) const;
  const Split& split(int axis, int dim) const;

  /** Box owned in the pencils along `axis` at a place of the process grid. */
  Box box(int axis, int row, int col) const;

  /** Ranks of a column group, or of a row group. */
  int members(Group group) const { return group == Group::column ? rows_ : cols_; }

  int rank_of(int row, int col) const { return column_major_ ? col * rows_ + row : row * cols_ + col; }
  int row_of(int rank) const { return column_major_ ? rank % rows_ : rank / cols_; }
  int col_of(int rank) const { return column_major_ ? rank / rows_ : rank % cols_; }

  /** The axis of these pencils that the rows (columns) of the process grid split. */
  static int dim_over_rows(int axis) { return axis == 0 ? 1 : 0; }
  static int dim_over_cols(int axis) { return axis == 2 ? 1 : 2; }

private:
  Triple gdims_;
  int rows_, cols_;
  bool column_major_;
  std::array<Split, 3> over_rows_, over_cols_, whole_;
};

/** Where the local array of a pencil keeps its points, in elements. */
struct Layout {
  Triple owned;                               ///< points owned
  Triple halo;                                ///< halo on either side
  Triple extent;                              ///< owned, twice the halo, and padding
  Triple stride;                              ///< elements between neighbours
  int64_t size;                               ///< elements of the array
  int64_t offset(const Triple& local) const { // local index counted from the first owned point
    return (local[0] + halo[0]) * stride[0] + (local[1] + halo[1]) * stride[1] + (local[2] + halo[2]) * stride[2];
  }
};

/** @param order memory order, fastest axis first */
Layout make_layout(const Triple& owned, const std::array<int, 3>& order, const Triple& halo, const Triple& padding);

/** Rank in a group of `size` that is `displacement` steps from `from`; -1 past the end where not periodic. */
int shifted(int from, int displacement, int size, bool periodic);

} // namespace cudecomp

#endif // CUDECOMP_GEOMETRY_GEOMETRY_H
