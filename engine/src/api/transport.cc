// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * Exported functions that move data: transposes and halo updates.
 */

#include "api/transport.h"

#include "api/checks.h"
#include "api/export.h"
#include "common/error.h"

using namespace cudecomp;

namespace cudecomp {

TransposeShape transpose_shape(const cudecompGridDesc& grid, int from, int to, const Triple& input_halo,
                               const Triple& output_halo, const Triple& input_padding, const Triple& output_padding) {
  return {from, to, grid.order[from], grid.order[to], input_halo, output_halo, input_padding, output_padding};
}

void check_halo_depth(const cudecompGridDesc& grid, int axis, int dim, int64_t depth, bool periodic) {
  const Split& split = grid.decomposition->split(axis, dim);
  if (split.parts() == 1 && !periodic) return;
  if (depth > split.smallest()) {
    invalid_usage("halo_extents[%d] is %lld, but the smallest local extent along %s is %lld: halos reach one neighbour "
                  "far at most; use fewer ranks along %s or a thinner halo",
                  dim, static_cast<long long>(depth), axis_names[dim], static_cast<long long>(split.smallest()),
                  axis_names[dim]);
  }
}

} // namespace cudecomp

namespace {

/** A channel to no one, for what stays on this rank. */
Channel local_channel(const cudecompGridDesc& grid, int item) {
  const cudecompHandle& handle = *grid.handle;
  double* local_seconds = grid.recorder ? grid.recorder->local_seconds() : nullptr;
  return {MPI_COMM_NULL, handle.types.of(item), item, handle.largest_message(item), nullptr, 0, {},
          local_seconds, handle.team.get()};
}

/** One number for what ranks must have in common in an operation: which it is, of which grid, and with what. */
uint64_t signature_of(const cudecompGridDesc& grid, std::initializer_list<int64_t> which,
                      std::initializer_list<Triple> extents) {
  uint64_t signature = 0xcbf29ce484222325;
  const auto add = [&](int64_t value) { signature = (signature ^ static_cast<uint64_t>(value)) * 0x100000001b3; };
  add(grid.number);
  for (int64_t value : which) add(value);
  for (const Triple& triple : extents) {
    for (int64_t value : triple) add(value);
  }
  return signature;
}

Channel channel_of(const cudecompGridDesc& grid, Group group, int item, uint64_t signature) {
  const cudecompHandle& handle = *grid.handle;
  Channel channel = local_channel(grid, item);
  channel.signature = signature;
  channel.comm = grid.comm_of(group);
  channel.node = handle.node;
  for (int member = 0; member < grid.decomposition->members(group); ++member) {
    const int rank = grid.rank_of(group, member);
    channel.node_index.push_back(handle.node && rank != handle.rank ? handle.node->index_of(rank) : -1);
  }
  return channel;
}

/** Equal bases mean in place; any other overlap would be overwritten while it is read. */
bool in_place(const void* input, int64_t input_bytes, const void* output, int64_t output_bytes) {
  if (input == output) return true;
  const char* in = static_cast<const char*>(input);
  const char* out = static_cast<const char*>(output);
  if (in < out + output_bytes && out < in + input_bytes) {
    invalid_usage(
        "input and output overlap in part: pass the same address for an in-place transpose, or separate arrays");
  }
  return false;
}

std::unique_ptr<TransposeExchange> prepare_transpose(const cudecompGridDesc& grid, const TransposeShape& shape,
                                                     int dtype, bool in_place) {
  const Group group = transpose_group(shape.from, shape.to);
  const uint64_t signature =
      signature_of(grid, {0, shape.from, shape.to, dtype},
                   {shape.input_halo, shape.output_halo, shape.input_padding, shape.output_padding});
  const Channel channel = channel_of(grid, group, item_size(dtype), signature);
  const int me = grid.place_in(group);
  TransposePlans plans(channel.node_index.size());
  for (int member = 0; member < static_cast<int>(plans.size()); ++member) {
    if (member != me && !channel.near(member)) continue;
    plans[member] = plan_transpose(*grid.decomposition, grid.row_of(group, member), grid.col_of(group, member), shape);
  }
  switch (grid.config.transpose_comm_backend) {
  case CUDECOMP_TRANSPOSE_COMM_MPI_P2P: return std::make_unique<TransposeP2P>(plans, me, channel, in_place);
  case CUDECOMP_TRANSPOSE_COMM_MPI_P2P_PL: return std::make_unique<TransposePipelined>(plans, me, channel, in_place);
  case CUDECOMP_TRANSPOSE_COMM_MPI_A2A: return std::make_unique<TransposeAllToAll>(plans, me, channel, in_place);
  default: internal_error("transpose backend %d passed creation", grid.config.transpose_comm_backend);
  }
}

std::unique_ptr<HaloExchange> prepare_halo(const cudecompGridDesc& grid, const HaloShape& shape, int dtype) {
  const HaloPlan plan = plan_halo(*grid.decomposition, grid.row, grid.col, shape);
  const uint64_t signature =
      signature_of(grid, {1, shape.axis, shape.dim, dtype, shape.periodic}, {shape.halo, shape.padding});
  const int item = item_size(dtype);
  const Channel channel = plan.local ? local_channel(grid, item) : channel_of(grid, plan.group, item, signature);
  HaloPlan neighbours[2]{};
  for (int side = 0; side < 2 && !plan.local; ++side) {
    const int member = plan.directions[side].to;
    if (member < 0 || !channel.near(member)) continue;
    neighbours[side] =
        plan_halo(*grid.decomposition, grid.row_of(plan.group, member), grid.col_of(plan.group, member), shape);
  }
  return std::make_unique<HaloExchange>(plan, neighbours, channel,
                                        grid.config.halo_comm_backend == CUDECOMP_HALO_COMM_MPI_BLOCKING);
}

/** More geometries than programs repeat; one that never repeats any must not grow for ever. */
constexpr size_t max_prepared = 256;

/** The place of a prepared exchange, empty the first time. What it holds is local, so ranks may forget at any time. */
template <class Exchanges>
typename Exchanges::mapped_type& prepared(Exchanges& exchanges, const typename Exchanges::key_type& key) {
  const auto known = exchanges.find(key);
  if (known != exchanges.end()) return known->second;
  if (exchanges.size() >= max_prepared) exchanges.clear();
  return exchanges[key];
}

cudecompResult_t transpose(int from, int to, cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* input,
                           void* output, void* work, int dtype, const int32_t input_halo_extents[],
                           const int32_t output_halo_extents[], const int32_t input_padding[],
                           const int32_t output_padding[]) {
  return guarded([&] {
    cudecompGridDesc& grid = checked(handle, grid_desc);
    if (grid.recorder) grid.recorder->start();
    const int item = item_size(dtype);
    const Triple input_halo = checked_extents("input_halo_extents", input_halo_extents);
    const Triple output_halo = checked_extents("output_halo_extents", output_halo_extents);
    const Triple input_pad = checked_extents("input_padding", input_padding);
    const Triple output_pad = checked_extents("output_padding", output_padding);
    const Layout in = checked_layout(grid, from, input_halo, input_pad);
    const Layout out = checked_layout(grid, to, output_halo, output_pad);
    if (in.size > 0) check_not_null("input", input);
    if (out.size > 0) check_not_null("output", output);
    const bool same = in.size > 0 && out.size > 0 && in_place(input, in.size * item, output, out.size * item);

    std::unique_ptr<TransposeExchange>& exchange =
        prepared(grid.transposes,
                 cudecompGridDesc::TransposeKey(from, to, dtype, same, input_halo, output_halo, input_pad, output_pad));
    if (!exchange) {
      exchange = prepare_transpose(
          grid, transpose_shape(grid, from, to, input_halo, output_halo, input_pad, output_pad), dtype, same);
    }
    if (!work) work = handle->workspace.at_least(static_cast<size_t>(exchange->work_size()) * item);
    exchange->run(input, static_cast<size_t>(in.size) * item, output, static_cast<size_t>(out.size) * item, work);
    if (grid.recorder) {
      grid.recorder->finish(transpose_operation(from, to, dtype, same, input_halo, output_halo, input_pad, output_pad),
                            exchange->traffic());
    }
  });
}

cudecompResult_t update_halos(int axis, cudecompHandle_t handle, cudecompGridDesc_t grid_desc, void* data, void* work,
                              int dtype, const int32_t halo_extents[], const bool halo_periods[], int32_t dim,
                              const int32_t padding[]) {
  return guarded([&] {
    cudecompGridDesc& grid = checked(handle, grid_desc);
    if (grid.recorder) grid.recorder->start();
    const int item = item_size(dtype);
    checked_axis("dim", dim);
    const Triple halo = checked_extents("halo_extents", halo_extents), pad = checked_extents("padding", padding);
    const Layout layout = checked_layout(grid, axis, halo, pad);
    if (layout.size > 0) check_not_null("input", data);
    const bool periodic = halo_periods && halo_periods[dim];
    if (halo[dim] == 0) return;

    std::unique_ptr<HaloExchange>& exchange =
        prepared(grid.halos, cudecompGridDesc::HaloKey(axis, dim, dtype, periodic, halo, pad));
    if (!exchange) {
      check_halo_depth(grid, axis, dim, halo[dim], periodic);
      exchange = prepare_halo(grid, {axis, dim, grid.order[axis], halo, pad, periodic}, dtype);
    }
    if (!work) work = handle->workspace.at_least(static_cast<size_t>(exchange->work_size()) * item);
    exchange->run(data, static_cast<size_t>(layout.size) * item, work);
    if (grid.recorder) {
      grid.recorder->finish(halo_operation(axis, dim, dtype, periodic, halo, pad), exchange->traffic());
    }
  });
}

} // namespace

CUDECOMP_EXPORT cudecompResult_t cudecompTransposeXToY(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                       void* input, void* output, void* work, cudecompDataType_t dtype,
                                                       const int32_t input_halo_extents[],
                                                       const int32_t output_halo_extents[],
                                                       const int32_t input_padding[], const int32_t output_padding[],
                                                       cudaStream_t) {
  return transpose(0, 1, handle, grid_desc, input, output, work, number_of(dtype), input_halo_extents,
                   output_halo_extents, input_padding, output_padding);
}

CUDECOMP_EXPORT cudecompResult_t cudecompTransposeYToZ(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                       void* input, void* output, void* work, cudecompDataType_t dtype,
                                                       const int32_t input_halo_extents[],
                                                       const int32_t output_halo_extents[],
                                                       const int32_t input_padding[], const int32_t output_padding[],
                                                       cudaStream_t) {
  return transpose(1, 2, handle, grid_desc, input, output, work, number_of(dtype), input_halo_extents,
                   output_halo_extents, input_padding, output_padding);
}

CUDECOMP_EXPORT cudecompResult_t cudecompTransposeZToY(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                       void* input, void* output, void* work, cudecompDataType_t dtype,
                                                       const int32_t input_halo_extents[],
                                                       const int32_t output_halo_extents[],
                                                       const int32_t input_padding[], const int32_t output_padding[],
                                                       cudaStream_t) {
  return transpose(2, 1, handle, grid_desc, input, output, work, number_of(dtype), input_halo_extents,
                   output_halo_extents, input_padding, output_padding);
}

CUDECOMP_EXPORT cudecompResult_t cudecompTransposeYToX(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                       void* input, void* output, void* work, cudecompDataType_t dtype,
                                                       const int32_t input_halo_extents[],
                                                       const int32_t output_halo_extents[],
                                                       const int32_t input_padding[], const int32_t output_padding[],
                                                       cudaStream_t) {
  return transpose(1, 0, handle, grid_desc, input, output, work, number_of(dtype), input_halo_extents,
                   output_halo_extents, input_padding, output_padding);
}

CUDECOMP_EXPORT cudecompResult_t cudecompUpdateHalosX(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                      void* input, void* work, cudecompDataType_t dtype,
                                                      const int32_t halo_extents[], const bool halo_periods[],
                                                      int32_t dim, const int32_t padding[], cudaStream_t) {
  return update_halos(0, handle, grid_desc, input, work, number_of(dtype), halo_extents, halo_periods, dim, padding);
}

CUDECOMP_EXPORT cudecompResult_t cudecompUpdateHalosY(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                      void* input, void* work, cudecompDataType_t dtype,
                                                      const int32_t halo_extents[], const bool halo_periods[],
                                                      int32_t dim, const int32_t padding[], cudaStream_t) {
  return update_halos(1, handle, grid_desc, input, work, number_of(dtype), halo_extents, halo_periods, dim, padding);
}

CUDECOMP_EXPORT cudecompResult_t cudecompUpdateHalosZ(cudecompHandle_t handle, cudecompGridDesc_t grid_desc,
                                                      void* input, void* work, cudecompDataType_t dtype,
                                                      const int32_t halo_extents[], const bool halo_periods[],
                                                      int32_t dim, const int32_t padding[], cudaStream_t) {
  return update_halos(2, handle, grid_desc, input, work, number_of(dtype), halo_extents, halo_periods, dim, padding);
}
