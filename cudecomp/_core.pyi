# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Never, Protocol, Self, SupportsIndex, TypeAlias, TypeVar, final, overload

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from cudecomp._autotune import AutotuneReport
from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._enums import DataType
from cudecomp._pencil import PencilInfo
from cudecomp._performance import PerformanceReport

__all__ = ["GridDesc", "Handle"]

class _DeviceArray(Protocol):
    """CuPy's, PyTorch's and other arrays on a GPU."""

    @property
    def __cuda_array_interface__(self) -> Any: ...

_Array = TypeVar("_Array", bound=npt.NDArray[Any] | _DeviceArray)
_Extents: TypeAlias = Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]
_Periods: TypeAlias = Sequence[bool | np.bool_] | npt.NDArray[np.bool_]

@final
class Handle:
    def __init__(self, mpi_comm: MPI.Intracomm) -> None: ...
    @property
    def comm(self) -> MPI.Intracomm: ...
    @property
    def rank(self) -> int: ...
    @property
    def nranks(self) -> int: ...
    @property
    def _private_comm(self) -> MPI.Intracomm: ...
    @property
    def _host_arrays(self) -> bool: ...
    def create_grid(
        self,
        config: GridDescConfig,
        options: GridDescAutotuneOptions | None = None,
        *,
        report: AutotuneReport | None = None,
        progress: bool = False,
    ) -> GridDesc: ...
    def finalize(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __del__(self) -> None: ...

@final
class GridDesc:
    def __init__(self, *args: Never, **kwargs: Never) -> None: ...
    @property
    def handle(self) -> Handle: ...
    @property
    def autotune_report(self) -> AutotuneReport | None: ...
    def describe(self) -> str: ...
    def performance_report(self) -> PerformanceReport: ...
    def destroy(self) -> None: ...
    def get_config(self) -> GridDescConfig: ...
    def get_pencil_info(
        self, axis: SupportsIndex, halo_extents: _Extents | None = None, padding: _Extents | None = None
    ) -> PencilInfo: ...
    def empty(
        self,
        axis: SupportsIndex,
        dtype: DataType | npt.DTypeLike,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
    ) -> npt.NDArray[Any]: ...
    def zeros(
        self,
        axis: SupportsIndex,
        dtype: DataType | npt.DTypeLike,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
    ) -> npt.NDArray[Any]: ...
    def get_transpose_workspace_size(self) -> int: ...
    def get_halo_workspace_size(self, axis: SupportsIndex, halo_extents: _Extents) -> int: ...
    def get_shifted_rank(
        self, axis: SupportsIndex, dim: SupportsIndex, displacement: SupportsIndex, periodic: bool | np.bool_ = False
    ) -> int: ...
    def coordinates(
        self,
        axis: SupportsIndex,
        lengths: Sequence[float],
        *,
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        endpoint: bool = False,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def wavenumbers(
        self, axis: SupportsIndex, lengths: Sequence[float], *, real_axis: SupportsIndex | None = None
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def scatter(
        self,
        global_array: object,
        axis: SupportsIndex,
        root: SupportsIndex = 0,
        *,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
        out: Any = None,
    ) -> Any: ...
    def gather(
        self,
        array: object,
        axis: SupportsIndex,
        root: SupportsIndex = 0,
        *,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
        out: Any = None,
    ) -> Any: ...
    def allclose(
        self,
        a: object,
        b: object,
        axis: SupportsIndex,
        *,
        rtol: float = 1e-5,
        atol: float = 1e-8,
        equal_nan: bool = False,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
    ) -> bool: ...
    def max_difference(
        self,
        a: object,
        b: object,
        axis: SupportsIndex,
        *,
        halo_extents: _Extents | None = None,
        padding: _Extents | None = None,
    ) -> float: ...
    @overload
    def transpose_x_to_y(
        self,
        input: _Array,
        out: None = None,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_x_to_y(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        out: _Array,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_y_to_z(
        self,
        input: _Array,
        out: None = None,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_y_to_z(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        out: _Array,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_z_to_y(
        self,
        input: _Array,
        out: None = None,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_z_to_y(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        out: _Array,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_y_to_x(
        self,
        input: _Array,
        out: None = None,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    @overload
    def transpose_y_to_x(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        out: _Array,
        *,
        dtype: DataType | None = None,
        input_halo_extents: _Extents | None = None,
        output_halo_extents: _Extents | None = None,
        input_padding: _Extents | None = None,
        output_padding: _Extents | None = None,
        stream: object = None,
    ) -> _Array: ...
    def update_halos_x(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        halo_extents: _Extents,
        halo_periods: _Periods | None = None,
        dim: SupportsIndex | None = None,
        *,
        padding: _Extents | None = None,
        dtype: DataType | None = None,
        stream: object = None,
    ) -> None: ...
    def update_halos_y(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        halo_extents: _Extents,
        halo_periods: _Periods | None = None,
        dim: SupportsIndex | None = None,
        *,
        padding: _Extents | None = None,
        dtype: DataType | None = None,
        stream: object = None,
    ) -> None: ...
    def update_halos_z(
        self,
        input: npt.NDArray[Any] | _DeviceArray,
        halo_extents: _Extents,
        halo_periods: _Periods | None = None,
        dim: SupportsIndex | None = None,
        *,
        padding: _Extents | None = None,
        dtype: DataType | None = None,
        stream: object = None,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __del__(self) -> None: ...
