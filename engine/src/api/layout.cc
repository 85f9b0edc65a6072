// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * The binary interface, asserted: sizes and offsets of the 0.7 line on 64-bit machines.
 */

#include <cstddef>

#include "cudecomp.h"

#define OFFSET(type, field, bytes) static_assert(offsetof(type, field) == (bytes), #type "." #field " has moved")

static_assert(sizeof(bool) == 1 && sizeof(void*) == 8, "the interface is defined for 64-bit machines with 1-byte bool");
static_assert(sizeof(cudecompResult_t) == 4 && sizeof(cudecompDataType_t) == 4 && sizeof(cudecompRankOrder_t) == 4 &&
                  sizeof(cudecompTransposeCommBackend_t) == 4 && sizeof(cudecompHaloCommBackend_t) == 4 &&
                  sizeof(cudecompAutotuneGridMode_t) == 4,
              "enums are 4 bytes");

static_assert(sizeof(cudecompGridDescConfig_t) == 104, "cudecompGridDescConfig_t has another size");
OFFSET(cudecompGridDescConfig_t, struct_size, 0);
OFFSET(cudecompGridDescConfig_t, magic, 8);
OFFSET(cudecompGridDescConfig_t, version, 12);
OFFSET(cudecompGridDescConfig_t, gdims, 16);
OFFSET(cudecompGridDescConfig_t, gdims_dist, 28);
OFFSET(cudecompGridDescConfig_t, pdims, 40);
OFFSET(cudecompGridDescConfig_t, rank_order, 48);
OFFSET(cudecompGridDescConfig_t, transpose_comm_backend, 52);
OFFSET(cudecompGridDescConfig_t, transpose_axis_contiguous, 56);
OFFSET(cudecompGridDescConfig_t, transpose_mem_order, 60);
OFFSET(cudecompGridDescConfig_t, halo_comm_backend, 96);

static_assert(sizeof(cudecompGridDescAutotuneOptions_t) == 320, "cudecompGridDescAutotuneOptions_t has another size");
OFFSET(cudecompGridDescAutotuneOptions_t, struct_size, 0);
OFFSET(cudecompGridDescAutotuneOptions_t, magic, 8);
OFFSET(cudecompGridDescAutotuneOptions_t, version, 12);
OFFSET(cudecompGridDescAutotuneOptions_t, n_warmup_trials, 16);
OFFSET(cudecompGridDescAutotuneOptions_t, n_trials, 20);
OFFSET(cudecompGridDescAutotuneOptions_t, grid_mode, 24);
OFFSET(cudecompGridDescAutotuneOptions_t, dtype, 28);
OFFSET(cudecompGridDescAutotuneOptions_t, allow_uneven_decompositions, 32);
OFFSET(cudecompGridDescAutotuneOptions_t, disable_mpi_backends, 33);
OFFSET(cudecompGridDescAutotuneOptions_t, disable_nccl_backends, 34);
OFFSET(cudecompGridDescAutotuneOptions_t, disable_nvshmem_backends, 35);
OFFSET(cudecompGridDescAutotuneOptions_t, skip_threshold, 40);
OFFSET(cudecompGridDescAutotuneOptions_t, autotune_transpose_backend, 48);
OFFSET(cudecompGridDescAutotuneOptions_t, transpose_use_inplace_buffers, 49);
OFFSET(cudecompGridDescAutotuneOptions_t, transpose_op_weights, 56);
OFFSET(cudecompGridDescAutotuneOptions_t, transpose_input_halo_extents, 88);
OFFSET(cudecompGridDescAutotuneOptions_t, transpose_output_halo_extents, 136);
OFFSET(cudecompGridDescAutotuneOptions_t, transpose_input_padding, 184);
OFFSET(cudecompGridDescAutotuneOptions_t, transpose_output_padding, 232);
OFFSET(cudecompGridDescAutotuneOptions_t, autotune_halo_backend, 280);
OFFSET(cudecompGridDescAutotuneOptions_t, halo_extents, 284);
OFFSET(cudecompGridDescAutotuneOptions_t, halo_periods, 296);
OFFSET(cudecompGridDescAutotuneOptions_t, halo_axis, 300);
OFFSET(cudecompGridDescAutotuneOptions_t, halo_padding, 304);

static_assert(sizeof(cudecompPencilInfo_t) == 96, "cudecompPencilInfo_t has another size");
OFFSET(cudecompPencilInfo_t, struct_size, 0);
OFFSET(cudecompPencilInfo_t, magic, 8);
OFFSET(cudecompPencilInfo_t, version, 12);
OFFSET(cudecompPencilInfo_t, shape, 16);
OFFSET(cudecompPencilInfo_t, lo, 28);
OFFSET(cudecompPencilInfo_t, hi, 40);
OFFSET(cudecompPencilInfo_t, order, 52);
OFFSET(cudecompPencilInfo_t, halo_extents, 64);
OFFSET(cudecompPencilInfo_t, padding, 76);
OFFSET(cudecompPencilInfo_t, size, 88);
