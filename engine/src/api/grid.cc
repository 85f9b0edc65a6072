// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "api/grid.h"

#include "api/config.h"

namespace cudecomp {

std::unique_ptr<cudecompGridDesc> build_grid(cudecompHandle& handle, const cudecompGridDescConfig_t& config) {
  auto grid = std::make_unique<cudecompGridDesc>();
  grid->handle = &handle;
  grid->number = ++handle.grids_made;
  grid->config = config;
  const int rows = config.pdims[0], cols = config.pdims[1];
  grid->decomposition = std::make_unique<Decomposition>(Triple{config.gdims[0], config.gdims[1], config.gdims[2]},
                                                        distributed_dims(config), rows, cols, column_major(config));
  grid->row = grid->decomposition->row_of(handle.rank);
  grid->col = grid->decomposition->col_of(handle.rank);
  grid->order = memory_orders(config);
  if (cols > 1) grid->row_comm = handle.comm.split(grid->row, grid->col);
  if (rows > 1) grid->column_comm = handle.comm.split(grid->col, grid->row);
  return grid;
}

} // namespace cudecomp
