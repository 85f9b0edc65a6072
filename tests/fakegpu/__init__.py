# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""A GPU for machines without one: a driver, a library like NVIDIA's over the built-in engine, and arrays.

Everything of this package that works on GPU arrays runs over it as it would on a GPU, except that the memory is the
host's and streams are numbers. One process has either this or the built-in engine.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


class FakeGpu:
    """The two libraries, in this process."""

    def __init__(self, cuda: ctypes.CDLL, library: ctypes.CDLL) -> None:
        self.cuda = cuda
        self.library = library
        for function in (cuda.fake_record, library.fake_library_record):
            function.restype = ctypes.c_char_p
        cuda.fake_announce.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        cuda.fake_forget.argtypes = [ctypes.c_void_p]
        cuda.fake_set_captured.argtypes = [ctypes.c_size_t]

    def events(self) -> list[str]:
        """Events recorded and waited for since the last call, such as "record 7"."""
        return self.cuda.fake_record().decode().rstrip(";").split(";")

    def calls(self) -> list[list[str]]:
        """Calls of the library since the last call: name, workspace or size in hexadecimal, stream."""
        text = self.library.fake_library_record().decode().rstrip(";")
        return [call.split() for call in text.split(";")] if text else []


def start() -> FakeGpu:
    """Makes this process one with a GPU; before its first Handle."""
    folder = Path(tempfile.mkdtemp(prefix="fakegpu"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # the library is opened again by its path
    cuda = _compile(folder, "fakecuda.c", "libcuda.so.1")
    library = _compile(folder, "fakenvidia.c", "libcudecomp.so.0.7.0")
    os.environ["FAKE_NVIDIA_ENGINE"] = str(ROOT / "cudecomp" / "_engine" / "libcudecomp_builtin.so")
    os.environ["CUDECOMP_LIBRARY"] = str(library)
    # The memory is the host's, after all.
    import cudecomp._gpu_backends

    cudecomp._gpu_backends.mpi_takes_gpu_memory = lambda: True
    # By its soname the driver is found from now on, wherever it is.
    return FakeGpu(ctypes.CDLL(str(cuda), ctypes.RTLD_GLOBAL), ctypes.CDLL(str(library)))


def _compile(folder: Path, source: str, name: str) -> Path:
    target = folder / name
    command = [
        *os.environ.get("CC", "cc").split(), "-std=gnu11", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC",
        f"-I{ROOT / 'engine' / 'include'}", "-idirafter", str(ROOT / "codegen" / "stubs"),
        str(HERE / source), f"-Wl,-soname,{name}", "-o", str(target),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return target


class FakeArray:
    """A device array that offers the CUDA array interface, over host memory announced to the fake driver."""

    def __init__(self, host: np.ndarray, gpu: FakeGpu | None = None, device: int = 0, **interface: object) -> None:
        self.host = host
        self._interface = interface
        if gpu is not None and host.nbytes:
            gpu.cuda.fake_announce(host.ctypes.data, host.nbytes, device)
            weakref.finalize(host, gpu.cuda.fake_forget, host.ctypes.data)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        described = {
            "shape": self.host.shape,
            "typestr": self.host.dtype.str,
            "data": (self.host.ctypes.data, not self.host.flags.writeable),
            "strides": None if self.host.flags.c_contiguous else self.host.strides,
            "version": 3,
            **self._interface,
        }
        return {name: value for name, value in described.items() if value is not Ellipsis}

    @property
    def shape(self) -> tuple[int, ...]:
        return self.host.shape

    def __getitem__(self, index: object) -> FakeArray:
        return FakeArray(self.host[index])

    def reshape(self, *shape: int) -> FakeArray:
        return FakeArray(self.host.reshape(*shape))
