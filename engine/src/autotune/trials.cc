// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/trials.h"

#include <algorithm>
#include <cstring>

#include "api/checks.h"
#include "api/transport.h"
#include "common/error.h"

namespace cudecomp {

namespace {

/** The transposes in the order of the options. Trials call them as a program does, with all that a call costs. */
struct TransposeOperation {
  int from, to;
  const char* name; ///< in the report
  decltype(&cudecompTransposeXToY) run;
};
constexpr TransposeOperation transposes[4] = {{0, 1, "x_to_y", cudecompTransposeXToY},
                                              {1, 2, "y_to_z", cudecompTransposeYToZ},
                                              {2, 1, "z_to_y", cudecompTransposeZToY},
                                              {1, 0, "y_to_x", cudecompTransposeYToX}};
constexpr decltype(&cudecompUpdateHalosX) halo_updates[3] = {cudecompUpdateHalosX, cudecompUpdateHalosY,
                                                             cudecompUpdateHalosZ};
constexpr const char* dim_names[3] = {"x", "y", "z"};

void throw_unless(cudecompResult_t result) {
  if (result != CUDECOMP_RESULT_SUCCESS) throw Error(result, last_error());
}

/** Bytes of a local array; throws where they do not fit 63 bits. The largest part decides: all ranks refuse alike. */
int64_t array_bytes(const cudecompGridDesc& grid, int axis, const int32_t halo[], const int32_t padding[], int item) {
  const Triple halos = checked_extents("halo", halo), pads = checked_extents("padding", padding);
  const Decomposition& decomposition = *grid.decomposition;
  int64_t most = item, own = item;
  bool fits = true;
  for (int dim = 0; dim < 3; ++dim) {
    const int64_t around = 2 * halos[dim] + pads[dim];
    const Box box = decomposition.box(axis, grid.row, grid.col);
    fits = fits && !__builtin_mul_overflow(most, decomposition.gdims()[dim] + around, &most);
    own = fits ? own * (box.n[dim] + around) : 0;
  }
  if (!fits) invalid_usage("the %s-pencils with halo and padding have more than 2^63 bytes", axis_names[axis]);
  checked_layout(grid, axis, halos, pads);
  return own;
}

ArraySizes transpose_array_sizes(const cudecompGridDesc& grid, const Options& options) {
  ArraySizes sizes;
  const int item = item_size(options.dtype);
  for (int op = 0; op < 4; ++op) {
    if (options.transpose_op_weights[op] == 0) continue;
    const int64_t in = array_bytes(grid, transposes[op].from, options.transpose_input_halo_extents[op],
                                   options.transpose_input_padding[op], item);
    const int64_t out = array_bytes(grid, transposes[op].to, options.transpose_output_halo_extents[op],
                                    options.transpose_output_padding[op], item);
    int64_t& target = options.transpose_use_inplace_buffers[op] ? sizes.first : sizes.second;
    sizes.first = std::max(sizes.first, in);
    target = std::max(target, out);
  }
  return sizes;
}

/** Throws why halo updates cannot run on a grid, alike on all ranks. */
ArraySizes halo_array_sizes(const cudecompGridDesc& grid, const Options& options) {
  for (int dim = 0; dim < 3; ++dim)
    check_halo_depth(grid, options.halo_axis, dim, options.halo_extents[dim], options.halo_periods[dim]);
  return {array_bytes(grid, options.halo_axis, options.halo_extents, options.halo_padding, item_size(options.dtype)),
          0};
}

std::vector<Operation> transpose_operations(cudecompGridDesc& grid, const Options& options, const Arrays& arrays) {
  std::vector<Operation> operations;
  for (int op = 0; op < 4; ++op) {
    if (options.transpose_op_weights[op] == 0) // it cannot matter, so it does not run
      continue;
    void* input = arrays.first.data();
    void* output = options.transpose_use_inplace_buffers[op] ? input : arrays.second.data();
    const auto run = [=, &grid, &options] {
      throw_unless(transposes[op].run(grid.handle, &grid, input, output, CUDECOMP_WORKSPACE_AUTO, options.dtype,
                                      options.transpose_input_halo_extents[op],
                                      options.transpose_output_halo_extents[op], options.transpose_input_padding[op],
                                      options.transpose_output_padding[op], nullptr));
    };
    operations.push_back({transposes[op].name, options.transpose_op_weights[op], run});
  }
  return operations;
}

std::vector<Operation> halo_operations(cudecompGridDesc& grid, const Options& options, const Arrays& arrays) {
  std::vector<Operation> operations;
  for (int dim = 0; dim < 3; ++dim) {
    if (options.halo_extents[dim] == 0) continue;
    const auto run = [=, &grid, &options, data = arrays.first.data()] {
      throw_unless(halo_updates[options.halo_axis](grid.handle, &grid, data, CUDECOMP_WORKSPACE_AUTO, options.dtype,
                                                   options.halo_extents, options.halo_periods, dim,
                                                   options.halo_padding, nullptr));
    };
    operations.push_back({dim_names[dim], 1.0, run});
  }
  return operations;
}

} // namespace

ArraySizes array_sizes(Kind kind, const cudecompGridDesc& grid, const Options& options) {
  return kind == Kind::transpose ? transpose_array_sizes(grid, options) : halo_array_sizes(grid, options);
}

void make_arrays(const cudecompHandle& handle, const ArraySizes& sizes, Arrays& arrays) {
  agree(handle, {}, [&] {
    try {
      arrays.first.at_least(static_cast<size_t>(sizes.first));
      arrays.second.at_least(static_cast<size_t>(sizes.second));
    } catch (const std::bad_alloc&) {
      throw Error(CUDECOMP_RESULT_INTERNAL_ERROR,
                  format("no memory for trial arrays of %lld and %lld bytes", static_cast<long long>(sizes.first),
                         static_cast<long long>(sizes.second)));
    }
  });
}

void touch_arrays(const Arrays& arrays) {
  for (const Workspace* array : {&arrays.first, &arrays.second}) {
    if (array->bytes() > 0) std::memset(array->data(), 0, array->bytes());
  }
}

std::vector<Operation> trial_operations(Kind kind, cudecompGridDesc& grid, const Options& options,
                                        const Arrays& arrays) {
  return kind == Kind::transpose ? transpose_operations(grid, options, arrays) : halo_operations(grid, options, arrays);
}

} // namespace cudecomp
