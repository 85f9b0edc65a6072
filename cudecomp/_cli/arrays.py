# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays for the library in use: of NumPy, or of CuPy where the library works on GPUs."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cudecomp._cli.extras import require
from cudecomp._enums import HaloCommBackend, TransposeCommBackend
from cudecomp_bindings._internal import cudecomp as loader

if TYPE_CHECKING:
    from mpi4py import MPI

HostArray = npt.NDArray[Any]


class Arrays:
    """Makes arrays, fills them from host memory and reads them back.

    Args:
        xp: The module numpy or cupy.
        own_gpu: Whether each rank has a GPU of its own; does not matter on the host.
    """

    def __init__(self, xp: ModuleType, own_gpu: bool = True) -> None:
        self.xp = xp
        self.own_gpu = own_gpu
        self.on_gpu = xp is not np
        self.name = "CuPy" if self.on_gpu else "NumPy"

    def flat(self, size: int, dtype: npt.DTypeLike) -> Any:
        """An array of one axis; what it holds is not defined."""
        try:
            return self.xp.empty(size, dtype)
        except ValueError as error:  # more than there are addresses
            raise MemoryError(f"an array of {size} elements of {np.dtype(dtype)}: {error}") from error

    def put(self, array: Any, values: HostArray) -> None:
        """Fills an array from one in host memory."""
        array[...] = self.xp.asarray(values)

    def get(self, array: Any) -> HostArray:
        """A copy of an array in host memory; waits for what has been enqueued before."""
        return np.array(array) if not self.on_gpu else self.xp.asnumpy(array)

    def backends(self) -> tuple[TransposeCommBackend, HaloCommBackend]:
        """Backends that work most widely: NCCL's on GPUs, whose memory many MPIs do not take."""
        if self.on_gpu and self.own_gpu:
            return TransposeCommBackend.NCCL, HaloCommBackend.NCCL
        return TransposeCommBackend.MPI_P2P, HaloCommBackend.MPI

    def synchronize(self) -> None:
        """Waits until all work on the current stream has ended: before a clock is read."""
        if self.on_gpu:
            self.xp.cuda.get_current_stream().synchronize()


def choose(comm: "MPI.Intracomm") -> Arrays:
    """The arrays for the library that this process uses, which is loaded here. On a GPU machine, chooses the device.

    Collective over `comm` if the library is NVIDIA's: the ranks of a node take its devices in turn.
    """
    if loader.load_library().kind == "builtin":
        return Arrays(np)
    cupy = require("cupy", "cu12' or 'cudecomp[cu13", "working on GPU arrays")
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    devices = cupy.cuda.runtime.getDeviceCount()
    cupy.cuda.Device(node.rank % devices).use()
    own_gpu = not comm.allreduce(node.size > devices, MPI.LOR)
    node.Free()
    return Arrays(cupy, own_gpu)
