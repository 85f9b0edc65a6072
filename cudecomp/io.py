# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Parallel file I/O: distributed arrays as global arrays in HDF5 files and Zarr groups.

A file holds the global array with the extents of the grid, indexed ``[x, y, z]``, whatever decomposition wrote it. So a
program can go on with another process grid, memory order or number of ranks, and any other program can read the file.
The array has the attributes ``cudecomp_format`` (1), ``axes`` ("XYZ"), ``gdims`` and ``dtype``; none of them is needed
for reading. No rank needs more memory than for its pencil and a small buffer.

The packages h5py and zarr are imported when they are needed: ``pip install 'cudecomp[io]'``.
"""

from typing import TYPE_CHECKING, Any, SupportsIndex

from cudecomp._files import read, write
from cudecomp._hdf5 import Hdf5Store
from cudecomp._zarr import ZarrStore

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from cudecomp._core import GridDesc

__all__ = ["read_hdf5", "read_zarr", "write_hdf5", "write_zarr"]


def write_hdf5(
    path: "str | os.PathLike[str]",
    grid: "GridDesc",
    axis: SupportsIndex,
    array: object,
    *,
    name: str = "data",
    mode: str = "a",
    halo_extents: "Sequence[SupportsIndex] | None" = None,
    padding: "Sequence[SupportsIndex] | None" = None,
) -> None:
    """Writes a distributed array to a dataset of an HDF5 file.

    With an h5py that was built with MPI (``h5py.get_config().mpi``) all ranks write at once, else one after the other.
    Halo and padding are left out.

    Args:
        path: The file, on a file system that all ranks see; equal on all ranks.
        grid: The grid that the array belongs to.
        axis: Pencil axis of `array`: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        array: This rank's pencil, of the shape that ``grid.get_pencil_info(axis, halo_extents, padding)`` tells, with
            any strides; NumPy, or a GPU array if the program has imported CuPy.
        name: Name of the dataset, such as ``"u"`` or ``"step 10/u"``.
        mode: ``"a"`` adds to the file, or makes one; a dataset of this name, shape and type is overwritten. ``"w"``
            makes a new file in place of an old one. ``"x"`` makes one where none is.
        halo_extents: Halo layers of `array` on either side along X, Y, Z; None for none.
        padding: Unused layers of `array` at the high end along X, Y, Z; None for none.

    Raises:
        ImportError: h5py cannot be imported.
        TypeError: An argument has the wrong type.
        InvalidUsageError: A wrong shape, name or mode, a dataset that cannot be overwritten, or arguments that differ
            between ranks.
        OSError: The file cannot be made, opened or written, or the array does not fit on the file system.

    Collective: Over all ranks of the handle of `grid`. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are read on CuPy's current stream.

    Threads: One thread at a time per handle.

    Example:
        >>> pencil = np.ones(grid.get_pencil_info(0).shape)
        >>> cudecomp.io.write_hdf5("restart.h5", grid, 0, pencil, name="u")

    See also:
        `read_hdf5`. The cudecomp C interface has no such function.
    """
    store = lambda: Hdf5Store(path, name, "write_hdf5")  # noqa: E731
    write("cudecomp.io.write_hdf5", store, grid, axis, array, mode, halo_extents, padding)


def read_hdf5(
    path: "str | os.PathLike[str]",
    grid: "GridDesc",
    axis: SupportsIndex,
    *,
    name: str = "data",
    halo_extents: "Sequence[SupportsIndex] | None" = None,
    padding: "Sequence[SupportsIndex] | None" = None,
    out: Any = None,
) -> Any:
    """Reads a distributed array from a dataset of an HDF5 file, of this package or any other program.

    Owned cells are read; halo and padding of `out` are not written, and are zero in a new array.

    Args:
        path: The file, on a file system that all ranks see; equal on all ranks.
        grid: The grid that the array belongs to: its gdims are the shape of the dataset.
        axis: Pencil axis to read into: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        name: Name of the dataset.
        halo_extents: Halo layers of the result on either side along X, Y, Z; None for none.
        padding: Unused layers of the result at the high end along X, Y, Z; None for none.
        out: Array to read into, of the shape that ``grid.get_pencil_info(axis, halo_extents, padding)`` tells and the
            type of the dataset, writable, with any strides. None for a new one, as ``grid.empty`` makes it.

    Returns:
        numpy.ndarray: `out`, or the new array, in native byte order.

    Raises:
        ImportError: h5py cannot be imported.
        TypeError: An argument has the wrong type, or `out` another one than the dataset; or that has elements
            of no fixed size, or arrays as elements.
        InvalidUsageError: There is no such dataset, or it has another shape than the grid; a wrong shape of `out`, or
            arguments that differ between ranks.
        FileNotFoundError: There is no such file.
        OSError: The file cannot be opened or read.

    Collective: Over all ranks of the handle of `grid`. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are written on CuPy's current stream, and are complete on return.

    Threads: One thread at a time per handle.

    Example:
        >>> cudecomp.io.write_hdf5("restart.h5", grid, 0, np.ones(grid.get_pencil_info(0).shape), name="u")
        >>> pencil = cudecomp.io.read_hdf5("restart.h5", grid, 2, name="u", halo_extents=(1, 1, 1))
        >>> pencil.shape == grid.get_pencil_info(2, (1, 1, 1)).shape
        True

    See also:
        `write_hdf5`. The cudecomp C interface has no such function.
    """
    store = lambda: Hdf5Store(path, name, "read_hdf5")  # noqa: E731
    return read("cudecomp.io.read_hdf5", store, grid, axis, halo_extents, padding, out)


def write_zarr(
    path: "str | os.PathLike[str]",
    grid: "GridDesc",
    axis: SupportsIndex,
    array: object,
    *,
    name: str = "data",
    mode: str = "a",
    chunks: "Sequence[SupportsIndex] | None" = None,
    halo_extents: "Sequence[SupportsIndex] | None" = None,
    padding: "Sequence[SupportsIndex] | None" = None,
) -> None:
    """Writes a distributed array to an array of a Zarr group on a file system.

    Ranks write at once as far as they have no chunk in common, and in turns else: with the default chunks at most four
    turns where the grid is split evenly, one where the parts are equal. Halo and padding are left out.

    Args:
        path: Folder of the group, on a file system that all ranks see; equal on all ranks.
        grid: The grid that the array belongs to.
        axis: Pencil axis of `array`: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        array: This rank's pencil, of the shape that ``grid.get_pencil_info(axis, halo_extents, padding)`` tells, with
            any strides; NumPy, or a GPU array if the program has imported CuPy.
        name: Name of the array in the group, such as ``"u"`` or ``"step 10/u"``.
        mode: ``"a"`` adds to the group, or makes one; an array of this name, shape and type is overwritten, in its own
            chunks. ``"w"`` makes a new group in place of an old one. ``"x"`` makes one where none is.
        chunks: Extents of a chunk along X, Y, Z; equal on all ranks. None for those of the largest pencil, halved until
            a chunk has at most 16 MiB.
        halo_extents: Halo layers of `array` on either side along X, Y, Z; None for none.
        padding: Unused layers of `array` at the high end along X, Y, Z; None for none.

    Raises:
        ImportError: zarr cannot be imported.
        TypeError: An argument has the wrong type.
        InvalidUsageError: A wrong shape, name, mode or chunk, an array that cannot be overwritten, or arguments that
            differ between ranks.
        OSError: The group cannot be made, opened or written; ``"w"`` would remove something that is no Zarr group.

    Collective: Over all ranks of the handle of `grid`. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are read on CuPy's current stream.

    Threads: One thread at a time per handle.

    Example:
        >>> pencil = np.ones(grid.get_pencil_info(0).shape)
        >>> cudecomp.io.write_zarr("restart.zarr", grid, 0, pencil, name="u")

    See also:
        `read_zarr`. The cudecomp C interface has no such function.
    """
    store = lambda: ZarrStore(path, name, "write_zarr", chunks)  # noqa: E731
    write("cudecomp.io.write_zarr", store, grid, axis, array, mode, halo_extents, padding)


def read_zarr(
    path: "str | os.PathLike[str]",
    grid: "GridDesc",
    axis: SupportsIndex,
    *,
    name: str = "data",
    halo_extents: "Sequence[SupportsIndex] | None" = None,
    padding: "Sequence[SupportsIndex] | None" = None,
    out: Any = None,
) -> Any:
    """Reads a distributed array from an array of a Zarr group, of this package or any other program.

    Owned cells are read; halo and padding of `out` are not written, and are zero in a new array.

    Args:
        path: Folder of the group, on a file system that all ranks see; equal on all ranks.
        grid: The grid that the array belongs to: its gdims are the shape of the array in the group.
        axis: Pencil axis to read into: 0 for X-, 1 for Y-, 2 for Z-pencils; equal on all ranks.
        name: Name of the array in the group.
        halo_extents: Halo layers of the result on either side along X, Y, Z; None for none.
        padding: Unused layers of the result at the high end along X, Y, Z; None for none.
        out: Array to read into, of the shape that ``grid.get_pencil_info(axis, halo_extents, padding)`` tells and the
            type of that in the group, writable, with any strides. None for a new one, as ``grid.empty`` makes it.

    Returns:
        numpy.ndarray: `out`, or the new array, in native byte order.

    Raises:
        ImportError: zarr cannot be imported.
        TypeError: An argument has the wrong type, or `out` another one than the array in the group.
        InvalidUsageError: There is no such array, or it has another shape than the grid; a wrong shape of `out`, or
            arguments that differ between ranks.
        FileNotFoundError: There is no such folder.
        OSError: The group cannot be opened or read.

    Collective: Over all ranks of the handle of `grid`. What is wrong on one rank raises the same error on all.

    Stream ordering: GPU arrays are written on CuPy's current stream, and are complete on return.

    Threads: One thread at a time per handle.

    Example:
        >>> cudecomp.io.write_zarr("restart.zarr", grid, 0, np.ones(grid.get_pencil_info(0).shape), name="u")
        >>> pencil = cudecomp.io.read_zarr("restart.zarr", grid, 2, name="u", halo_extents=(1, 1, 1))
        >>> pencil.shape == grid.get_pencil_info(2, (1, 1, 1)).shape
        True

    See also:
        `write_zarr`. The cudecomp C interface has no such function.
    """
    store = lambda: ZarrStore(path, name, "read_zarr")  # noqa: E731
    return read("cudecomp.io.read_zarr", store, grid, axis, halo_extents, padding, out)
