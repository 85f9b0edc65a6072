// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "api/config.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "common/error.h"

namespace cudecomp {

namespace {

constexpr const char* operation_names[4] = {"X-to-Y", "Y-to-Z", "Z-to-Y", "Y-to-X"};

std::string numbers(const int32_t values[3]) { return tuple_text(std::array<int, 3>{values[0], values[1], values[2]}); }

bool mem_order_unset(const cudecompGridDescConfig_t& config) {
  for (const auto& order : config.transpose_mem_order) {
    for (int32_t dim : order) {
      if (dim >= 0) return false;
    }
  }
  return true;
}

void check_gdims(const cudecompGridDescConfig_t& config) {
  int set = 0;
  for (int dim = 0; dim < 3; ++dim) {
    if (config.gdims[dim] < 1) {
      invalid_usage("gdims is %s, expected three sizes of 1 or more", numbers(config.gdims).c_str());
    }
    if (config.gdims_dist[dim] < 0) {
      invalid_usage("gdims_dist is %s, expected three sizes of 1 or more, or all 0 for none",
                    numbers(config.gdims_dist).c_str());
    }
    set += config.gdims_dist[dim] > 0;
  }
  if (set != 0 && set != 3) {
    invalid_usage("gdims_dist is %s: set all three entries, or none", numbers(config.gdims_dist).c_str());
  }
  for (int dim = 0; dim < 3; ++dim) {
    if (config.gdims_dist[dim] > config.gdims[dim]) {
      invalid_usage("gdims_dist is %s, expected entries of at most gdims %s", numbers(config.gdims_dist).c_str(),
                    numbers(config.gdims).c_str());
    }
  }
}

void check_pdims(const cudecompGridDescConfig_t& config, int nranks) {
  const int32_t rows = config.pdims[0], cols = config.pdims[1];
  if (rows < 0 || cols < 0 || (rows == 0) != (cols == 0)) {
    invalid_usage("pdims is (%d, %d): set both entries to 1 or more, or both to 0 for autotuning", rows, cols);
  }
  if (rows != 0 && static_cast<int64_t>(rows) * cols != nranks) {
    invalid_usage("pdims is (%d, %d), a product of %lld, expected a product of %d, the number of ranks", rows, cols,
                  static_cast<long long>(rows) * cols, nranks);
  }
}

void check_mem_order(const cudecompGridDescConfig_t& config) {
  if (mem_order_unset(config)) return;
  for (int axis = 0; axis < 3; ++axis) {
    bool seen[3] = {};
    for (int32_t dim : config.transpose_mem_order[axis]) {
      if (dim >= 0 && dim < 3) seen[dim] = true;
    }
    if (!seen[0] || !seen[1] || !seen[2]) {
      invalid_usage("transpose_mem_order[%d] is %s, expected a permutation of (0, 1, 2) for every axis, or -1 in all "
                    "nine entries for none",
                    axis, numbers(config.transpose_mem_order[axis]).c_str());
    }
  }
}

void check_transpose_backend(const cudecompTransposeCommBackend_t& backend) {
  const int number = number_of(backend);
  if (number < CUDECOMP_TRANSPOSE_COMM_MPI_P2P || number > CUDECOMP_TRANSPOSE_COMM_NVSHMEM_SM) {
    invalid_usage("transpose_comm_backend is %d, which is no backend", number);
  }
  if (number > CUDECOMP_TRANSPOSE_COMM_MPI_A2A) {
    not_supported(
        "transpose_comm_backend %s moves GPU memory; the built-in engine works on host memory and has MPI_P2P, "
        "MPI_P2P_PL and MPI_A2A",
        cudecompTransposeCommBackendToString(backend));
  }
}

void check_halo_backend(const cudecompHaloCommBackend_t& backend) {
  const int number = number_of(backend);
  if (number < CUDECOMP_HALO_COMM_MPI || number > CUDECOMP_HALO_COMM_NVSHMEM_BLOCKING) {
    invalid_usage("halo_comm_backend is %d, which is no backend", number);
  }
  if (number > CUDECOMP_HALO_COMM_MPI_BLOCKING) {
    not_supported("halo_comm_backend %s moves GPU memory; the built-in engine works on host memory and has MPI and "
                  "MPI_BLOCKING",
                  cudecompHaloCommBackendToString(backend));
  }
}

void check_extents(const std::string& name, const int32_t extents[3]) {
  for (int dim = 0; dim < 3; ++dim) {
    if (extents[dim] < 0) invalid_usage("%s is %s, expected 0 or more", name.c_str(), numbers(extents).c_str());
  }
}

} // namespace

bool column_major(const cudecompGridDescConfig_t& config) {
  const int order = number_of(config.rank_order);
  if (order != CUDECOMP_RANK_ORDER_DEFAULT) return order == CUDECOMP_RANK_ORDER_COL_MAJOR;
  const char* setting = std::getenv("CUDECOMP_USE_COL_MAJOR_RANK_ORDER");
  return setting && std::strcmp(setting, "1") == 0;
}

bool pdims_unset(const cudecompGridDescConfig_t& config) { return config.pdims[0] == 0 && config.pdims[1] == 0; }

Triple distributed_dims(const cudecompGridDescConfig_t& config) {
  const int32_t* dims = config.gdims_dist[0] > 0 ? config.gdims_dist : config.gdims;
  return {dims[0], dims[1], dims[2]};
}

std::array<std::array<int, 3>, 3> memory_orders(const cudecompGridDescConfig_t& config) {
  std::array<std::array<int, 3>, 3> orders;
  const bool explicit_orders = !mem_order_unset(config);
  for (int axis = 0; axis < 3; ++axis) {
    for (int position = 0; position < 3; ++position) {
      orders[axis][position] = explicit_orders                          ? config.transpose_mem_order[axis][position]
                               : config.transpose_axis_contiguous[axis] ? (axis + position) % 3
                                                                        : position;
    }
  }
  return orders;
}

void check_config(const cudecompGridDescConfig_t& config, int nranks, const Tuned& tuned) {
  check_gdims(config);
  check_pdims(config, nranks);
  const int rank_order = number_of(config.rank_order);
  if (rank_order < CUDECOMP_RANK_ORDER_DEFAULT || rank_order > CUDECOMP_RANK_ORDER_COL_MAJOR) {
    invalid_usage("rank_order is %d, expected 0 (DEFAULT), 1 (ROW_MAJOR) or 2 (COL_MAJOR)", rank_order);
  }
  check_mem_order(config);
  if (!tuned.transpose_backend) check_transpose_backend(config.transpose_comm_backend);
  if (!tuned.halo_backend) check_halo_backend(config.halo_comm_backend);
}

void check_options(const cudecompGridDescAutotuneOptions_t& options) {
  if (options.n_warmup_trials < 0) {
    invalid_usage("n_warmup_trials is %d, expected 0 or more", options.n_warmup_trials);
  }
  if (options.n_trials < 1) invalid_usage("n_trials is %d, expected 1 or more", options.n_trials);
  const int grid_mode = number_of(options.grid_mode);
  if (grid_mode != CUDECOMP_AUTOTUNE_GRID_TRANSPOSE && grid_mode != CUDECOMP_AUTOTUNE_GRID_HALO) {
    invalid_usage("grid_mode is %d, expected 0 (TRANSPOSE) or 1 (HALO)", grid_mode);
  }
  item_size(number_of(options.dtype));
  if (!(options.skip_threshold >= 0.0) || std::isinf(options.skip_threshold)) {
    invalid_usage("skip_threshold is %g, expected a finite number of 0 or more", options.skip_threshold);
  }
  for (int operation = 0; operation < 4; ++operation) {
    if (!(options.transpose_op_weights[operation] >= 0.0) || std::isinf(options.transpose_op_weights[operation])) {
      invalid_usage("transpose_op_weights[%d] (%s) is %g, expected a finite number of 0 or more", operation,
                    operation_names[operation], options.transpose_op_weights[operation]);
    }
    const std::string index = format("[%d]", operation);
    check_extents("transpose_input_halo_extents" + index, options.transpose_input_halo_extents[operation]);
    check_extents("transpose_output_halo_extents" + index, options.transpose_output_halo_extents[operation]);
    check_extents("transpose_input_padding" + index, options.transpose_input_padding[operation]);
    check_extents("transpose_output_padding" + index, options.transpose_output_padding[operation]);
  }
  check_extents("halo_extents", options.halo_extents);
  check_extents("halo_padding", options.halo_padding);
  checked_axis("halo_axis", options.halo_axis);
}

Fingerprint fingerprint(const cudecompGridDescConfig_t& config, const cudecompGridDescAutotuneOptions_t* options) {
  Fingerprint print;
  const auto triple = [&](const char* name, const int32_t values[3]) {
    for (int k = 0; k < 3; ++k) print.add(format("%s[%d]", name, k), values[k]);
  };
  triple("gdims", config.gdims);
  triple("gdims_dist", config.gdims_dist);
  print.add("pdims[0]", config.pdims[0]);
  print.add("pdims[1]", config.pdims[1]);
  print.add("rank order (rank_order and CUDECOMP_USE_COL_MAJOR_RANK_ORDER, 1 for column-major)", column_major(config));
  print.add("transpose_comm_backend", number_of(config.transpose_comm_backend));
  print.add("halo_comm_backend", number_of(config.halo_comm_backend));
  for (int axis = 0; axis < 3; ++axis) {
    print.add(format("transpose_axis_contiguous[%d]", axis), config.transpose_axis_contiguous[axis]);
    triple(format("transpose_mem_order[%d]", axis).c_str(), config.transpose_mem_order[axis]);
  }
  print.add("presence of options", options != nullptr);

  static const cudecompGridDescAutotuneOptions_t none = default_options();
  const cudecompGridDescAutotuneOptions_t& given = options ? *options : none;
  const auto real = [&](const std::string& name, double value) {
    int64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    print.add(name + " (bits)", bits);
  };
  print.add("n_warmup_trials", given.n_warmup_trials);
  print.add("n_trials", given.n_trials);
  print.add("grid_mode", number_of(given.grid_mode));
  print.add("dtype", number_of(given.dtype));
  print.add("allow_uneven_decompositions", given.allow_uneven_decompositions);
  print.add("disable_mpi_backends", given.disable_mpi_backends);
  print.add("disable_nccl_backends", given.disable_nccl_backends);
  print.add("disable_nvshmem_backends", given.disable_nvshmem_backends);
  real("skip_threshold", given.skip_threshold);
  print.add("autotune_transpose_backend", given.autotune_transpose_backend);
  for (int operation = 0; operation < 4; ++operation) {
    const std::string index = format("[%d]", operation);
    print.add("transpose_use_inplace_buffers" + index, given.transpose_use_inplace_buffers[operation]);
    real("transpose_op_weights" + index, given.transpose_op_weights[operation]);
    triple(("transpose_input_halo_extents" + index).c_str(), given.transpose_input_halo_extents[operation]);
    triple(("transpose_output_halo_extents" + index).c_str(), given.transpose_output_halo_extents[operation]);
    triple(("transpose_input_padding" + index).c_str(), given.transpose_input_padding[operation]);
    triple(("transpose_output_padding" + index).c_str(), given.transpose_output_padding[operation]);
  }
  print.add("autotune_halo_backend", given.autotune_halo_backend);
  triple("halo_extents", given.halo_extents);
  for (int dim = 0; dim < 3; ++dim) print.add(format("halo_periods[%d]", dim), given.halo_periods[dim]);
  print.add("halo_axis", given.halo_axis);
  triple("halo_padding", given.halo_padding);
  return print;
}

cudecompGridDescConfig_t default_config() {
  cudecompGridDescConfig_t config{};
  config.struct_size = sizeof config;
  config.magic = CUDECOMP_GRID_DESC_CONFIG_MAGIC;
  config.version = CUDECOMP_GRID_DESC_CONFIG_VERSION;
  config.rank_order = CUDECOMP_RANK_ORDER_DEFAULT;
  config.transpose_comm_backend = CUDECOMP_TRANSPOSE_COMM_MPI_P2P;
  config.halo_comm_backend = CUDECOMP_HALO_COMM_MPI;
  for (auto& order : config.transpose_mem_order) {
    for (int32_t& dim : order) dim = -1;
  }
  return config;
}

cudecompGridDescAutotuneOptions_t default_options() {
  cudecompGridDescAutotuneOptions_t options{};
  options.struct_size = sizeof options;
  options.magic = CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_MAGIC;
  options.version = CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_VERSION;
  options.n_warmup_trials = 3;
  options.n_trials = 5;
  options.grid_mode = CUDECOMP_AUTOTUNE_GRID_TRANSPOSE;
  options.dtype = CUDECOMP_DOUBLE;
  options.allow_uneven_decompositions = true;
  for (double& weight : options.transpose_op_weights) weight = 1.0;
  return options;
}

} // namespace cudecomp
