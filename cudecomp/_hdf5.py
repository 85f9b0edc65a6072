# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in HDF5 files, through h5py."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cudecomp._files import (
    Dataset,
    attributes,
    checked_name,
    checked_path,
    missing_name,
    require_package,
    require_same,
)
from cudecomp._pencil import PencilInfo

if TYPE_CHECKING:
    from mpi4py import MPI


class Hdf5Store:
    """One dataset of a file. With a parallel h5py all ranks have it open at once, else one after the other."""

    def __init__(self, path: object, name: object, call: str) -> None:
        self.path = checked_path(path)
        self.name = checked_name(name)
        self._h5py = require_package("h5py", call)
        self._parallel = bool(self._h5py.get_config().mpi)
        self.settings = {"parallel HDF5": str(self._parallel)}

    def create(self, shape: tuple[int, ...], dtype: np.dtype[Any], mode: str, infos: list[PencilInfo]) -> None:
        with self._file(mode) as file:
            if self.name in file:
                dataset = self._dataset(file)
                require_same(f"{self.name!r} in {self.path}", dataset, shape, dtype)
            else:
                dataset = file.create_dataset(self.name, shape, dtype)
            dataset.attrs.update(attributes(shape, dtype))

    def chunks(self, dataset: Any) -> Sequence[int]:
        return dataset.chunks or (1, 1, 1)

    def turns(self, infos: list[PencilInfo]) -> list[int]:
        return [0] * len(infos) if self._parallel else list(range(len(infos)))

    @contextlib.contextmanager
    def opened(self, comm: "MPI.Intracomm", writable: bool) -> Iterator[Dataset]:
        options = {"driver": "mpio", "comm": comm} if self._parallel else {}
        with self._file("r+" if writable else "r", **options) as file:
            yield self._dataset(file)

    def _file(self, mode: str, **options: Any) -> Any:
        try:
            return self._h5py.File(self.path, mode, **options)
        except OSError as error:
            raise type(error)(f"{self.path}: {error}") from error

    def _dataset(self, file: Any) -> Any:
        found = file.get(self.name)
        if not isinstance(found, self._h5py.Dataset):
            raise missing_name(self.path, self.name, list(file))
        return found
