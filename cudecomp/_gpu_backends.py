# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the backends of NVIDIA's library want, and what they can do."""

from cudecomp._config import GridDescAutotuneOptions, GridDescConfig
from cudecomp._enums import AutotuneGridMode, HaloCommBackend, TransposeCommBackend
from cudecomp._errors import InvalidUsageError, NotSupportedError

_Backend = TransposeCommBackend | HaloCommBackend


def family(backend: _Backend) -> str:
    """What moves the data: MPI, NCCL or NVSHMEM."""
    return backend.name.partition("_")[0]


def mpi_takes_gpu_memory() -> bool:
    """False where MPI says that it does not; one that does not answer may."""
    import ctypes

    from mpi4py import MPI

    try:
        query = ctypes.CDLL(MPI.__file__).MPIX_Query_cuda_support
    except (AttributeError, OSError):
        return True
    return bool(query())


def memory_kind(transposes: TransposeCommBackend, halos: HaloCommBackend) -> str:
    """The family that decides how workspaces are allocated for a grid."""
    families = {family(transposes), family(halos)}
    return next((kind for kind in ("NVSHMEM", "NCCL") if kind in families), "MPI")


def capturable_backend(backend: _Backend) -> bool:
    """Whether operations between ranks can go into a CUDA graph.

    The pipelined backend cannot: it works on streams of its own, which do not join the capture.
    """
    return backend.name == "NCCL"


def check_backends(
    config: GridDescConfig, options: GridDescAutotuneOptions | None, nranks: int, shared: str, mpi_takes_memory: bool
) -> None:
    """Raises for backends that would fail or crash between these ranks; alike on all of them.

    `shared` tells which ranks share a GPU, and is empty if each has its own. A backend of MPI that is not tuned is
    refused by the operations that would use it: the defaults are MPI's, and programs set what they need.
    """
    fixed, tried = _families(config, options)
    if options is not None and not mpi_takes_memory and _tunes_transposes(config, options):
        raise NotSupportedError(
            "NVIDIA's library hands GPU memory to MPI when it has tuned transposes, whatever the backends, and this "
            "MPI says that it does not take it; set pdims and transpose_comm_backend, tune for halos alone "
            "(AutotuneGridMode.HALO), or use an MPI that was built with CUDA"
        )
    if nranks > 1 and "MPI" in tried and not mpi_takes_memory:
        raise NotSupportedError(
            "MPI backends hand GPU memory to MPI, and this MPI says that it does not take it; set "
            "disable_mpi_backends=True, or use an MPI that was built with CUDA"
        )
    if shared and "NCCL" in fixed | tried:
        raise InvalidUsageError(
            f"{shared} use the same GPU, but NCCL needs one for each rank; choose a device for each rank before making "
            "the Handle, for example cuda.core.Device(rank % number of GPUs).set_current(), or use MPI backends (with "
            "autotuning, disable_nccl_backends=True)"
        )


def _tunes_transposes(config: GridDescConfig, options: GridDescAutotuneOptions) -> bool:
    tunes_grid = not any(config.pdims.tolist()) and options.grid_mode == AutotuneGridMode.TRANSPOSE
    return bool(options.autotune_transpose_backend) or tunes_grid


def _families(config: GridDescConfig, options: GridDescAutotuneOptions | None) -> tuple[set[str], set[str]]:
    """The families of backends that a new grid has, and those that it tries while it is tuned."""
    fixed, tried = set(), set()
    tunes = False
    for backend, tuned in (
        (config.transpose_comm_backend, options is not None and options.autotune_transpose_backend),
        (config.halo_comm_backend, options is not None and options.autotune_halo_backend),
    ):
        if tuned:
            tunes = True
        else:
            fixed.add(family(backend))
    if options is not None and tunes:
        disabled = {
            "MPI": options.disable_mpi_backends,
            "NCCL": options.disable_nccl_backends,
            "NVSHMEM": options.disable_nvshmem_backends,
        }
        tried = {name for name, off in disabled.items() if not off}
    return fixed, tried
