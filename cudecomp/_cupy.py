# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""New arrays on the GPU. They are CuPy's, which is imported only when an array is asked for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cudecomp._errors import NotSupportedError

if TYPE_CHECKING:
    import types


def new_array(shape: tuple[int, ...], size: int, dtype: "np.dtype[Any]", stream: int | None = None) -> Any:
    """A CuPy array of `size` elements for work on a stream, given by its handle; None for CuPy's current stream.

    The memory comes from CuPy's standard pool, whatever allocator is set: what the pool hands out on a stream is ready
    for use on it, and stays valid for work enqueued there before the array dies.
    """
    ndarray, allocate, allocator, current_stream = _parts()
    if stream is None or stream == current_stream().ptr:
        if allocator() == allocate:  # the usual case, and CuPy's own way is the fastest
            return ndarray(shape, dtype)
        return ndarray(shape, dtype, allocate(size * dtype.itemsize))
    with external_stream(_cupy(), stream):
        return ndarray(shape, dtype, allocate(size * dtype.itemsize))


def external_stream(cupy: Any, handle: int) -> Any:
    """A stream that somebody else has made, as one of CuPy's."""
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Handle(handle))
    return cupy.cuda.ExternalStream(handle)


class _Handle:
    """What the protocol for streams wants."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


_known: tuple[Any, Any, Any, Any] | None = None


def _parts() -> tuple[Any, Any, Any, Any]:
    """What is looked up once: the type of arrays, the standard allocator, and what tells allocator and stream."""
    global _known
    if _known is None:
        _known = _look_up()
    return _known


def _look_up() -> tuple[Any, Any, Any, Any]:
    cupy = _cupy()
    return cupy.ndarray, cupy.get_default_memory_pool().malloc, cupy.cuda.get_allocator, cupy.cuda.get_current_stream


def _cupy() -> "types.ModuleType":
    try:
        import cupy
    except ImportError:
        raise NotSupportedError(
            "new arrays on a GPU are CuPy's, and CuPy is not installed; install it (pip install 'cudecomp[cu13]'), or "
            "pass an array of your package as out"
        ) from None
    return cupy  # type: ignore[no-any-return]
