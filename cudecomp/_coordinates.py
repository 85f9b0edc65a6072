# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Where the cells of a pencil are: coordinates in a box, and wavenumbers of its Fourier modes.

Each function is a method of `GridDesc`, which has its docstring. What a cell gets depends on its global index alone, so
that results are the same to the last bit on any process grid.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from cudecomp._errors import InvalidUsageError
from cudecomp._fields import as_bool, as_float, as_int, nested
from cudecomp._pencil import PencilInfo

if TYPE_CHECKING:
    from cudecomp._core import GridDesc

_Line: TypeAlias = npt.NDArray[np.float64]
_Lines: TypeAlias = tuple[_Line, _Line, _Line]


def coordinates(
    grid: "GridDesc",
    axis: SupportsIndex,
    lengths: Any,
    origin: Any,
    endpoint: bool,
    halo_extents: Any,
    padding: Any,
) -> _Lines:
    """Makes the coordinates of this rank's pencil along X, Y and Z, ready to be used in formulas.

    The point with global index i lies at ``origin + i * spacing``. Halo cells lie where that puts them, beyond the ends
    of the grid if need be: the coordinate does not wrap around. Padding follows in the same way.

    Args:
        axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
        lengths: Lengths of the domain along X, Y, Z, in any unit.
        origin: Coordinates of the point with global index (0, 0, 0), in the same unit.
        endpoint: False: n points divide a periodic length, ``spacing = length / n``. True: the last point lies at the
            end, ``spacing = length / (n - 1)``; along an axis with a single point, ``spacing = length``.
        halo_extents: Halo layers on either side along X, Y, Z; None for none.
        padding: Unused layers at the high end along X, Y, Z; None for none.

    Returns:
        tuple of numpy.ndarray: x, y and z, float64, each 3-D with its points along the array axis that runs along X, Y
        or Z, and 1 along the others: any formula of them has the shape that
        ``get_pencil_info(axis, halo_extents, padding)`` tells, or broadcasts to it.

    Raises:
        TypeError: An argument has the wrong type.
        InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.

    Collective: No.

    Stream ordering: None, nothing is enqueued.

    Threads: One thread at a time per handle.

    Example:
        >>> x, y, z = grid.coordinates(0, lengths=(2 * np.pi, 2 * np.pi, 1.0))
        >>> field = np.sin(x) * np.cos(y) + z
        >>> field.shape == grid.get_pencil_info(0).shape
        True

    See also:
        `wavenumbers`. The cudecomp C interface has no such function.
    """
    info = grid.get_pencil_info(axis, halo_extents, padding)
    sizes, starts = _lengths(lengths), _numbers(origin, "origin")
    inclusive = as_bool(endpoint, "endpoint")
    gdims = grid.get_config().gdims.tolist()

    def line(dim: int) -> _Line:
        along = info.order.index(dim)
        first = info.lo[along] - info.halo_extents[dim]
        indices = np.arange(first, first + info.shape[along])
        steps = max(1, gdims[dim] - 1) if inclusive else gdims[dim]
        points: _Line = starts[dim] + indices * (sizes[dim] / steps)
        points[indices == steps] = starts[dim] + sizes[dim]  # the end of the domain, whatever the spacing is rounded to
        return points

    return _lines(info, line)


def wavenumbers(grid: "GridDesc", axis: SupportsIndex, lengths: Any, real_axis: SupportsIndex | None) -> _Lines:
    """Makes the angular wavenumbers of this rank's pencil of Fourier coefficients along X, Y and Z.

    The coefficients are in the order of ``numpy.fft.fftn`` over a periodic domain: along an axis with n points, index i
    has ``2 * pi / length * i`` in the first half and ``2 * pi / length * (i - n)`` in the second; where n is even, the
    Nyquist mode is the first of the second, as in ``numpy.fft.fftfreq``. Along `real_axis`, which a real transform has
    halved, all are ``2 * pi / length * i``, as in ``numpy.fft.rfftfreq``.

    Args:
        axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
        lengths: Lengths of the domain along X, Y, Z, in any unit; not those of the coefficients.
        real_axis: Axis along which a real transform (``numpy.fft.rfft``) of n points has left n // 2 + 1 coefficients,
            which are the gdims of this grid along it: 0, 1, 2 for X, Y, Z; None for none.

    Returns:
        tuple of numpy.ndarray: kx, ky and kz, float64, in the inverse of the unit of `lengths`, each 3-D with its
        numbers along the array axis that runs along X, Y or Z, and 1 along the others: they broadcast to the owned
        cells, ``array[info.interior]``, which are the whole array where it has neither halo nor padding.

    Raises:
        TypeError: An argument has the wrong type.
        InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.

    Collective: No.

    Stream ordering: None, nothing is enqueued.

    Threads: One thread at a time per handle.

    Example:
        >>> kx, ky, kz = grid.wavenumbers(2, lengths=(2 * np.pi, 2 * np.pi, 2 * np.pi))
        >>> kx.ravel()
        array([ 0.,  1.,  2.,  3., -4., -3., -2., -1.])
        >>> kx, ky, kz = grid.wavenumbers(2, lengths=(2 * np.pi, 2 * np.pi, 2 * np.pi), real_axis=1)
        >>> ky.ravel()
        array([0., 1., 2., 3., 4., 5.])

    See also:
        `coordinates`. The cudecomp C interface has no such function.
    """
    info = grid.get_pencil_info(axis)
    sizes = _lengths(lengths)
    halved = None if real_axis is None else as_int(real_axis, "real_axis")
    if halved not in (None, 0, 1, 2):
        raise InvalidUsageError(f"real_axis is {halved}, expected 0, 1 or 2 for X, Y or Z, or None")
    gdims = grid.get_config().gdims.tolist()

    def line(dim: int) -> _Line:
        along = info.order.index(dim)
        modes = np.arange(info.lo[along], info.hi[along] + 1)
        if dim != halved:
            modes[modes >= (gdims[dim] + 1) // 2] -= gdims[dim]
        return np.multiply(modes, 2 * math.pi / sizes[dim], dtype=np.float64)

    return _lines(info, line)


def _lines(info: PencilInfo, line: Callable[[int], _Line]) -> _Lines:
    """One line along each of X, Y, Z, turned along its axis of the local array."""

    def turned(dim: int) -> _Line:
        shape = [1, 1, 1]
        shape[info.order.index(dim)] = -1
        return line(dim).reshape(shape)

    return turned(0), turned(1), turned(2)


def _lengths(value: Any) -> list[float]:
    lengths = _numbers(value, "lengths")
    if min(lengths) <= 0:
        raise InvalidUsageError(f"lengths is {tuple(lengths)}, expected more than 0 along X, Y and Z")
    return lengths


def _numbers(value: Any, name: str) -> list[float]:
    numbers: list[float] = nested(value, (3,), as_float, "numbers (X, Y, Z)", name)  # type: ignore[assignment]
    if not all(map(math.isfinite, numbers)):
        raise InvalidUsageError(f"{name} is {tuple(numbers)}, expected finite numbers")
    return numbers
