# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How ranks write and read one array in a file together, whatever the format of the file.

A store knows the format. The flow is the same for all: the ranks agree on what they are about to do, rank 0 creates the
array, and then the ranks write their parts in turns, such that no two of one turn touch the same unit of the file. What
goes wrong on one rank is kept until all have had their turn, and is then raised on all.
"""

import contextlib
import importlib
import itertools
import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt

from cudecomp._agreement import CheckedCall, agree
from cudecomp._errors import InvalidUsageError
from cudecomp._pencil import PencilInfo
from cudecomp._whole import finish, global_shape, new_pencil, pencil_array, pieces, read_piece, write_piece

if TYPE_CHECKING:
    from mpi4py import MPI

    from cudecomp._core import GridDesc

#: Version of what is written: an array in X, Y, Z order with the attributes of `attributes`.
FORMAT = 1

MODES = ("a", "w", "x")


class Dataset(Protocol):
    """An array in an open file."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def attrs(self) -> Any: ...
    def __getitem__(self, box: tuple[slice, ...]) -> Any: ...
    def __setitem__(self, box: tuple[slice, ...], values: npt.NDArray[Any]) -> None: ...


class Store(Protocol):
    """Arrays in files of one format; made by every rank, with its own idea of the arguments."""

    path: Path
    name: str
    settings: dict[str, str]  # what else must be equal on all ranks

    def create(self, shape: tuple[int, ...], dtype: np.dtype[Any], mode: str, infos: list[PencilInfo]) -> None:
        """Makes the array, or finds an equal one that may be overwritten; on rank 0 alone."""

    def chunks(self, dataset: Dataset) -> Sequence[int]:
        """Extents of what should be written and read as one."""

    def turns(self, infos: list[PencilInfo]) -> list[int]:
        """When each rank may write, for an array that exists."""

    def opened(self, comm: "MPI.Intracomm", writable: bool) -> AbstractContextManager[Dataset]:
        """The array, for the ranks that have a turn together."""


def write(
    call: str,
    make_store: Callable[[], Store],
    grid: "GridDesc",
    axis: SupportsIndex,
    array: object,
    mode: str,
    halo: Any,
    padding: Any,
) -> None:
    """Writes the owned cells of all ranks. Collective over the handle of `grid`."""
    comm = grid.handle._private_comm
    with CheckedCall(comm, call) as checked:
        store = make_store()
        info = grid.get_pencil_info(axis, halo, padding)
        source = pencil_array(array, "array", info, axis)
        if mode not in MODES:
            raise InvalidUsageError(f"mode is {mode!r}, expected one of {', '.join(map(repr, MODES))}")
        wanted = {"mode": repr(mode), "the dtype of array": str(source.dtype)}
        checked.compare({**_target(store, grid, axis), **wanted})
    infos = comm.allgather(info)
    with CheckedCall(comm, call) as checked:
        if comm.rank == 0:
            store.create(global_shape(grid), source.dtype.newbyteorder("="), mode, infos)
        checked.compare({})
    with CheckedCall(comm, call) as checked:
        turns = store.turns(infos)
        checked.compare({"turns": str(turns)})
    error: Exception | None = None
    for turn in range(max(turns) + 1):
        if turns[comm.rank] == turn:
            error = _attempt(lambda: _write_part(store, comm, info, source))
        comm.barrier()
    agree(comm, call, error, {})


def read(
    call: str,
    make_store: Callable[[], Store],
    grid: "GridDesc",
    axis: SupportsIndex,
    halo: Any,
    padding: Any,
    out: Any,
) -> Any:
    """Reads the owned cells of all ranks into `out`, or into new arrays. Collective over the handle of `grid`."""
    comm = grid.handle._private_comm
    with CheckedCall(comm, call) as checked:
        store = make_store()
        info = grid.get_pencil_info(axis, halo, padding)
        target = None if out is None else pencil_array(out, "out", info, axis, writable=True)
        if not store.path.exists():
            raise FileNotFoundError(f"{store.path} does not exist, or not where this rank looks for it")
        checked.compare(_target(store, grid, axis))
    with contextlib.ExitStack() as stack:
        with CheckedCall(comm, call) as checked:
            dataset = stack.enter_context(store.opened(comm, writable=False))
            dtype = _require_fit(store, dataset, grid)
            if target is None:
                out = target = new_pencil(grid, axis, dtype, info)
            elif target.dtype != dtype:
                where = f"{store.name!r} in {store.path}"
                raise TypeError(f"out is of {target.dtype}, but {where} is of {dtype}; arrays are never converted")
            checked.compare({"the dtype of the file": str(dtype)})
        part = _xyz(target, info)
        agree(comm, call, _attempt(lambda: _read_part(store, dataset, info, part)), {})
    finish(target)
    return out


def _target(store: Store, grid: "GridDesc", axis: SupportsIndex) -> dict[str, str]:
    return {
        "the grid": repr(grid),
        "axis": str(operator.index(axis)),
        "path": str(store.path),
        "name": repr(store.name),
        **store.settings,
    }


def _attempt(function: Callable[[], None]) -> Exception | None:
    try:
        function()
    except Exception as error:
        return error
    return None


def _write_part(store: Store, comm: "MPI.Intracomm", info: PencilInfo, source: npt.NDArray[Any]) -> None:
    part = _xyz(source, info)
    with store.opened(comm, writable=True) as dataset:
        for box, local in _boxes(info, store.chunks(dataset), source.dtype.itemsize):
            dataset[box] = read_piece(part, local)


def _read_part(store: Store, dataset: Dataset, info: PencilInfo, part: npt.NDArray[Any]) -> None:
    for box, local in _boxes(info, store.chunks(dataset), part.dtype.itemsize):
        write_piece(part, local, dataset[box])


def _xyz(array: npt.NDArray[Any], info: PencilInfo) -> npt.NDArray[Any]:
    """The owned cells of a local array, with axes in the order of the file."""
    return array[info.interior].transpose([info.order.index(dim) for dim in range(3)])


def _boxes(
    info: PencilInfo, chunks: Sequence[int], itemsize: int
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Boxes that cover what this rank owns, in the file and in the owned part, cut where chunks end."""
    owned = info.global_slices_xyz
    first = [side.start // chunk for side, chunk in zip(owned, chunks, strict=True)]
    # One more than the last chunk; no chunks where nothing is owned.
    after = [-(-side.stop // chunk) if side.stop > side.start else 0 for side, chunk in zip(owned, chunks, strict=True)]
    counts = tuple(max(0, stop - start) for start, stop in zip(first, after, strict=True))
    for group in pieces(counts, itemsize * math.prod(chunks)):
        box = tuple(
            slice(max(side.start, (start + run.start) * chunk), min(side.stop, (start + run.stop) * chunk))
            for side, start, run, chunk in zip(owned, first, group, chunks, strict=True)
        )
        yield box, tuple(slice(b.start - side.start, b.stop - side.start) for b, side in zip(box, owned, strict=True))


def turns_by_chunk(infos: list[PencilInfo], chunks: Sequence[int]) -> list[int]:
    """Turns for the ranks, such that no two that write in one turn have a chunk in common.

    Along each axis, parts that meet in a chunk get different colours; ranks with the same three colours go together.
    Where all parts begin with a chunk there is one colour, and two where parts are no smaller than chunks.
    """
    boxes = [info.global_slices_xyz for info in infos]
    colours = [_colours([box[dim] for box in boxes], chunks[dim]) for dim in range(3)]
    mine = [tuple(colours[dim][side.start, side.stop] for dim, side in enumerate(box)) for box in boxes]
    turn_of = {combination: turn for turn, combination in enumerate(sorted(set(mine)))}
    return [turn_of[combination] for combination in mine]


def _colours(sides: list[slice], chunk: int) -> dict[tuple[int, int], int]:
    """A colour for each part of an axis; parts that have a chunk in common differ."""
    last: list[int] = []  # chunk that the latest part of each colour reaches
    colours = {}
    for start, stop in sorted({(side.start, side.stop) for side in sides}):
        if start == stop:
            colours[start, stop] = 0
            continue
        free = (colour for colour, reached in enumerate(last) if reached < start // chunk)
        colour = next(free, len(last))
        last[colour:] = [(stop - 1) // chunk, *last[colour + 1 :]]
        colours[start, stop] = colour
    return colours


def default_chunks(infos: list[PencilInfo], itemsize: int, most: int) -> tuple[int, ...]:
    """Chunks of at most `most` bytes: the largest part of each axis, halved where it is longest."""
    boxes = [info.global_slices_xyz for info in infos]
    chunks = [max(1, *(box[dim].stop - box[dim].start for box in boxes)) for dim in range(3)]
    while math.prod(chunks) * itemsize > most and max(chunks) > 1:
        longest = chunks.index(max(chunks))
        chunks[longest] = -(-chunks[longest] // 2)
    return tuple(chunks)


def attributes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
    """What an array in a file says about itself."""
    return {"cudecomp_format": FORMAT, "axes": "XYZ", "gdims": list(shape), "dtype": str(dtype)}


def require_same(where: str, found: Dataset, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises unless an array that exists can be overwritten."""
    if tuple(found.shape) != shape or found.dtype != dtype:
        raise InvalidUsageError(
            f"{where} exists with shape {tuple(found.shape)} and dtype {found.dtype}, expected {shape} and {dtype} to "
            "overwrite it; choose another name, or mode='w' for a new file"
        )


def _require_fit(store: Store, dataset: Dataset, grid: "GridDesc") -> np.dtype[Any]:
    """The type of an array in a file that fits the grid, in native byte order."""
    where = f"{store.name!r} in {store.path}"
    version = int(dataset.attrs.get("cudecomp_format", FORMAT))  # other programs do not say
    if version > FORMAT:
        raise InvalidUsageError(f"{where} has format {version}, expected at most {FORMAT}; use a newer cudecomp")
    gdims, shape = global_shape(grid), tuple(dataset.shape)
    if shape != gdims:
        raise InvalidUsageError(f"{where} has shape {shape}, expected {gdims}, the grid's extents along X, Y, Z")
    if dataset.dtype.hasobject or dataset.dtype.subdtype:
        raise TypeError(f"{where} is of {dataset.dtype}, expected a type of fixed size without axes, such as float64")
    return dataset.dtype.newbyteorder("=")


def require_package(package: str, call: str) -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        text = f"cudecomp.io.{call} needs {package}, which cannot be imported ({error}); pip install 'cudecomp[io]'"
        raise ImportError(text) from error


def checked_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a str or a path, got {path!r} of type {type(path).__name__}")
    if not (text := os.fspath(path)):
        raise InvalidUsageError("path is empty, expected the name of a file or folder")
    return Path(text)


def checked_name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, got {name!r} of type {type(name).__name__}")
    parts = [part for part in name.split("/") if part]
    if not parts or {".", ".."} & set(parts) or "\0" in name:
        raise InvalidUsageError(f"name is {name!r}, expected the name of an array in the file, such as 'u' or 'run/u'")
    return "/".join(parts)


def missing_name(where: Path, name: str, found: list[str], is_group: bool) -> InvalidUsageError:
    if is_group:
        return InvalidUsageError(f"{name!r} in {where} is a group, expected an array; choose a name such as '{name}/u'")
    listed = ", ".join(map(repr, itertools.islice(sorted(found), 20))) or "nothing"
    return InvalidUsageError(f"{where} has no array {name!r}; at its top are {listed}")
