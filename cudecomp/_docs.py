# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Docstrings of the four transposes and the three halo updates, each kind from one text."""

_TRANSPOSE = """Moves a field from {source}-pencils to {target}-pencils.

Owned cells arrive; halo and padding of `out` are not written. `input` is unchanged unless it is the output too. To work
in place where the pencils differ in size, pass two views that start at the same address of one larger buffer; the
output then overwrites the input. Views that overlap in any other way are refused.

Args:
    input: NumPy array of this rank's {source}-pencil, of the shape that
        ``get_pencil_info({source_axis}, input_halo_extents, input_padding)`` tells; 3-D, C-contiguous, native byte
        order, float32, float64, complex64 or complex128. With NVIDIA's library a GPU array like that: CuPy's,
        PyTorch's, or any other with ``__cuda_array_interface__``, on the device of the handle.
    out: Array of the same kind for the {target}-pencil, writable, of the shape that
        ``get_pencil_info({target_axis}, output_halo_extents, output_padding)`` tells and the type of `input`. None for
        a new one, NumPy's or CuPy's; for other packages it must be given.
    dtype: A `DataType` that says what opaque storage (a void dtype of the right size) holds, and must agree with
        arrays of any other type; None to take it from `input`. Nothing is ever converted.
    input_halo_extents: Halo layers of `input` on either side along X, Y, Z; None for none.
    output_halo_extents: Halo layers of `out` on either side along X, Y, Z; None for none.
    input_padding: Unused layers of `input` at the high end along X, Y, Z; None for none.
    output_padding: Unused layers of `out` at the high end along X, Y, Z; None for none.
    stream: The CUDA stream to work on: a stream of cuda.core, CuPy, PyTorch or any object with ``__cuda_stream__``, or
        an integer handle. None for CuPy's current stream if `input` is CuPy's, else the default stream, 0. Ignored
        with NumPy arrays.

Returns:
    `out`, or the new array, a ``numpy.ndarray`` or ``cupy.ndarray``.

Raises:
    TypeError: An argument has the wrong type, or an array the wrong dtype.
    InvalidUsageError: A wrong shape, memory layout or extent, a read-only `out`, `input` and `out` overlapping in
        part, or the grid descriptor is destroyed.
    NotSupportedError: NVIDIA's library cannot do it: some ranks own no points, or the backend cannot join the capture
        of a CUDA graph.

Collective: Over the {group} group of the process grid; its ranks call it in the same order with the same settings.

Stream ordering: On a GPU the transpose is enqueued on `stream` and may not have ended on return. The caller orders
    other accesses to the arrays against it, and keeps them until it has ended. With NumPy arrays it has ended on
    return.

Threads: One thread at a time per handle. The interpreter lock is released while data moves.

Example:
    >>> source, target = grid.get_pencil_info({source_axis}), grid.get_pencil_info({target_axis})
    >>> pencil = np.ones(source.shape)
    >>> grid.{name}(pencil).shape == target.shape
    True

    In place, for any two shapes:

    >>> buffer = np.ones(max(source.size, target.size))
    >>> before, after = buffer[: source.size].reshape(source.shape), buffer[: target.size].reshape(target.shape)
    >>> grid.{name}(before, after) is after
    True

See also:
    ``{c_name}``
"""

_UPDATE_HALOS = """Fills the halo of {axis}-pencils from the neighbours.

Whole faces move, halos of the other axes included, so that updates along 0, 1 and 2 in turn also fill edges and
corners; that is what happens when `dim` is left out. Halo at an end of the grid that is not periodic, and padding, are
not touched.

Args:
    input: NumPy array of this rank's {axis}-pencil, updated in place, of the shape that
        ``get_pencil_info({number}, halo_extents, padding)`` tells; 3-D, C-contiguous, writable, native byte order,
        float32, float64, complex64 or complex128. With NVIDIA's library a GPU array like that: CuPy's, PyTorch's, or
        any other with ``__cuda_array_interface__``, on the device of the handle.
    halo_extents: Halo layers on either side along X, Y, Z; at most what the smallest neighbour owns.
    halo_periods: Whether X, Y, Z wrap around, 3 bools; None for none.
    dim: Axis to update: 0, 1, 2 for X, Y, Z; None for all three in turn.
    padding: Unused layers at the high end along X, Y, Z; None for none.
    dtype: A `DataType` that says what opaque storage (a void dtype of the right size) holds, and must agree with
        arrays of any other type; None to take it from `input`.
    stream: The CUDA stream to work on: a stream of cuda.core, CuPy, PyTorch or any object with ``__cuda_stream__``, or
        an integer handle. None for CuPy's current stream if `input` is CuPy's, else the default stream, 0. Ignored
        with NumPy arrays.

Raises:
    TypeError: An argument has the wrong type, or the array the wrong dtype.
    InvalidUsageError: A wrong shape, memory layout, extent or dim, more halo than a neighbour owns, a read-only
        `input`, or the grid descriptor is destroyed.
    NotSupportedError: NVIDIA's library cannot do it: some ranks own no points, or the backend cannot join the capture
        of a CUDA graph.

Collective: Over the group of the process grid that splits `dim`; its ranks call it in the same order with the same
    settings.

Stream ordering: On a GPU the update is enqueued on `stream` and may not have ended on return. The caller orders other
    accesses to the array against it, and keeps it until it has ended. With NumPy arrays it has ended on return.

Threads: One thread at a time per handle. The interpreter lock is released while data moves.

Example:
    >>> halo = (1, 1, 1)
    >>> pencil = np.zeros(grid.get_pencil_info({number}, halo).shape)
    >>> pencil[1:-1, 1:-1, 1:-1] = 1
    >>> grid.update_halos_{lower}(pencil, halo, halo_periods=(True, True, True))
    >>> float(pencil.min())
    1.0

See also:
    ``cudecompUpdateHalos{axis}``
"""


def document_operations(grid_class: type) -> None:
    """Gives the operations of GridDesc their docstrings."""
    for source, target in ("XY", "YZ", "ZY", "YX"):
        name = f"transpose_{source.lower()}_to_{target.lower()}"
        getattr(grid_class, name).__doc__ = _TRANSPOSE.format(
            name=name,
            c_name=f"cudecompTranspose{source}To{target}",
            source=source,
            target=target,
            source_axis="XYZ".index(source),
            target_axis="XYZ".index(target),
            group="row" if "Z" in (source, target) else "column",
        )
    for number, axis in enumerate("XYZ"):
        name = f"update_halos_{axis.lower()}"
        getattr(grid_class, name).__doc__ = _UPDATE_HALOS.format(axis=axis, number=number, lower=axis.lower())
