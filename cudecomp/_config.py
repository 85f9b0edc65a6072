# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What a decomposition is made from, and how it is autotuned."""

from typing import TypedDict, Unpack

import numpy as np

from cudecomp._enums import AutotuneGridMode, DataType, HaloCommBackend, RankOrder, TransposeCommBackend
from cudecomp._fields import (
    Bools,
    EnumField,
    Floats,
    Ints,
    Record,
    bool_field,
    bools_field,
    float_field,
    floats_field,
    int_field,
    ints_field,
)
from cudecomp_bindings import cudecomp as bindings


class _ConfigFields(TypedDict, total=False):
    gdims: Ints
    gdims_dist: Ints
    pdims: Ints
    rank_order: RankOrder | int
    transpose_comm_backend: TransposeCommBackend | int
    transpose_axis_contiguous: Bools
    transpose_mem_order: Ints
    halo_comm_backend: HaloCommBackend | int


class GridDescConfig(Record):
    """What a decomposition is made from: the grid, the process grid, memory orders and backends.

    The fields are those of the C struct. Array fields are writable NumPy views of it, so ``config.pdims[0] = 2`` works,
    and whole fields take tuples, lists and arrays: ``config.pdims = (2, 4)``. An assignment of the wrong length or type
    raises and changes nothing; whether the values make sense is checked by ``Handle.create_grid``.

    Args:
        gdims: Points of the global grid along X, Y, Z, 3 integers. The only field that must be set.
        gdims_dist: Points to compute the split on, 3 integers, at most `gdims`; the surplus goes to the last part that
            owns points. All zero (the default) means `gdims`.
        pdims: Process grid (rows, columns); the product is the number of ranks. (0, 0), the default, asks for
            autotuning.
        rank_order: How ranks are laid out on the process grid, a `RankOrder`. Default: ``RankOrder.DEFAULT``.
        transpose_comm_backend: How transposes communicate, a `TransposeCommBackend`. Default: ``MPI_P2P``.
        transpose_axis_contiguous: For X-, Y- and Z-pencils: whether the pencil's own axis is the fastest in memory,
            followed by the next ones cyclically; otherwise X is fastest. 3 bools. Default: all False.
        transpose_mem_order: For X-, Y- and Z-pencils the memory order, fastest axis *first*, 3 x 3 integers. It wins
            over `transpose_axis_contiguous`; all nine entries are set, or none. Default: all -1, unset.
        halo_comm_backend: How halo updates communicate, a `HaloCommBackend`. Default: ``MPI``.

    Raises:
        TypeError: A keyword is no field, or a value has the wrong type.
        InvalidUsageError: A value has the wrong length, or does not fit 32 bits.

    Collective: No. `Handle.create_grid` wants equal values on all ranks.

    Threads: Any; an object is not to be changed by two threads at a time.

    Example:
        >>> config = GridDescConfig(gdims=(64, 64, 32), pdims=(2, 2))
        >>> config.gdims[2] = 48
        >>> config.transpose_axis_contiguous = (True, True, True)
        >>> config
        GridDescConfig(gdims=(64, 64, 48), pdims=(2, 2), transpose_axis_contiguous=(True, True, True))

    See also:
        ``cudecompGridDescConfig_t``, ``cudecompGridDescConfigSetDefaults``
    """

    __slots__ = ()
    _struct_type = bindings.GridDescConfig

    gdims = ints_field((3,), 0, "Points of the global grid along X, Y, Z.")
    gdims_dist = ints_field((3,), 0, "Points along X, Y, Z to compute the split on; all zero means `gdims`.")
    pdims = ints_field((2,), 0, "Process grid (rows, columns); (0, 0) asks for autotuning.")
    rank_order = EnumField(RankOrder, RankOrder.DEFAULT, "How ranks are laid out on the process grid.")
    transpose_comm_backend = EnumField(
        TransposeCommBackend, TransposeCommBackend.MPI_P2P, "How transposes communicate."
    )
    transpose_axis_contiguous = bools_field(
        (3,), False, "For X-, Y- and Z-pencils: whether the pencil's own axis is the fastest in memory."
    )
    transpose_mem_order = ints_field(
        (3, 3), -1, "For X-, Y- and Z-pencils: the memory order, fastest axis first; all -1 means unset."
    )
    halo_comm_backend = EnumField(HaloCommBackend, HaloCommBackend.MPI, "How halo updates communicate.")

    def __init__(self, **fields: Unpack[_ConfigFields]) -> None:
        super().__init__(**fields)


class _OptionsFields(TypedDict, total=False):
    n_warmup_trials: int
    n_trials: int
    grid_mode: AutotuneGridMode | int
    dtype: DataType | int
    allow_uneven_decompositions: bool | np.bool_
    disable_mpi_backends: bool | np.bool_
    disable_nccl_backends: bool | np.bool_
    disable_nvshmem_backends: bool | np.bool_
    skip_threshold: float
    autotune_transpose_backend: bool | np.bool_
    transpose_use_inplace_buffers: Bools
    transpose_op_weights: Floats
    transpose_input_halo_extents: Ints
    transpose_output_halo_extents: Ints
    transpose_input_padding: Ints
    transpose_output_padding: Ints
    autotune_halo_backend: bool | np.bool_
    halo_extents: Ints
    halo_periods: Bools
    halo_axis: int
    halo_padding: Ints


class GridDescAutotuneOptions(Record):
    """How ``Handle.create_grid`` measures what a configuration leaves open.

    The fields are those of the C struct and behave as those of `GridDescConfig`. Fields with one entry per operation
    are in the order X-to-Y, Y-to-Z, Z-to-Y, Y-to-X. Extents are in X, Y, Z order, in elements.

    Args:
        n_warmup_trials: Untimed trials of each candidate. Default: 3.
        n_trials: Timed trials of each candidate; those close to the best get as many again. Default: 5.
        grid_mode: What decides the process grid, an `AutotuneGridMode`. Default: ``TRANSPOSE``.
        dtype: Element type of the trials, a `DataType`. Default: ``DOUBLE``.
        allow_uneven_decompositions: Consider process grids that split the points unevenly. Default: True.
        disable_mpi_backends: Leave the MPI backends out. Default: False.
        disable_nccl_backends: Leave the NCCL backends out. Default: False.
        disable_nvshmem_backends: Leave the NVSHMEM backends out. Default: False.
        skip_threshold: Drop a candidate whose first timed trial t satisfies ``skip_threshold * t > best``, the time of
            the best candidate so far. Default: 0.0, never.
        autotune_transpose_backend: Choose the transpose backend. Default: False.
        transpose_use_inplace_buffers: Per operation: input and output share a buffer, 4 bools. Default: all False.
        transpose_op_weights: Per operation: factor applied to its time, 4 numbers. Default: all 1.0.
        transpose_input_halo_extents: Per operation: halo of the input, 4 x 3 integers. Default: zeros.
        transpose_output_halo_extents: Per operation: halo of the output, 4 x 3 integers. Default: zeros.
        transpose_input_padding: Per operation: padding of the input, 4 x 3 integers. Default: zeros.
        transpose_output_padding: Per operation: padding of the output, 4 x 3 integers. Default: zeros.
        autotune_halo_backend: Choose the halo backend. Default: False.
        halo_extents: Halo of the halo trials, 3 integers. Default: zeros.
        halo_periods: Periodicity of the halo trials along X, Y, Z, 3 bools. Default: all False.
        halo_axis: Pencil axis of the halo trials: 0, 1 or 2. Default: 0, X-pencils.
        halo_padding: Padding of the halo trials, 3 integers. Default: zeros.

    Raises:
        TypeError: A keyword is no field, or a value has the wrong type.
        InvalidUsageError: A value has the wrong length, or does not fit 32 bits.

    Collective: No. `Handle.create_grid` wants equal values on all ranks.

    Threads: Any; an object is not to be changed by two threads at a time.

    Example:
        >>> options = GridDescAutotuneOptions(n_trials=10, autotune_transpose_backend=True)
        >>> options.transpose_op_weights[3] = 0.0
        >>> options
        GridDescAutotuneOptions(n_trials=10, autotune_transpose_backend=True, transpose_op_weights=(1.0, 1.0, 1.0, 0.0))

    See also:
        ``cudecompGridDescAutotuneOptions_t``, ``cudecompGridDescAutotuneOptionsSetDefaults``
    """

    __slots__ = ()
    _struct_type = bindings.GridDescAutotuneOptions

    n_warmup_trials = int_field(3, "Untimed trials of each candidate.")
    n_trials = int_field(5, "Timed trials of each candidate.")
    grid_mode = EnumField(AutotuneGridMode, AutotuneGridMode.TRANSPOSE, "What decides the process grid.")
    dtype = EnumField(DataType, DataType.DOUBLE, "Element type of the trials.")
    allow_uneven_decompositions = bool_field(True, "Consider process grids that split the points unevenly.")
    disable_mpi_backends = bool_field(False, "Leave the MPI backends out.")
    disable_nccl_backends = bool_field(False, "Leave the NCCL backends out.")
    disable_nvshmem_backends = bool_field(False, "Leave the NVSHMEM backends out.")
    skip_threshold = float_field(
        0.0, "Drop a candidate whose first trial t has skip_threshold * t above the best so far."
    )
    autotune_transpose_backend = bool_field(False, "Choose the transpose backend.")
    transpose_use_inplace_buffers = bools_field((4,), False, "Per operation: input and output share a buffer.")
    transpose_op_weights = floats_field((4,), 1.0, "Per operation: factor applied to its time.")
    transpose_input_halo_extents = ints_field((4, 3), 0, "Per operation: halo of the input along X, Y, Z.")
    transpose_output_halo_extents = ints_field((4, 3), 0, "Per operation: halo of the output along X, Y, Z.")
    transpose_input_padding = ints_field((4, 3), 0, "Per operation: padding of the input along X, Y, Z.")
    transpose_output_padding = ints_field((4, 3), 0, "Per operation: padding of the output along X, Y, Z.")
    autotune_halo_backend = bool_field(False, "Choose the halo backend.")
    halo_extents = ints_field((3,), 0, "Halo of the halo trials along X, Y, Z.")
    halo_periods = bools_field((3,), False, "Periodicity of the halo trials along X, Y, Z.")
    halo_axis = int_field(0, "Pencil axis of the halo trials: 0, 1 or 2.")
    halo_padding = ints_field((3,), 0, "Padding of the halo trials along X, Y, Z.")

    def __init__(self, **fields: Unpack[_OptionsFields]) -> None:
        super().__init__(**fields)
