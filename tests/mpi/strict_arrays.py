# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Host arrays as strict as CuPy's: they refuse to be mixed with NumPy's.

Programs that are to run on GPUs can so be tested where there is none: what they do between the operations of the
library goes through `StrictPackage`, which stands in for CuPy. It cannot tell whether CuPy has all that is called, nor
see an assignment into a host array, or mpi4py reading one, since these ask no array in host memory for its consent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np


class StrictArray(np.ndarray):
    """An array that works with its kind and with scalars only."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple = (), **options: Any) -> Any:
        refuse_host_arrays(ufunc.__name__, [*inputs, *out])
        if out:
            options["out"] = tuple(bare(array) for array in out)
        result = getattr(ufunc, method)(*(bare(value) for value in inputs), **options)
        return out[0] if out else strict(result)

    def __array_function__(self, function: Callable, types: Any, arguments: Any, options: Any) -> Any:
        refuse_host_arrays(function.__name__, [arguments, *options.values()])
        return strict(function(*bare(arguments), **{name: bare(value) for name, value in options.items()}))

    def __getitem__(self, index: Any) -> Any:
        refuse_host_arrays("an index", [index])
        return strict(bare(self)[bare(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        refuse_host_arrays("an assignment", [index, value])
        bare(self)[bare(index)] = bare(value)


class StrictPackage:
    """numpy or scipy.fft with strict arrays, in the place of cupy or cupyx.scipy.fft."""

    def __init__(self, package: ModuleType) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._package, name)
        if isinstance(function, type) or not callable(function):
            return function

        def call(*arguments: Any, **options: Any) -> Any:
            if name != "asarray":  # that is the way from the host, by a copy
                refuse_host_arrays(name, [arguments, *options.values()])
            result = function(*bare(arguments), **{key: bare(value) for key, value in options.items()})
            return strict(result.copy() if name == "asarray" else result)

        return call

    def asnumpy(self, array: StrictArray) -> np.ndarray:
        if not isinstance(array, StrictArray):
            raise TypeError(f"asnumpy is for device arrays, got {type(array).__name__}")
        return np.array(bare(array))


def refuse_host_arrays(where: str, values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, (tuple, list)):
            refuse_host_arrays(where, value)
        elif type(value) is np.ndarray:
            raise TypeError(f"a NumPy array in {where}, together with device arrays")


def bare(value: Any) -> Any:
    """Strict arrays, also in tuples and lists, as NumPy's over the same memory."""
    if isinstance(value, (tuple, list)):
        return type(value)(bare(item) for item in value)
    return value.view(np.ndarray) if isinstance(value, StrictArray) else value


def strict(value: Any) -> Any:
    """What an operation on a device returns: arrays of no axis where NumPy has scalars."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).view(StrictArray)
    return value
