# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Device arrays as operands: how CuPy's, PyTorch's and everybody else's tell their address, type and shape.

Everything that offers ``__cuda_array_interface__`` works. CuPy and PyTorch are asked directly, which costs a fraction
of making the dictionary. No package is imported here: who passes its arrays has imported it. Host arrays:
`_arrays.pyx`.
"""

from libc.stdint cimport int64_t, intptr_t, uintptr_t
from libc.string cimport memset

from cudecomp._arrays cimport DOUBLE, DOUBLE_COMPLEX, FLOAT, FLOAT_COMPLEX, Operand, array_dtype, check_given
from cudecomp._driver cimport device_of_pointer

import sys

import numpy as np

from cudecomp._enums import DataType
from cudecomp._errors import InvalidUsageError

cdef enum Provider:
    CUPY = 1
    TORCH
    JAX
    OTHER

cdef dict providers = {}  # the Provider of each type of array seen so far
cdef dict torch_types = {}  # the code of each dtype of PyTorch that this package moves; filled when first needed
cdef dict element_types = {}  # the NumPy dtype of each typestr seen so far

cdef struct Seen:
    # What an array says of itself. Strides are in bytes, and not set where the array has said it is contiguous.
    int64_t[3] shape
    int64_t[3] strides
    int64_t itemsize
    int ndim
    bint has_strides


cdef int acquire_device(
    Operand* operand, object array, str name, int given, const int64_t* shape, int axis, object info, int device
) except -1:
    """Fills an operand from a device array, or raises; there is nothing to release.

    `given` is the code of an explicit dtype or 0, `shape` that of the pencil of this axis, which `info` describes, and
    `device` the one that the memory must be on.
    """
    cdef Seen seen
    cdef int provider = provider_of(array, name)
    memset(&operand.view, 0, sizeof(operand.view))  # nothing to release
    operand.of_cupy = provider == CUPY
    if provider == CUPY:
        read_cupy(operand, &seen, array, name, given)
    elif provider == TORCH:
        read_torch(operand, &seen, array, name, given)
    else:
        read_interface(operand, &seen, array, name, given)
        operand.writable = operand.writable and provider != JAX
    if not has_shape(&seen, shape) or not is_contiguous(&seen):
        raise_layout_error(array, name, axis, info, &seen)
    operand.nbytes = seen.itemsize * shape[0] * shape[1] * shape[2]
    if operand.nbytes:
        check_pointer(operand, array, name, device)
    return 0


cdef int provider_of(object array, str name) except -1:
    cdef object known = providers.get(type(array))
    if known is None:
        known = classify(array, name)
        providers[type(array)] = known
    return known


cdef int classify(object array, str name) except -1:
    """The provider of a type seen for the first time; raises for what is no device array."""
    cupy, torch = sys.modules.get("cupy"), sys.modules.get("torch")
    kind = type(array)
    if cupy is not None and issubclass(kind, cupy.ndarray):
        return CUPY
    if torch is not None and issubclass(kind, torch.Tensor):
        return TORCH
    if issubclass(kind, np.ndarray):
        raise TypeError(
            f"{name} is a {kind.__module__}.{kind.__name__}, but this handle runs on NVIDIA's library, which works on "
            f"GPU arrays; pass a GPU array (for CuPy, cupy.asarray({name})), or set CUDECOMP_LIBRARY=builtin to work "
            "on NumPy arrays"
        )
    if not hasattr(array, "__cuda_array_interface__"):
        raise_no_array(array, name)
    return JAX if kind.__module__.partition(".")[0] in ("jax", "jaxlib") else OTHER


cdef int raise_no_array(object array, str name) except -1:
    raise TypeError(
        f"{name} must be a GPU array: an object with __cuda_array_interface__, such as cupy.ndarray; got "
        f"{array!r:.80} of type {type(array).__name__}"
    )


cdef int read_cupy(Operand* operand, Seen* seen, object array, str name, int given) except -1:
    cdef object dtype = array.dtype
    operand.dtype = array_dtype(dtype, name, given)
    operand.data = <void*><uintptr_t>array.data.ptr
    operand.writable = True
    seen.itemsize = dtype.itemsize
    read_triple(array.shape, seen.shape, &seen.ndim)
    seen.has_strides = seen.ndim == 3
    if seen.has_strides:
        read_triple(array.strides, seen.strides, &seen.ndim)
    return 0


cdef int read_torch(Operand* operand, Seen* seen, object array, str name, int given) except -1:
    cdef object dtype = array.dtype
    cdef object code = torch_code(dtype)
    if code is None:
        raise TypeError(f"{name} is of {dtype}, expected torch.float32, float64, complex64 or complex128")
    check_given(dtype, code, name, given)
    if array.requires_grad:
        raise TypeError(f"{name} requires grad, which this package does not track; pass {name}.detach()")
    operand.dtype = code
    # Complex views can be conjugated lazily, and the imaginary parts of such views negated.
    if array.is_conj() if is_complex(operand.dtype) else array.is_neg():
        raise TypeError(f"{name} is a lazily conjugated or negated view; pass {name}.resolve_conj().resolve_neg()")
    operand.data = <void*><uintptr_t>array.data_ptr()
    operand.writable = True
    seen.itemsize = 4 if operand.dtype == FLOAT else 16 if operand.dtype == DOUBLE_COMPLEX else 8
    read_triple(array.shape, seen.shape, &seen.ndim)
    seen.has_strides = not array.is_contiguous() and seen.ndim == 3
    if seen.has_strides:
        read_triple(array.stride(), seen.strides, &seen.ndim)
        for i in range(3):
            seen.strides[i] *= seen.itemsize
    return 0


cdef bint is_complex(int code) noexcept:
    return code == FLOAT_COMPLEX or code == DOUBLE_COMPLEX


cdef object torch_code(object dtype):
    """The code of a dtype of PyTorch, None for one that is not moved."""
    if not torch_types:
        torch = sys.modules["torch"]
        torch_types.update({
            torch.float32: FLOAT, torch.float64: DOUBLE,
            torch.complex64: FLOAT_COMPLEX, torch.complex128: DOUBLE_COMPLEX,
        })
    return torch_types.get(dtype)


cdef int read_interface(Operand* operand, Seen* seen, object array, str name, int given) except -1:
    """Version 0 to 3 of the CUDA array interface; its `stream` creates no dependency here."""
    cdef object interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        raise_no_array(array, name)  # others of its type have one: JAX keeps some arrays on the host
    if not isinstance(interface, dict):
        raise TypeError(f"{name}.__cuda_array_interface__ is of type {type(interface).__name__}, expected a dict")
    try:
        version, typestr = interface["version"], interface["typestr"]
        pointer, read_only = interface["data"]
        operand.data = <void*><uintptr_t>(pointer or 0)
        read_triple(interface["shape"], seen.shape, &seen.ndim)
        read_strides(seen, interface.get("strides"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"{name}.__cuda_array_interface__ lacks an entry or has a malformed one ({error!r}); expected version, "
            "typestr, shape, data as (pointer, read-only), and strides for each axis or None"
        ) from None
    if isinstance(version, bool) or version not in (0, 1, 2, 3):
        raise TypeError(f"{name}.__cuda_array_interface__ has version {version!r}, expected 0 to 3")
    if interface.get("mask") is not None:
        raise TypeError(f"{name} has a mask, which would be lost; pass an array without one")
    cdef object dtype = element_type(typestr, interface.get("descr"), name)
    operand.dtype = array_dtype(dtype, name, given)
    operand.writable = not read_only
    seen.itemsize = dtype.itemsize
    return 0


cdef int read_strides(Seen* seen, object strides) except -1:
    cdef int count = 3
    seen.has_strides = strides is not None and seen.ndim == 3
    if seen.has_strides:
        read_triple(strides, seen.strides, &count)
    if count != 3:
        raise ValueError(f"strides {strides} for 3 axes")
    return 0


cdef object element_type(object typestr, object descr, str name):
    """The NumPy dtype of a typestr; structured types, which only `descr` tells from opaque storage, are refused."""
    cdef object dtype = element_types.get(typestr) if type(typestr) is str else None
    if dtype is None:
        try:
            dtype = np.dtype(typestr if isinstance(typestr, str) else "no text")  # None would be float64
        except TypeError:
            raise TypeError(f"{name}.__cuda_array_interface__ has typestr {typestr!r}, which names no type") from None
        element_types[typestr] = dtype
    if dtype.kind == "V" and descr and any(field[0] for field in descr):
        raise TypeError(f"{name} is of a structured type, {descr}, expected float32, float64, complex64 or complex128")
    return dtype


cdef int read_triple(object values, int64_t* numbers, int* count) except -1:
    """The first three of a sequence of ints, and how many there are."""
    cdef int i
    cdef tuple items = <tuple>values if isinstance(values, tuple) else tuple(values)  # torch.Size is one, too
    count[0] = len(items)
    for i in range(min(count[0], 3)):
        numbers[i] = items[i]
    return 0


cdef bint has_shape(const Seen* seen, const int64_t* shape) noexcept:
    return (
        seen.ndim == 3 and seen.shape[0] == shape[0] and seen.shape[1] == shape[1] and seen.shape[2] == shape[2]
    )


cdef bint is_contiguous(const Seen* seen) noexcept:
    """Whether the array is in C order; strides of axes that are never stepped along do not count."""
    cdef int64_t expected = seen.itemsize
    cdef int axis
    if not seen.has_strides or seen.shape[0] == 0 or seen.shape[1] == 0 or seen.shape[2] == 0:
        return True
    for axis in range(2, -1, -1):
        if seen.shape[axis] != 1 and seen.strides[axis] != expected:
            return False
        expected *= seen.shape[axis]
    return True


cdef int check_pointer(Operand* operand, object array, str name, int device) except -1:
    """The memory must be the device's. Empty arrays have no address to speak of, and do not come here."""
    cdef int found
    if operand.data is NULL:
        raise InvalidUsageError(f"{name} has a null pointer, but {operand.nbytes} bytes")
    found = device_of_pointer(operand.data)
    if found == device:
        return 0
    if found == -1 and provider_of(array, name) == TORCH:
        raise TypeError(f"{name} is a tensor on {array.device}, expected one on a GPU; pass {name}.cuda()")
    if found == -1:
        raise InvalidUsageError(
            f"{name} is at {<intptr_t>operand.data:#x}, which is no GPU memory; pass an array on device {device}"
        )
    raise InvalidUsageError(
        f"{name} is on device {found}, but the handle was made on device {device}; copy it there, or make the handle "
        f"after choosing device {found}"
    )


cdef int raise_layout_error(object array, str name, int axis, object info, const Seen* seen) except -1:
    halo, padding = info.halo_extents, info.padding
    if seen.ndim <= 3:
        shape = tuple(seen.shape[i] for i in range(seen.ndim))
    else:
        shape = tuple(array.shape if hasattr(array, "shape") else array.__cuda_array_interface__["shape"])
    remedy = f"grid.empty({axis}, dtype, {halo}, {padding})"
    if shape != info.shape:
        raise InvalidUsageError(
            f"{name} has shape {shape}, expected {info.shape}, the {'XYZ'[axis]}-pencil of this rank with halo "
            f"{halo} and padding {padding}; use {remedy}"
        )
    strides = (seen.strides[0], seen.strides[1], seen.strides[2])
    raise InvalidUsageError(
        f"{name} is not C-contiguous: its strides are {strides} bytes for shape {shape} and {seen.itemsize} bytes per "
        f"element; copy it into contiguous memory, or use {remedy}"
    )


def examine(array, str name, dtype, tuple shape, info, int axis=0, int device=0):
    """What `acquire_device` reads from an array, as a dict; for tests."""
    cdef Operand operand
    cdef int64_t[3] wanted
    for i in range(3):
        wanted[i] = shape[i]
    acquire_device(&operand, array, name, 0 if dtype is None else dtype, wanted, axis, info, device)
    return {
        "data": <intptr_t>operand.data,
        "nbytes": operand.nbytes,
        "dtype": DataType(operand.dtype) if operand.dtype else None,
        "writable": bool(operand.writable),
        "of_cupy": bool(operand.of_cupy),
    }


def forget_types():
    """Forgets the types of arrays seen so far; for tests that pretend to be a package."""
    providers.clear()
    torch_types.clear()
