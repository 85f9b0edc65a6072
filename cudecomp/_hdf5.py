# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays in HDF5 files, through h5py."""

import contextlib
import errno
import math
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
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

#: Bytes of a file beside the array itself, more than HDF5 needs.
_OVERHEAD = 2**16


class Hdf5Store:
    """One dataset of a file. With a parallel h5py all ranks have it open at once, else one after the other."""

    def __init__(self, path: object, name: object, call: str) -> None:
        self.path = checked_path(path)
        self.name = checked_name(name)
        self._h5py = require_package("h5py", call)
        self._parallel = bool(self._h5py.get_config().mpi)
        self.settings = {"parallel HDF5": str(self._parallel)}

    def create(self, shape: tuple[int, ...], dtype: np.dtype[Any], mode: str, infos: list[PencilInfo]) -> None:
        if mode != "a" or not self._exists():
            self._require_space(math.prod(shape) * dtype.itemsize, mode)
        with self._file(mode) as file:
            if self.name in file:
                dataset = self._dataset(file)
                require_same(f"{self.name!r} in {self.path}", dataset, shape, dtype)
            else:
                dataset = self._new_dataset(file, shape, dtype)
            dataset.attrs.update(attributes(shape, dtype))

    def _exists(self) -> bool:
        if not self.path.exists():
            return False
        with self._file("r") as file:
            return self.name in file

    def _require_space(self, needed: int, mode: str) -> None:
        """Raises where the file cannot fit: HDF5 does not get over a disk that is full when it closes a file.

        What is in the way is not known, and then the file left to HDF5: quotas, and file systems that tell no size.
        """
        folder = self.path.parent
        if not folder.is_dir():
            return  # HDF5 says what is wrong
        total, _, free = shutil.disk_usage(folder)
        if mode == "w" and self.path.is_file():
            free += self.path.stat().st_blocks * 512
        if total and needed + _OVERHEAD > free:
            text = f"{os.strerror(errno.ENOSPC)}: {self.name!r} takes {needed} bytes, and {free} are free"
            raise OSError(f"{self.path}: {text}")

    def _new_dataset(self, file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        try:
            return file.create_dataset(self.name, shape, dtype)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.path} cannot take {self.name!r}, of {dtype}: {error}") from error

    def chunks(self, dataset: Any) -> Sequence[int]:
        return dataset.chunks or (1, 1, 1)

    def turns(self, infos: list[PencilInfo]) -> list[int]:
        return [0] * len(infos) if self._parallel else list(range(len(infos)))

    @contextlib.contextmanager
    def opened(self, comm: "MPI.Intracomm", writable: bool) -> Iterator[Dataset]:
        options = {"driver": "mpio", "comm": comm} if self._parallel else {}
        with self._file("r+" if writable else "r", **options) as file:
            yield self._dataset(file)

    @contextlib.contextmanager
    def _file(self, mode: str, **options: Any) -> Iterator[Any]:
        file = self._told(lambda: self._h5py.File(self.path, mode, **options))
        try:
            yield file
        except BaseException:
            with contextlib.suppress(Exception):  # the first error tells more
                file.close()
            raise
        self._told(file.close)

    def _told(self, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except OSError as error:
            raise type(error)(f"{self.path}: {error}") from error
        except RuntimeError as error:  # what h5py makes of errors of the system that it meets late
            raise OSError(f"{self.path}: {error}") from error

    def _dataset(self, file: Any) -> Any:
        found = file.get(self.name)
        if not isinstance(found, self._h5py.Dataset):
            raise missing_name(self.path, self.name, list(file), found is not None)
        return found
