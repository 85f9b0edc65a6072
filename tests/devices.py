# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Where the arrays of a test live: on the host, on a GPU, or on a GPU that is not there (tests.fakegpu).

Tests prepare and check arrays in NumPy. `copies` hands an operation the same memory on the device, guard words
included, and brings back whatever it has written.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests import reference as ref


class Host:
    """NumPy arrays of the built-in engine."""

    name = "host"

    @contextlib.contextmanager
    def copies(self, *spaces: ref.Guarded) -> Iterator[tuple[ref.Guarded, ...]]:
        yield spaces

    def to_host(self, array: Any) -> np.ndarray:
        return array


class Device:
    """What the two kinds of GPU have in common."""

    name = ""

    @contextlib.contextmanager
    def copies(self, *spaces: ref.Guarded) -> Iterator[tuple[ref.Guarded, ...]]:
        """The same spaces on the device; one that is given twice stays one."""
        made: dict[int, ref.Guarded] = {}
        for space in spaces:
            if id(space) not in made:
                made[id(space)] = copy = space.copy()
                copy.memory = self.from_host(space.memory)
        yield tuple(made[id(space)] for space in spaces)
        for space in spaces:
            space.memory[...] = self.to_host(made[id(space)].memory)

    def from_host(self, array: np.ndarray) -> Any:
        raise NotImplementedError

    def to_host(self, array: Any) -> np.ndarray:
        raise NotImplementedError


class Fake(Device):
    """Arrays that only offer the CUDA array interface, on a GPU that is not there."""

    name = "fake"

    def use(self) -> None:
        """There is nothing to choose."""

    def __init__(self) -> None:
        from tests import fakegpu

        self._module = fakegpu
        self.gpu = fakegpu.start()

    def from_host(self, array: np.ndarray) -> Any:
        return self._module.FakeArray(array.copy(), self.gpu)

    def to_host(self, array: Any) -> np.ndarray:
        return array.host


class Cupy(Device):
    """CuPy arrays on a GPU, one of its own for each rank as far as there are any."""

    name = "gpu"

    def __init__(self, rank: int) -> None:
        import cupy

        self.cupy = cupy
        self.number = rank % cupy.cuda.runtime.getDeviceCount()
        self.use()

    def use(self) -> None:
        """Makes this rank's GPU the current one, whatever another package has chosen."""
        self.cupy.cuda.Device(self.number).use()

    def from_host(self, array: np.ndarray) -> Any:
        return self.cupy.asarray(array)

    def to_host(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(array)


def why_no_gpu() -> str:
    """Why tests that need a GPU cannot run here; empty where they can."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    import cupy

    try:
        devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy sees no GPU ({error})"
    if devices == 0:
        return "there is no GPU"
    from cudecomp_bindings._internal.cudecomp import LibraryLoadError, load_library

    try:
        kind = load_library().kind
    except LibraryLoadError as error:
        return f"no library can be loaded: {error}"
    return "" if kind == "nvidia" else "NVIDIA's library is not installed: set CUDECOMP_HOME to its folder"


def make(name: str, rank: int) -> Any:
    """The device of this name: "host", "gpu" or "fake"."""
    if name == "host":
        return Host()
    if name == "fake":
        return Fake()
    if name == "gpu":
        reason = why_no_gpu()
        if reason:
            raise RuntimeError(f"no GPU to test on: {reason}")
        return Cupy(rank)
    raise ValueError(f"device is {name!r}, expected host, gpu or fake")
