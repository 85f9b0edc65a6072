# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""New arrays on the GPU. They are CuPy's, which is imported only when an array is asked for."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cudecomp._errors import NotSupportedError

if TYPE_CHECKING:
    import types


def new_array(shape: tuple[int, ...], dtype: "npt.DTypeLike", stream: int) -> Any:
    """A CuPy array for work on a stream, given by its handle.

    The memory comes from CuPy's standard pool, whatever allocator is set: what the pool hands out on a stream is ready
    for use on it, and stays valid for work enqueued there before the array dies.
    """
    cupy = _cupy()
    element = np.dtype(dtype)
    size = math.prod(shape) * element.itemsize
    pool = cupy.get_default_memory_pool()
    if cupy.cuda.get_current_stream().ptr == stream:
        memory = pool.malloc(size)
    else:
        with cupy.cuda.ExternalStream(stream):
            memory = pool.malloc(size)
    return cupy.ndarray(shape, element, memory)


def current_stream() -> int:
    """The handle of CuPy's current stream."""
    return int(_cupy().cuda.get_current_stream().ptr)


def _cupy() -> "types.ModuleType":
    try:
        import cupy
    except ImportError:
        raise NotSupportedError(
            "new arrays on a GPU are CuPy's, and CuPy is not installed; install it (pip install 'cudecomp[cu13]'), or "
            "pass an array of your package as out"
        ) from None
    return cupy  # type: ignore[no-any-return]
