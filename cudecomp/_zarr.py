# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in Zarr groups on a file system, through the zarr package, version 2 or 3."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cudecomp._errors import InvalidUsageError
from cudecomp._fields import as_int, nested
from cudecomp._files import (
    Dataset,
    attributes,
    checked_name,
    checked_path,
    default_chunks,
    missing_name,
    require_package,
    require_same,
    turns_by_chunk,
)
from cudecomp._pencil import PencilInfo

if TYPE_CHECKING:
    from mpi4py import MPI

#: Bytes of a chunk where the user does not say.
CHUNK_BYTES = 2**24


class ZarrStore:
    """One array of a group. A chunk is a file, so that ranks which share one write in different turns."""

    def __init__(self, path: object, name: object, call: str, chunks: object = None) -> None:
        self.path = checked_path(path)
        self.name = checked_name(name)
        self._zarr = require_package("zarr", call)
        self._chunks = None if chunks is None else _checked_chunks(chunks)
        self.settings = {"chunks": str(self._chunks)}

    def create(self, shape: tuple[int, ...], dtype: np.dtype[Any], mode: str, infos: list[PencilInfo]) -> None:
        self._require_free(mode)
        self.path.mkdir(parents=True, exist_ok=True)  # an error of the system, not one of zarr's many
        group = self._zarr.open_group(str(self.path), mode="a" if mode == "x" else mode)
        if self.name in group:
            array = self._array("r+")
            require_same(f"{self.name!r} in {self.path}", array, shape, dtype)
        else:
            chunks = self._chunks or default_chunks(infos, dtype.itemsize, CHUNK_BYTES)
            array = self._zarr.open_array(
                store=str(self.path), path=self.name, mode="w", shape=shape, chunks=chunks, dtype=dtype
            )
        array.attrs.update(attributes(shape, dtype))

    def chunks(self, dataset: Any) -> Sequence[int]:
        chunks: Sequence[int] = dataset.chunks
        return chunks

    def turns(self, infos: list[PencilInfo]) -> list[int]:
        return turns_by_chunk(infos, self._array("r").chunks)

    @contextlib.contextmanager
    def opened(self, comm: "MPI.Intracomm", writable: bool) -> Iterator[Dataset]:
        with self._all_chunks():
            yield self._array("r+" if writable else "r")

    def _array(self, mode: str) -> Any:
        group = self._zarr.open_group(str(self.path), mode="r")
        found = group.get(self.name)
        if not isinstance(found, self._zarr.Array):
            raise missing_name(self.path, self.name, [*group.array_keys(), *group.group_keys()], found is not None)
        return self._zarr.open_array(store=str(self.path), path=self.name, mode=mode)

    def _require_free(self, mode: str) -> None:
        """Raises where "w" would remove files that are no Zarr group, or "x" finds anything."""
        if not self.path.exists() or mode == "a":
            return
        if mode == "x":
            raise FileExistsError(f"{self.path} exists, and mode is 'x'; choose another path, or mode 'a' or 'w'")
        known = any((self.path / marker).is_file() for marker in ("zarr.json", ".zgroup"))
        if not known and (self.path.is_file() or any(self.path.iterdir())):
            raise FileExistsError(f"{self.path} exists and is no Zarr group; it is not removed, choose another path")

    def _all_chunks(self) -> contextlib.AbstractContextManager[Any]:
        """Version 3 leaves out chunks that equal the fill value, and releases before 3.1 take -0.0 for 0.0."""
        config = getattr(self._zarr, "config", None)
        return config.set({"array.write_empty_chunks": True}) if config else contextlib.nullcontext()


def _checked_chunks(chunks: object) -> tuple[int, ...]:
    values: list[int] = nested(chunks, (3,), as_int, "integers (X, Y, Z)", "chunks")  # type: ignore[assignment]
    if min(values) < 1:
        raise InvalidUsageError(f"chunks is {tuple(values)}, expected at least 1 along X, Y and Z")
    return tuple(values)
