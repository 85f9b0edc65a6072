# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What this package raises when the library refuses a call, or when an argument has a wrong value."""

from cudecomp._enums import Result


class CudecompError(RuntimeError):
    """A call failed; the base of the errors of this package.

    The subclass tells the kind of failure, `result` is the code itself, and the text says what was wrong, the value
    seen and the value expected. Arguments of a wrong *type* raise TypeError, arguments of a wrong *value*
    InvalidUsageError, no matter whether Python or the library noticed. Errors are picklable, so they travel between
    ranks.

    Args:
        message: The text.
        result: The result code; left out, the one that the class stands for.

    Attributes:
        result: The result code, a `Result`.

    Example:
        >>> try:
        ...     raise InvalidUsageError("halo_axis is 3, expected 0, 1 or 2")
        ... except CudecompError as error:
        ...     print(error.result.name, "-", error)
        INVALID_USAGE - halo_axis is 3, expected 0, 1 or 2

    See also:
        ``cudecompResult_t``
    """

    _meaning = Result.INTERNAL_ERROR

    def __init__(self, message: str, result: int | None = None) -> None:
        super().__init__(message)
        self.result = self._meaning if result is None else Result(result)


class InvalidUsageError(CudecompError, ValueError):
    """An argument has a wrong value, or calls come in a wrong order (``CUDECOMP_RESULT_INVALID_USAGE``)."""

    _meaning = Result.INVALID_USAGE


class NotSupportedError(CudecompError, NotImplementedError):
    """A valid request that this library or machine cannot do (``CUDECOMP_RESULT_NOT_SUPPORTED``)."""

    _meaning = Result.NOT_SUPPORTED


class InternalError(CudecompError):
    """A defect of the library; please report it (``CUDECOMP_RESULT_INTERNAL_ERROR``)."""

    _meaning = Result.INTERNAL_ERROR


class CudaError(CudecompError):
    """A CUDA call failed (``CUDECOMP_RESULT_CUDA_ERROR``)."""

    _meaning = Result.CUDA_ERROR


class CutensorError(CudecompError):
    """A cuTENSOR call failed (``CUDECOMP_RESULT_CUTENSOR_ERROR``)."""

    _meaning = Result.CUTENSOR_ERROR


class MpiError(CudecompError):
    """An MPI call failed (``CUDECOMP_RESULT_MPI_ERROR``)."""

    _meaning = Result.MPI_ERROR


class NcclError(CudecompError):
    """An NCCL call failed (``CUDECOMP_RESULT_NCCL_ERROR``)."""

    _meaning = Result.NCCL_ERROR


class NvshmemError(CudecompError):
    """An NVSHMEM call failed (``CUDECOMP_RESULT_NVSHMEM_ERROR``)."""

    _meaning = Result.NVSHMEM_ERROR


class NvmlError(CudecompError):
    """An NVML call failed (``CUDECOMP_RESULT_NVML_ERROR``)."""

    _meaning = Result.NVML_ERROR


_BY_RESULT: dict[int, type[CudecompError]] = {kind._meaning: kind for kind in CudecompError.__subclasses__()}


def error_from_result(result: int, message: str) -> CudecompError:
    """The error for a result code; codes that a later library may add give a plain CudecompError."""
    return _BY_RESULT.get(result, CudecompError)(message, result)
