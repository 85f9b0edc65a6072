# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How ranks agree before something collective starts, so that none is left waiting for one that has raised.

Every rank does its part, keeps the error it met instead of raising it, and says what it wants to go on with. One
reduction of three integers then tells everybody whether all are well and want the same. Only when they do not, a second
step gathers the texts, and all ranks raise one error: the same type with the same text.

Creation always agrees. Operations agree on handles that were made with `CUDECOMP_CHECK=1`.
"""

import hashlib
import os
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from cudecomp._errors import CudecompError, InvalidUsageError
from cudecomp_bindings._internal.cudecomp import LibraryLoadError

if TYPE_CHECKING:
    from mpi4py import MPI


def agree(comm: "MPI.Intracomm", call: str, error: Exception | None, values: Mapping[str, str]) -> None:
    """Returns if no rank has an error and all ranks have the same values; else raises the same error on all ranks.

    Args:
        comm: Private communicator for this purpose.
        call: Name of what the ranks are about to do, for the error text.
        error: What went wrong on this rank, None for nothing.
        values: What this rank wants, by name, as text.

    Collective: Over all ranks of `comm`.
    """
    problems, lowest, highest = _reduce(comm, call, error, values)
    if problems:
        _raise_errors(comm, error)
    if lowest != highest:
        _raise_difference(comm, call, values)


class CheckedCall:
    """One call of an operation that the ranks compare before anything moves; a context for all that the call does.

    An error before the comparison is one that only this rank may have: it takes the place of the comparison, for which
    the other ranks wait or will be waiting, and is raised on all of them.
    """

    def __init__(self, comm: "MPI.Intracomm", call: str) -> None:
        self._comm = comm
        self._call = call
        self._compared = False

    def compare(self, values: Mapping[str, str]) -> None:
        """Raises the same error on all ranks if one has an error, makes another call, or has other values."""
        self._compared = True
        agree(self._comm, self._call, None, values)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not self._compared:
            agree(self._comm, self._call, error, {})


def checks_wanted() -> bool:
    """Whether CUDECOMP_CHECK asks for compared operations."""
    value = os.environ.get("CUDECOMP_CHECK", "")
    if value not in ("", "0", "1"):
        raise InvalidUsageError(
            f"the environment variable CUDECOMP_CHECK is {value!r}, expected 1 for operations that compare their "
            "arguments between ranks, or 0"
        )
    return value == "1"


def _reduce(
    comm: "MPI.Intracomm", call: str, error: Exception | None, values: Mapping[str, str]
) -> tuple[int, int, int]:
    """Whether any rank has an error, and the lowest and highest digest of the call and its values."""
    from mpi4py import MPI

    text = "\0".join([call, *(f"{name}\0{value}" for name, value in values.items())])
    digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=False) >> 1
    state = np.array([error is not None, digest, -digest], np.int64)
    comm.Allreduce(MPI.IN_PLACE, state, MPI.MAX)
    return int(state[0]), -int(state[2]), int(state[1])


def _raise_errors(comm: "MPI.Intracomm", error: Exception | None) -> None:
    seen = comm.allgather(None if error is None else (_portable_type(error), str(error)))
    kind = next(entry[0] for entry in seen if entry is not None)
    texts = [None if entry is None else entry[1] for entry in seen]
    if len(set(texts)) == 1:
        raise kind(texts[0]) from error
    raise kind("; ".join(f"on {ranks}: {text}" for text, ranks in _by_value(texts).items() if text)) from error


def _raise_difference(comm: "MPI.Intracomm", call: str, values: Mapping[str, str]) -> None:
    seen = comm.allgather((call, dict(values)))
    calls = _by_value([entry[0] for entry in seen])
    if len(calls) > 1:
        where = ", ".join(f"{other} on {ranks}" for other, ranks in calls.items())
        raise InvalidUsageError(f"all ranks of a handle must make the same calls in the same order, but see {where}")
    everywhere = [entry[1] for entry in seen]
    for name in dict.fromkeys(name for rank in everywhere for name in rank):
        found = _by_value([rank.get(name, "not given") for rank in everywhere])
        if len(found) > 1:
            where = ", ".join(f"{value} on {ranks}" for value, ranks in found.items())
            raise InvalidUsageError(f"{call} must get the same on all ranks, but {name} is {where}")


def _portable_type(error: Exception) -> type[Exception]:
    """A type that other ranks can raise with nothing but a text."""
    if isinstance(error, ImportError):
        return ImportError
    if isinstance(error, CudecompError | LibraryLoadError):
        return type(error)
    if isinstance(error, OSError | RuntimeError | TypeError | MemoryError):
        # Those of other packages may take more than a text, as NumPy's MemoryError does.
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return InvalidUsageError


def _by_value(values: list[str | None]) -> dict[str | None, str]:
    """For each value the ranks that have it, as text such as 'rank 3' or 'ranks 0-2, 5'."""
    ranks: dict[str | None, list[int]] = {}
    for rank, value in enumerate(values):
        ranks.setdefault(value, []).append(rank)
    return {value: f"rank{'s' * (len(found) > 1)} {_ranges(found)}" for value, found in ranks.items()}


def _ranges(numbers: list[int]) -> str:
    """Rising numbers as text, runs drawn together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
