# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Whole arrays: a global array on one rank from and to pencils on all, and comparisons that all ranks answer alike.

Data moves in pieces of a fixed size, so that a rank needs no more memory than its pencil and a few pieces, and no
message comes near the limits of MPI. Each of the functions is a method of `GridDesc`, which has its docstring.
"""

import itertools
import math
import operator
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

from cudecomp._agreement import CheckedCall
from cudecomp._errors import InvalidUsageError
from cudecomp._fields import as_int
from cudecomp._pencil import PencilInfo

if TYPE_CHECKING:
    from mpi4py import MPI

    from cudecomp._core import GridDesc

#: Bytes that are packed, sent, read or compared at a time.
PIECE_BYTES = 2**24

#: Extents of the blocks that are turned at a time where axes change their order: they stay in the cache meanwhile.
TILE = 32

_Array: TypeAlias = npt.NDArray[Any]
_Box: TypeAlias = tuple[slice, ...]


def scatter(
    grid: "GridDesc",
    global_array: object,
    axis: SupportsIndex,
    root: SupportsIndex,
    halo_extents: Any,
    padding: Any,
    out: Any,
) -> Any:
    """Distributes a global array from one rank to the pencils of all.

    Owned cells arrive; halo and padding of `out` are not written, and are zero in a new array. Nothing is converted:
    the pencils have the type of the global array, which may be any of fixed size, also one that transposes do not take.
    A rank needs memory for its pencil and a small buffer, whatever the size of the grid; `root` also for the global
    array.

    Args:
        global_array: On `root` an array of shape gdims, indexed ``[x, y, z]``, with any strides: pass ``array.T`` for
            one that is indexed ``[z, y, x]``. NumPy, or a GPU array if the program has imported CuPy. Ignored on all
            other ranks, where None is usual.
        axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        root: The rank of the handle that has the global array; equal on all ranks.
        halo_extents: Halo layers of the pencils on either side along X, Y, Z; None for none.
        padding: Unused layers of the pencils at the high end along X, Y, Z; None for none.
        out: Array for the pencil, of the shape that ``get_pencil_info(axis, halo_extents, padding)`` tells and the type
            of the global array, writable, with any strides. None for a new one, as `empty` makes it.

    Returns:
        numpy.ndarray: `out`, or the new array.

    Raises:
        TypeError: An argument is no array, or has the wrong type, on any rank; `out` has another type than the global
            array.
        InvalidUsageError: A wrong shape, an argument out of range, a read-only `out`, on any rank; `axis` or `root`
            differ; or the grid descriptor is destroyed.
        MemoryError: A rank has not enough memory for its pencil.

    Collective: Over all ranks of the handle. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are read and written on CuPy's current stream, and are complete on return.

    Threads: One thread at a time per handle.

    Example:
        >>> whole = np.arange(8.0 * 6 * 4).reshape(8, 6, 4) if grid.handle.rank == 0 else None
        >>> pencil = grid.scatter(whole, axis=1)
        >>> pencil.shape == grid.get_pencil_info(1).shape
        True

    See also:
        `gather`. The cudecomp C interface has no such function.
    """
    comm = grid.handle._private_comm
    source = target = None
    with CheckedCall(comm, "GridDesc.scatter") as call:
        root = _rank_of(root, comm.size)
        info = grid.get_pencil_info(axis, halo_extents, padding)
        if comm.rank == root:
            source = whole_array(global_array, "global_array", grid)
        if out is not None:
            target = pencil_array(out, "out", info, axis, writable=True)
        call.compare({"the grid": repr(grid), "axis": str(operator.index(axis)), "root": str(root)})
    dtype = comm.bcast(None if source is None else source.dtype, root)
    with CheckedCall(comm, "GridDesc.scatter") as call:
        if target is None:
            out = target = new_pencil(grid, axis, dtype, info)
        elif target.dtype != dtype:
            raise TypeError(f"out is of {target.dtype}, but global_array is of {dtype}; arrays are never converted")
        call.compare({})
    infos = comm.gather(info, root)
    if infos is not None and source is not None:
        _send_parts(comm, source, infos, target[info.interior])
    else:
        _receive(comm, root, target[info.interior])
    finish(target)
    return out


def gather(
    grid: "GridDesc",
    array: object,
    axis: SupportsIndex,
    root: SupportsIndex,
    halo_extents: Any,
    padding: Any,
    out: Any,
) -> Any:
    """Collects the pencils of all ranks in a global array on one.

    Owned cells are collected; halo and padding are left out. A rank needs memory for its pencil and a small buffer,
    whatever the size of the grid; `root` also for the global array.

    Args:
        array: This rank's pencil, of the shape that ``get_pencil_info(axis, halo_extents, padding)`` tells, any type of
            fixed size, the same on all ranks, with any strides. NumPy, or a GPU array if the program has imported CuPy.
        axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        root: The rank of the handle that gets the global array; equal on all ranks.
        halo_extents: Halo layers of `array` on either side along X, Y, Z; None for none.
        padding: Unused layers of `array` at the high end along X, Y, Z; None for none.
        out: On `root` an array of shape gdims, indexed ``[x, y, z]``, of the type of `array`, writable, with any
            strides: pass ``result.T`` to fill one that is indexed ``[z, y, x]``. None for a new NumPy array. Ignored on
            all other ranks.

    Returns:
        numpy.ndarray: On `root` `out`, or the new array, indexed ``[x, y, z]``; None on all other ranks.

    Raises:
        TypeError: An argument is no array, or has the wrong type, on any rank; or ranks have arrays of different types.
        InvalidUsageError: A wrong shape, an argument out of range, a read-only `out`, on any rank; `axis` or `root`
            differ; or the grid descriptor is destroyed.
        MemoryError: `root` has not enough memory for the global array.

    Collective: Over all ranks of the handle. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are read and written on CuPy's current stream, and `out` is complete on return.

    Threads: One thread at a time per handle.

    Example:
        >>> pencil = np.ones(grid.get_pencil_info(2).shape)
        >>> whole = grid.gather(pencil, axis=2)
        >>> whole.shape if grid.handle.rank == 0 else whole
        (8, 6, 4)

    See also:
        `scatter`. The cudecomp C interface has no such function.
    """
    comm = grid.handle._private_comm
    target = None
    with CheckedCall(comm, "GridDesc.gather") as call:
        root = _rank_of(root, comm.size)
        info = grid.get_pencil_info(axis, halo_extents, padding)
        source = pencil_array(array, "array", info, axis)
        if comm.rank == root:
            out = np.empty(global_shape(grid), source.dtype) if out is None else out
            target = whole_array(out, "out", grid, writable=True)
            if target.dtype != source.dtype:
                raise TypeError(f"out is of {target.dtype}, but array is of {source.dtype}; arrays are never converted")
        call.compare(
            {
                "the grid": repr(grid),
                "axis": str(operator.index(axis)),
                "root": str(root),
                "the dtype of array": str(source.dtype),
            }
        )
    infos = comm.gather(info, root)
    if infos is None or target is None:
        _send(comm, root, source[info.interior])
        return None
    _receive_parts(comm, target, infos, source[info.interior])
    finish(target)
    return out


def allclose(
    grid: "GridDesc",
    a: object,
    b: object,
    axis: SupportsIndex,
    rtol: float,
    atol: float,
    equal_nan: bool,
    halo_extents: Any,
    padding: Any,
) -> bool:
    """Tells whether two distributed arrays are equal within a tolerance, as ``numpy.allclose`` does for one process.

    Owned cells are compared, ``abs(a - b) <= atol + rtol * abs(b)``; halo and padding are left out.

    Args:
        a: This rank's pencil, of the shape that ``get_pencil_info(axis, halo_extents, padding)`` tells; NumPy, or a GPU
            array if the program has imported CuPy.
        b: Another of the same shape, or a number.
        axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        rtol: Tolerance relative to `b`.
        atol: Absolute tolerance, in the units of the field.
        equal_nan: Whether NaN equals NaN.
        halo_extents: Halo layers of the arrays on either side along X, Y, Z; None for none.
        padding: Unused layers of the arrays at the high end along X, Y, Z; None for none.

    Returns:
        bool: The same on all ranks: whether all owned cells of all ranks are close.

    Raises:
        TypeError: An argument is no array, or has the wrong type, on any rank.
        InvalidUsageError: A wrong shape or an argument out of range, on any rank; ranks compare pencils of different
            axes; or the grid descriptor is destroyed.

    Collective: Over all ranks of the handle. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are read on CuPy's current stream.

    Threads: One thread at a time per handle.

    Example:
        >>> pencil = np.ones(grid.get_pencil_info(0).shape)
        >>> grid.allclose(pencil, pencil + 1e-12, axis=0), grid.allclose(pencil, 2.0, axis=0)
        (True, False)

    See also:
        `max_difference`. The cudecomp C interface has no such function.
    """
    comm = grid.handle._private_comm
    with CheckedCall(comm, "GridDesc.allclose") as call:
        pairs = _pairs(grid, a, b, axis, halo_extents, padding)
        close = all(np.allclose(x, y, rtol, atol, equal_nan) for x, y in pairs)
        call.compare({"the grid": repr(grid), "axis": str(operator.index(axis))})
    return all(comm.allgather(close))


def max_difference(
    grid: "GridDesc", a: object, b: object, axis: SupportsIndex, halo_extents: Any, padding: Any
) -> float:
    """Finds the largest absolute difference between two distributed arrays.

    Owned cells are compared, at least in double precision; halo and padding are left out. Equal infinities differ by 0.

    Args:
        a: This rank's pencil, of the shape that ``get_pencil_info(axis, halo_extents, padding)`` tells; NumPy, or a GPU
            array if the program has imported CuPy.
        b: Another of the same shape, or a number: 0 gives the largest absolute value of `a`.
        axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        halo_extents: Halo layers of the arrays on either side along X, Y, Z; None for none.
        padding: Unused layers of the arrays at the high end along X, Y, Z; None for none.

    Returns:
        float: The same on all ranks; NaN if any owned cell of `a` or `b` is NaN.

    Raises:
        TypeError: An argument is no array, or has the wrong type, on any rank.
        InvalidUsageError: A wrong shape or an argument out of range, on any rank; ranks compare pencils of different
            axes; or the grid descriptor is destroyed.

    Collective: Over all ranks of the handle. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are read on CuPy's current stream.

    Threads: One thread at a time per handle.

    Example:
        >>> pencil = np.ones(grid.get_pencil_info(0).shape)
        >>> grid.max_difference(pencil, 3.0, axis=0)
        2.0

    See also:
        `allclose`. The cudecomp C interface has no such function.
    """
    comm = grid.handle._private_comm
    with CheckedCall(comm, "GridDesc.max_difference") as call:
        pairs = _pairs(grid, a, b, axis, halo_extents, padding)
        largest = _largest([_difference(x, y) for x, y in pairs])
        call.compare({"the grid": repr(grid), "axis": str(operator.index(axis))})
    return _largest(comm.allgather(largest))


def _pairs(
    grid: "GridDesc", a: object, b: object, axis: SupportsIndex, halo_extents: Any, padding: Any
) -> Iterator[tuple[_Array, Any]]:
    """The owned cells of two pencils, or of one and a number, piece by piece."""
    info = grid.get_pencil_info(axis, halo_extents, padding)
    first = pencil_array(a, "a", info, axis)[info.interior]
    scalar = isinstance(b, int | float | complex | np.number)
    second = None if scalar else pencil_array(b, "b", info, axis)[info.interior]
    return (
        (read_piece(first, box), b if second is None else read_piece(second, box))
        for box in pieces(first.shape, first.dtype.itemsize)
    )


def _difference(x: _Array, y: Any) -> float:
    kind = np.result_type(x, np.asarray(y).dtype, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity say it
        x, y = x.astype(kind, copy=False), np.asarray(y, kind)
        return float(np.where(x == y, 0, abs(x - y)).max())


def _largest(values: list[float]) -> float:
    return math.nan if any(map(math.isnan, values)) else max(values, default=0.0)


def _send_parts(comm: "MPI.Intracomm", whole: _Array, infos: list[PencilInfo], own: _Array) -> None:
    """Sends every rank its part of the whole array; this one's is copied."""
    for rank, info in enumerate(infos):
        part = whole.transpose(info.order)[info.global_slices]
        if rank == comm.rank:
            _copy(part, own)
        else:
            _send(comm, rank, part)


def _receive_parts(comm: "MPI.Intracomm", whole: _Array, infos: list[PencilInfo], own: _Array) -> None:
    """Receives every rank's part of the whole array; this one's is copied."""
    for rank, info in enumerate(infos):
        part = whole.transpose(info.order)[info.global_slices]
        if rank == comm.rank:
            _copy(own, part)
        else:
            _receive(comm, rank, part)


def _send(comm: "MPI.Intracomm", rank: int, part: _Array) -> None:
    for box in pieces(part.shape, part.dtype.itemsize):
        comm.Send(_as_bytes(read_piece(part, box)), rank)


def _receive(comm: "MPI.Intracomm", rank: int, part: _Array) -> None:
    for box in pieces(part.shape, part.dtype.itemsize):
        values = np.empty([side.stop - side.start for side in box], part.dtype)
        comm.Recv(_as_bytes(values), rank)
        write_piece(part, box, values)


def _copy(source: _Array, target: _Array) -> None:
    for box in pieces(source.shape, source.dtype.itemsize):
        write_piece(target, box, read_piece(source, box))


def _as_bytes(values: _Array) -> npt.NDArray[np.uint8]:
    """A view of a contiguous array that every MPI knows how to send, whatever its type."""
    return values.reshape(-1).view(np.uint8)


def pieces(shape: tuple[int, ...], itemsize: int) -> Iterator[_Box]:
    """Boxes that cover an array once, in C order, each of at most PIECE_BYTES, or of one element."""
    if 0 in shape:
        return
    most = max(1, PIECE_BYTES // max(1, itemsize))
    axis = next(axis for axis in range(len(shape)) if math.prod(shape[axis + 1 :]) <= most)
    step = most // math.prod(shape[axis + 1 :])
    inner = [slice(0, n) for n in shape[axis + 1 :]]
    for outer in itertools.product(*(range(n) for n in shape[:axis])):
        for start in range(0, shape[axis], step):
            yield (*(slice(i, i + 1) for i in outer), slice(start, min(start + step, shape[axis])), *inner)


def read_piece(array: Any, box: _Box) -> _Array:
    """A contiguous copy in host memory of a part of an array; a view where it is that already."""
    part = array[box]
    if not isinstance(part, np.ndarray):
        copied: _Array = sys.modules["cupy"].asnumpy(part, order="C")
        return copied
    if part.flags.c_contiguous:
        return part
    copy = np.empty(part.shape, part.dtype)
    _assign(copy, part)
    return copy


def write_piece(array: Any, box: _Box, values: _Array) -> None:
    if isinstance(array, np.ndarray):
        _assign(array[box], values)
    else:
        array[box] = sys.modules["cupy"].asarray(values)


def _assign(target: _Array, source: _Array) -> None:
    """Copies, in small blocks where target and source do not have the same axis contiguous."""
    if _fastest(target) == _fastest(source):
        target[...] = source
        return
    for corner in itertools.product(*(range(0, n, TILE) for n in target.shape)):
        block = tuple(slice(start, start + TILE) for start in corner)
        target[block] = source[block]


def _fastest(array: _Array) -> int:
    """The axis with the smallest steps in memory; axes of one point have none."""
    return min(range(array.ndim), key=lambda axis: (array.shape[axis] == 1, abs(array.strides[axis])))


def finish(array: Any) -> None:
    """Waits until what was written to a GPU array is there."""
    if not isinstance(array, np.ndarray):
        sys.modules["cupy"].cuda.get_current_stream().synchronize()


def global_shape(grid: "GridDesc") -> tuple[int, ...]:
    """The extents of the grid along X, Y, Z."""
    return tuple(grid.get_config().gdims.tolist())


def whole_array(array: object, name: str, grid: "GridDesc", writable: bool = False) -> _Array:
    """A global array as NumPy or CuPy array, or an error that says what it should be."""
    checked, gdims = _checked_array(array, name, writable), global_shape(grid)
    if checked.shape != gdims:
        turned = f"; pass {name}.T if it is indexed [z, y, x]" if checked.shape == gdims[::-1] else ""
        raise InvalidUsageError(
            f"{name} has shape {checked.shape}, expected {gdims}, the grid's extents along X, Y, Z{turned}"
        )
    return checked


def pencil_array(array: object, name: str, info: PencilInfo, axis: SupportsIndex, writable: bool = False) -> _Array:
    """A pencil as NumPy or CuPy array, or an error that says what it should be."""
    checked = _checked_array(array, name, writable)
    if checked.shape != info.shape:
        raise InvalidUsageError(
            f"{name} has shape {checked.shape}, expected {info.shape}, the {'XYZ'[operator.index(axis)]}-pencil of "
            f"this rank with halo {info.halo_extents} and padding {info.padding}"
        )
    return checked


def _checked_array(array: object, name: str, writable: bool) -> _Array:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.filled(value)")
    # Of subclasses the plain array: what they make of == and indexing is their own.
    checked = np.asarray(array) if isinstance(array, np.ndarray) else _device_array(array, name)
    if checked.dtype.hasobject:
        raise TypeError(f"{name} is of {checked.dtype}, expected a type of fixed size, such as float64")
    if writable and _is_read_only(array):
        raise InvalidUsageError(f"{name} is read-only; pass a writable array")
    return checked


def _is_read_only(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return not array.flags.writeable
    return bool(array.__cuda_array_interface__["data"][1])


def _device_array(array: object, name: str) -> _Array:
    """A GPU array of any package as a CuPy array over the same memory."""
    if not hasattr(array, "__cuda_array_interface__"):
        text = f"{name} must be a numpy.ndarray or a GPU array, got {array!r:.80} of type {type(array).__name__}"
        raise TypeError(text)
    if "cupy" not in sys.modules:
        raise TypeError(
            f"{name} is a GPU array of type {type(array).__name__}, which is copied to the host with CuPy; import cupy "
            "in the program first, or pass a NumPy array"
        )
    view: _Array = sys.modules["cupy"].asarray(array)
    return view


def new_pencil(grid: "GridDesc", axis: SupportsIndex, dtype: np.dtype[Any], info: PencilInfo) -> _Array:
    """A new array for a pencil, in the memory that the library works on; zero where no owned cell is."""
    array: _Array = _empty(grid, axis, dtype, info)
    if any(info.halo_extents) or any(info.padding):
        array[...] = np.zeros((), dtype) if isinstance(array, np.ndarray) else 0
    return array


def _empty(grid: "GridDesc", axis: SupportsIndex, dtype: np.dtype[Any], info: PencilInfo) -> Any:
    if dtype in (np.float32, np.float64, np.complex64, np.complex128) and dtype.isnative:
        return grid.empty(axis, dtype, info.halo_extents, info.padding)
    if grid.handle._host_arrays:
        return np.empty(info.shape, dtype)
    if "cupy" not in sys.modules:
        raise TypeError(
            f"out is None, but the loaded library works on GPU arrays, and only CuPy makes one of {dtype}; import cupy "
            "in the program first, or pass out"
        )
    return sys.modules["cupy"].empty(info.shape, dtype)


def _rank_of(root: object, size: int) -> int:
    rank = as_int(root, "root")
    if not 0 <= rank < size:
        raise InvalidUsageError(f"root is {rank}, expected a rank of the handle, 0 to {size - 1}")
    return rank
