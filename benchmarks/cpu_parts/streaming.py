# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The copy limit: ``streaming.c``, compiled when the benchmark starts."""

import ctypes
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI

SOURCE = Path(__file__).with_name("streaming.c")


class StreamingCopy:
    """A copy with streaming stores; NumPy's copy, and `kind` says so, where no C compiler is found."""

    def __init__(self, comm: MPI.Comm) -> None:
        """Collective over `comm`: one rank of each node compiles, the others wait for it."""
        node = comm.Split_type(MPI.COMM_TYPE_SHARED)
        with tempfile.TemporaryDirectory() as folder:  # of rank 0 of the node; the others' stay empty
            path = node.bcast(_compile(Path(folder)) if node.rank == 0 else None)
            self._library = ctypes.CDLL(path) if path else None
            node.Barrier()  # the file goes with its folder
        node.Free()
        if self._library is None:
            self.kind = "np.copyto: no C compiler found, set CC to one; the limit reads too slow"
            return
        self._library.copy_kind.restype = ctypes.c_char_p
        self._library.copy_streaming.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self._library.copy_streaming.restype = None
        self.kind = self._library.copy_kind().decode()

    def __call__(self, out: np.ndarray, source: np.ndarray) -> None:
        """Copies as many bytes as both contiguous arrays have."""
        if self._library is None:
            copy_numpy(out, source)
        else:
            self._library.copy_streaming(out.ctypes.data, source.ctypes.data, min(out.nbytes, source.nbytes))


def copy_numpy(out: np.ndarray, source: np.ndarray) -> None:
    """The same with NumPy's copy, which uses ordinary stores."""
    count = min(out.size, source.size)
    np.copyto(out.reshape(-1)[:count], source.reshape(-1)[:count])


def _compile(folder: Path) -> str | None:
    library = folder / "streaming.so"
    for compiler in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        command = [*shlex.split(compiler), "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return str(library)
    return None
