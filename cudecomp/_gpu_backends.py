# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the backends of NVIDIA's library want, and what they can do."""

from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._enums import HaloCommBackend, TransposeCommBackend
from cudecomp._errors import InvalidUsageError

_Backend = TransposeCommBackend | HaloCommBackend


def family(backend: _Backend) -> str:
    """What moves the data: MPI, NCCL or NVSHMEM."""
    return backend.name.partition("_")[0]


def memory_kind(transposes: TransposeCommBackend, halos: HaloCommBackend) -> str:
    """The family that decides how workspaces are allocated for a grid."""
    families = {family(transposes), family(halos)}
    return next((kind for kind in ("NVSHMEM", "NCCL") if kind in families), "MPI")


def capturable_backend(backend: _Backend) -> bool:
    """Whether operations between ranks can go into a CUDA graph."""
    return family(backend) == "NCCL"


def check_own_gpus(config: GridDescConfig, options: GridDescAutotuneOptions | None, shared: str) -> None:
    """Raises InvalidUsageError where ranks share a GPU, told by `shared`, and NCCL would be used; on all alike."""
    if not shared:
        return
    tunes_transposes = options is not None and options.autotune_transpose_backend
    tunes_halos = options is not None and options.autotune_halo_backend
    fixed = [config.transpose_comm_backend] * (not tunes_transposes) + [config.halo_comm_backend] * (not tunes_halos)
    tried = options is not None and (tunes_transposes or tunes_halos) and not options.disable_nccl_backends
    if tried or any(family(backend) == "NCCL" for backend in fixed):
        raise InvalidUsageError(
            f"{shared} use the same GPU, but NCCL needs one for each rank; choose a device for each rank before making "
            "the Handle, for example cuda.core.Device(rank % number of GPUs).set_current(), or use MPI backends"
        )
