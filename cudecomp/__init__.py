# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Pencil decompositions of 3-D grids over MPI: transposes between pencil layouts, and halo updates.

A global grid of X * Y * Z points is split over a process grid of rows * columns ranks. Three layouts exist, X-, Y- and
Z-pencils, each complete along the axis that names it. Transposes move a field between them, halo updates copy boundary
layers between neighbours of one layout.

Arrays are C-contiguous, and `PencilInfo` describes them in array-axis order: ``np.empty(info.shape)`` is right as it
stands, array axis i runs along global axis ``info.order[i]``. Extents (halo, padding) are in X, Y, Z order.

Example:
    >>> import numpy as np
    >>> from mpi4py import MPI
    >>> import cudecomp
    >>> with cudecomp.Handle(MPI.COMM_WORLD) as handle:
    ...     config = cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, handle.nranks))
    ...     with handle.create_grid(config) as grid:
    ...         x = np.ones(grid.get_pencil_info(0).shape)
    ...         y = grid.transpose_x_to_y(x)
    ...         z = grid.transpose_y_to_z(y)

``python -m cudecomp info`` tells which library is used. Importing this package neither starts MPI nor opens a library.
"""

from cudecomp import io as io
from cudecomp._autotune import AutotuneCandidate, AutotuneChoice, AutotuneMachine, AutotuneReport, AutotuneTimes
from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._core import GridDesc, Handle
from cudecomp._enums import AutotuneGridMode, DataType, HaloCommBackend, RankOrder, Result, TransposeCommBackend
from cudecomp._errors import (
    CudaError,
    CudecompError,
    CutensorError,
    InternalError,
    InvalidUsageError,
    MpiError,
    NcclError,
    NotSupportedError,
    NvmlError,
    NvshmemError,
)
from cudecomp._pencil import PencilInfo
from cudecomp._performance import OperationPerformance, PerformanceReport, PerformanceSample
from cudecomp._version import __version__

__all__ = [
    "AutotuneCandidate",
    "AutotuneChoice",
    "AutotuneGridMode",
    "AutotuneMachine",
    "AutotuneReport",
    "AutotuneTimes",
    "CudaError",
    "CudecompError",
    "CutensorError",
    "DataType",
    "GridDesc",
    "GridDescAutotuneOptions",
    "GridDescConfig",
    "HaloCommBackend",
    "Handle",
    "InternalError",
    "InvalidUsageError",
    "MpiError",
    "NcclError",
    "NotSupportedError",
    "NvmlError",
    "NvshmemError",
    "OperationPerformance",
    "PencilInfo",
    "PerformanceReport",
    "PerformanceSample",
    "RankOrder",
    "Result",
    "TransposeCommBackend",
    "__version__",
]

# Error texts and pickles name the public place of these classes, so that files can be moved.
for _public in (
    AutotuneCandidate,
    AutotuneChoice,
    AutotuneMachine,
    AutotuneReport,
    AutotuneTimes,
    GridDescAutotuneOptions,
    GridDescConfig,
    OperationPerformance,
    PencilInfo,
    PerformanceReport,
    PerformanceSample,
    CudecompError,
    *CudecompError.__subclasses__(),
):
    _public.__module__ = "cudecomp"
del _public
