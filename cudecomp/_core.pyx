# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, binding=True
"""Handles, grid descriptors and the operations on them."""

cimport cython
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_CheckExact
from libc.stdint cimport int32_t, int64_t, intptr_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from cudecomp_bindings.cudecomp cimport GridDescAutotuneOptions as OptionsStruct
from cudecomp_bindings.cudecomp cimport GridDescConfig as ConfigStruct
from cudecomp_bindings.cudecomp cimport library_text
from cudecomp_bindings.cycudecomp cimport (
    bool_t,
    cudecompDataType_t,
    cudecompFinalize,
    cudecompGetGridDescConfig,
    cudecompGetHaloWorkspaceSize,
    cudecompGetPencilInfo,
    cudecompGetShiftedRank,
    cudecompGetTransposeWorkspaceSize,
    cudecompGridDescAutotuneOptions_t,
    cudecompGridDescConfig_t,
    cudecompGridDescCreate,
    cudecompGridDescDestroy,
    cudecompGridDesc_t,
    cudecompHandle_t,
    cudecompInit_F,
    cudecompPencilInfo_t,
    cudecompTransposeXToY,
    cudecompTransposeYToX,
    cudecompTransposeYToZ,
    cudecompTransposeZToY,
    cudecompUpdateHalosX,
    cudecompUpdateHalosY,
    cudecompUpdateHalosZ,
)

from cudecomp._arrays cimport DOUBLE_COMPLEX, FLOAT, Operand, acquire_host, given_dtype, release_host
from cudecomp._device_arrays cimport acquire_device
from cudecomp._driver cimport is_capturing, pop_context
from cudecomp._gpu cimport Gpu, Workspace
from cudecomp._streams cimport stream_handle

import contextlib
import os
import sys
import warnings
import weakref

import numpy as np
from cudecomp_bindings._internal.cudecomp import _get_optional_symbol, load_library

from cudecomp import _autotune, _coordinates, _performance, _whole
from cudecomp._agreement import CheckedCall, agree, checks_wanted
from cudecomp._arrays import ELEMENT_TYPES
from cudecomp._checks import check_arguments, check_autotune_arguments, check_communicator
from cudecomp._config import GridDescConfig
from cudecomp._cupy import new_array
from cudecomp._docs import document_operations
from cudecomp._enums import DataType, HaloCommBackend, TransposeCommBackend
from cudecomp._errors import CudecompError, InvalidUsageError, NotSupportedError, error_from_result
from cudecomp._fields import as_bool, as_int, nested
from cudecomp._geometry import halo_elements, largest_part, parts_of, smallest_part, split_points
from cudecomp._gpu_backends import capturable_backend, check_backends, family, memory_kind
from cudecomp._memory import allocate
from cudecomp._pencil import PencilInfo

__all__ = ["GridDesc", "Handle"]

# The transposes, and the pencil axis of the input and of the output of each.
cdef enum:
    X_TO_Y
    Y_TO_Z
    Z_TO_Y
    Y_TO_X

ctypedef int (*ReportFunction)(cudecompHandle_t, cudecompGridDesc_t, const char**) noexcept nogil
ctypedef const char* (*DescribeFunction)(cudecompGridDesc_t) noexcept nogil

cdef int[4] INPUT_AXIS = [0, 1, 2, 1]
cdef int[4] OUTPUT_AXIS = [1, 2, 1, 0]

# More layouts than any program uses on purpose; beyond it the oldest are forgotten.
cdef Py_ssize_t MAX_LAYOUTS = 64


@cython.final
cdef class Handle:
    """A running instance of the library over the ranks of a communicator.

    The library is chosen and opened by the first handle of a process. The handle works on duplicates of the
    communicator, so its messages never meet the program's own; MPI itself is left alone.

    As a context manager a handle ends itself at the end of the block. If the block is left by an exception, nothing
    collective is done: the other ranks may not be leaving it, and waiting for them would turn the exception into a
    hang. Where all ranks catch the exception, `finalize` may be called then.

    Args:
        mpi_comm: An mpi4py intracommunicator, initialized, and valid as long as the handle.

    Raises:
        TypeError: `mpi_comm` is no mpi4py intracommunicator.
        InvalidUsageError: MPI is not running, `mpi_comm` is ``MPI.COMM_NULL``, or ranks have chosen different
            libraries.
        LibraryLoadError: No library can be used on some rank; a RuntimeError of ``cudecomp_bindings``.
        CudecompError: The library could not be started.

    Collective: Over all ranks of `mpi_comm`.

    Stream ordering: None, nothing is enqueued.

    Threads: One handle, with its grid descriptors, is used by one thread at a time.

    Example:
        >>> from mpi4py import MPI
        >>> with cudecomp.Handle(MPI.COMM_WORLD) as handle:
        ...     print(handle.rank, "of", handle.nranks)
        0 of 1

    See also:
        ``cudecompInit``, ``cudecompFinalize``
    """

    cdef cudecompHandle_t _handle
    cdef object _comm
    cdef object _private  # a duplicate for what the ranks agree on in Python
    cdef dict _grids  # creation number: (weak reference, address) of each grid descriptor not yet destroyed
    cdef Py_ssize_t _created
    cdef Gpu _gpu  # None where arrays are on the host
    cdef bint _checks  # operations compare their arguments between ranks
    cdef bint _abandoned
    cdef object _library
    cdef object __weakref__
    cdef int _rank
    cdef int _nranks

    def __cinit__(self, *args, **kwargs):
        self._handle = NULL
        self._grids = {}

    def __init__(self, mpi_comm):
        if self._handle is not NULL:
            raise InvalidUsageError("this Handle is in use; make a new one instead of calling __init__ again")
        check_communicator(mpi_comm)
        private = mpi_comm.Dup()
        try:
            self._load(private)
            self._start(mpi_comm, private)
        except BaseException:
            private.Free()
            raise
        self._comm = mpi_comm
        self._private = private
        self._rank = mpi_comm.Get_rank()
        self._nranks = mpi_comm.Get_size()

    cdef int _load(self, private) except -1:
        cdef object library = None, error = None
        try:
            library = load_library()
            self._checks = checks_wanted()
        except Exception as caught:
            error = caught
        chosen = {} if library is None else {"the library": f"{library.kind} {library.line}"}
        chosen["the environment variable CUDECOMP_CHECK"] = "1" if self._checks else "0 or unset"
        agree(private, "Handle", error, chosen)
        self._library = library
        return 0

    cdef int _start(self, mpi_comm, private) except -1:
        cdef int comm = mpi_comm.py2f()
        cdef cudecompHandle_t handle = NULL
        cdef int result
        with nogil:
            result = cudecompInit_F(&handle, comm)
        agree(private, "Handle", error_of(result, "cudecompInit") if result else None, {})
        if self._library.kind != "builtin":
            try:
                self._open_gpu(private)
            except BaseException:
                with nogil:
                    cudecompFinalize(handle)
                raise
        self._handle = handle
        return 0

    cdef int _open_gpu(self, private) except -1:
        cdef Gpu gpu = None
        cdef object error = None
        try:
            gpu = Gpu(self._library.path)
        except Exception as caught:
            error = caught
        agree(private, "Handle", error, {})
        gpu.compare_devices(private, self._checks)
        self._gpu = gpu
        return 0

    @property
    def comm(self):
        """The communicator that the handle was made with, an mpi4py ``Intracomm``."""
        return self._comm

    @property
    def rank(self):
        """The rank of this process in the communicator of the handle."""
        return self._rank

    @property
    def nranks(self):
        """The number of ranks of the communicator of the handle."""
        return self._nranks

    @property
    def _private_comm(self):
        self._require_running()
        return self._private

    @property
    def _host_arrays(self):
        return self._gpu is None

    def create_grid(self, config, options=None, *, report=None, progress=False):
        """Decomposes a grid over the ranks of the handle.

        The arguments are checked on every rank and compared between all of them. If one rank's are wrong, or ranks
        differ, the same exception is raised on all ranks.

        Args:
            config: A `GridDescConfig`, equal on all ranks. The fields that were autotuned are filled in.
            options: A `GridDescAutotuneOptions`, equal on all ranks, or None. Needed where ``pdims`` is left at (0, 0).
            report: An `AutotuneReport`, equal on all ranks: its choice is taken and nothing is measured. It must have
                been made for the same configuration and options, on as many ranks, on a machine of the same kind.
            progress: True shows a progress bar of autotuning on rank 0; needs ``tqdm``.

        Returns:
            GridDesc: The decomposition. It keeps this handle alive. Its `autotune_report` tells what was measured.

        Raises:
            TypeError: An argument has the wrong type.
            InvalidUsageError: A field of the configuration or of the options has a wrong value, ranks have passed
                different ones, the report does not fit, a ``CUDECOMP_AUTOTUNE_...`` variable is malformed or leaves
                nothing to choose from, or the handle is finalized.
            NotSupportedError: The library or the machine cannot do what is asked for, or no process grid can.
            ImportError: `progress` is set, and rank 0 has no ``tqdm``.

        Collective: Over all ranks of the handle.

        Stream ordering: None for the caller. Autotuning runs on streams of its own and has ended on return.

        Threads: One thread at a time per handle.

        Example:
            >>> config = cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, 1))
            >>> with handle.create_grid(config) as grid:
            ...     grid.get_pencil_info(0).shape
            (4, 6, 8)

        See also:
            ``cudecompGridDescCreate``
        """
        self._require_running()
        agree_on_arguments(self._private, config, options, report, progress, self._nranks, self._gpu)
        cdef object problem = None
        cdef ConfigStruct struct = config._struct
        # The library works on copies: while it does, another thread may change the originals.
        cdef cudecompGridDescConfig_t c_config = struct.data
        cdef cudecompGridDescAutotuneOptions_t c_options
        cdef cudecompGridDescAutotuneOptions_t* c_options_or_null = NULL
        cdef cudecompGridDesc_t address = NULL
        cdef int result = 0
        cdef GridDesc grid
        if report is not None or _autotune.tunes(config, options):
            problem = _autotune.Problem(self._private, config, options)
        if report is not None:
            problem.require_fit(report)
            c_config = (<ConfigStruct>_autotune.with_choice(config, report)._struct).data
        elif options is not None:
            c_options = (<OptionsStruct>options._struct).data
            c_options_or_null = &c_options
        show = progress and self._rank == 0 and c_options_or_null is not NULL and problem is not None
        with _autotune.shown_progress(<intptr_t>self._handle) if show else contextlib.nullcontext():
            with nogil:
                result = cudecompGridDescCreate(self._handle, &address, &c_config, c_options_or_null)
            check(result, "cudecompGridDescCreate")
            # Known to the handle before anything else can go wrong.
            grid = self._register(address)
        # Only what is tuned: a library may also fill in what the caller has left open.
        struct.data.pdims = c_config.pdims
        struct.data.transpose_comm_backend = c_config.transpose_comm_backend
        struct.data.halo_comm_backend = c_config.halo_comm_backend
        if self._gpu is not None:
            grid._prepare_gpu(c_config)
        if problem is not None:
            grid._report = problem.report(<intptr_t>address) if report is None else report
        return grid

    cdef GridDesc _register(self, cudecompGridDesc_t address):
        cdef GridDesc grid = GridDesc.__new__(GridDesc)
        grid._owner = self
        grid._grid = address
        grid._number = self._created
        self._created += 1
        self._grids[grid._number] = (weakref.ref(grid), <intptr_t>address)
        return grid

    def finalize(self):
        """Ends the handle and frees what it owns. Calling it again is harmless.

        Grid descriptors that are still in use must be destroyed first. Those that a program has dropped without
        destroying them (there was a ResourceWarning) are destroyed here.

        Raises:
            InvalidUsageError: Grid descriptors still exist, on this or on another rank, or MPI is finalized.

        Collective: Over all ranks of the handle.

        Stream ordering: All work on the grids of the handle must have ended.

        Threads: One thread at a time per handle.

        Example:
            >>> temporary = cudecomp.Handle(MPI.COMM_WORLD)
            >>> temporary.finalize()

        See also:
            ``cudecompFinalize``
        """
        if self._handle is NULL:
            return
        require_mpi("finalize()")
        if self._checks:
            agree(self._private, "Handle.finalize", None, {})
        cdef bint made_current = self._gpu is not None and self._gpu.make_current()
        cdef int result
        try:
            self._destroy_orphans()
            with nogil:
                result = cudecompFinalize(self._handle)
        finally:
            if made_current:
                pop_context()
        check(result, "cudecompFinalize")
        self._handle = NULL
        self._private.Free()

    cdef int _destroy_orphans(self) except -1:
        """Raises if grid descriptors are in use anywhere; destroys those that nobody can destroy any more."""
        in_use = sum(reference() is not None for reference, _ in self._grids.values())
        # Garbage is collected at its own time on each rank, so the ranks may see different numbers.
        most = max(self._private.allgather(in_use))
        if most:
            noun = "1 grid descriptor" if most == 1 else f"{most} grid descriptors"
            raise InvalidUsageError(f"{noun} of this handle still in use; call destroy() before Handle.finalize()")
        for number in sorted(self._grids):
            self._destroy_grid(number)
        return 0

    cdef int _destroy_grid(self, Py_ssize_t number) except -1:
        """Destroys a grid descriptor, before it the workspace that only it still uses."""
        cdef cudecompGridDesc_t grid = <cudecompGridDesc_t><intptr_t>self._grids[number][1]
        cdef bint made_current = self._gpu is not None and self._gpu.make_current()
        cdef int result
        try:
            if self._gpu is not None:
                self._gpu.leave(number, grid)
            with nogil:
                result = cudecompGridDescDestroy(self._handle, grid)
        finally:
            if made_current:
                pop_context()
        check(result, "cudecompGridDescDestroy")
        del self._grids[number]
        return 0

    cdef int _require_running(self) except -1:
        if self._handle is NULL:
            raise InvalidUsageError("this Handle is finalized; make a new one")
        return 0

    def __enter__(self):
        """Returns the handle itself."""
        self._require_running()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        """Ends the handle, unless the block is left by an exception."""
        if exc_type is None:
            self.finalize()
        else:
            self._abandoned = True

    def __repr__(self):
        if self._handle is NULL:
            return "<cudecomp.Handle, finalized>"
        device = "" if self._gpu is None else f", device {self._gpu.device}"
        library = f"{self._library.kind} library, line {self._library.line}"
        return f"<cudecomp.Handle, rank {self._rank} of {self._nranks}, {library}{device}>"

    def __del__(self):
        if self._handle is not NULL and not self._abandoned:
            warn_unclosed(self, "finalize()")


cdef int agree_on_arguments(private, config, options, report, progress, int nranks, Gpu gpu) except -1:
    cdef object error = None
    cdef dict values = {}
    try:
        check_arguments(config, options, nranks)
        check_autotune_arguments(report, progress, private.rank == 0)
        if gpu is not None:
            gpu.require_current()
            check_backends(config, options, nranks, gpu.shared, gpu.mpi_takes_memory)
        values = {f"config.{name}": text for name, text in config._texts().items()}
        values["options"] = "None" if options is None else "given"
        if options is not None:
            values.update({f"options.{name}": text for name, text in options._texts().items()})
        # It decides what RankOrder.DEFAULT means.
        values["the environment variable CUDECOMP_USE_COL_MAJOR_RANK_ORDER"] = os.environ.get(
            "CUDECOMP_USE_COL_MAJOR_RANK_ORDER", "unset"
        )
        for name, text in _autotune.filters(config, options).items():
            values[f"the environment variable {name}"] = repr(text)
        if report is not None:
            values["report"] = f"one with digest {_autotune.digest(report)}"
    except (TypeError, ValueError, ImportError, CudecompError) as caught:
        error = caught
    agree(private, "create_grid", error, values)
    return 0


@cython.final
cdef class Layout:
    """A pencil with its halo and padding: what its array must look like."""

    cdef int32_t[3] halo
    cdef int32_t[3] padding
    cdef int64_t[3] shape
    cdef int32_t[3] parts  # of the grid along X, Y, Z
    cdef int32_t[3] deepest  # halo that a part's neighbour can fill: the fewest points that a rank owns
    cdef int32_t[3] largest  # the most points that a rank owns
    cdef int64_t halo_elements  # workspace of a halo update, where this package keeps it
    cdef object info


@cython.final
cdef class GridDesc:
    """One decomposition of one global grid: what each rank holds of it, and the operations that move it.

    Made by `Handle.create_grid`. As a context manager it destroys itself at the end of the block, unless the block is
    left by an exception (see `Handle`). Pencil axes and dims are 0, 1, 2 for X, Y, Z, and extents are in X, Y, Z order.

    Raises:
        TypeError: Always, when called; use `Handle.create_grid`.

    Collective: The methods say whether they are.

    Stream ordering: With the built-in engine everything is on the host, and operations have ended when they return.
        With NVIDIA's library operations are enqueued on a stream and return before they have ended.

    Threads: One thread at a time per handle. The interpreter lock is released while the library works.

    Example:
        >>> with handle.create_grid(cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, 1))) as grid:
        ...     x = np.zeros(grid.get_pencil_info(0).shape)
        ...     y = grid.transpose_x_to_y(x)

    See also:
        ``cudecompGridDescCreate``, ``cudecompGridDescDestroy``
    """

    cdef cudecompGridDesc_t _grid
    cdef Handle _owner
    cdef Py_ssize_t _number
    cdef bint _abandoned
    cdef object _report
    cdef tuple _layouts  # for each pencil axis a list of Layout
    cdef Workspace _workspace  # None on the host
    cdef int64_t _transpose_elements
    cdef int32_t[2] _groups  # the sizes of the column groups, which exchange X and Y, and of the row groups
    cdef bint _captures_transposes, _captures_halos  # whether the backends can go into a CUDA graph
    cdef bint _transposes_refused, _halos_refused  # whether MPI would get GPU memory that it does not take
    cdef uint64_t _called  # a bit for each operation and type that has been called on the GPU
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self._grid = NULL
        self._layouts = ([], [], [])

    def __init__(self, *args, **kwargs):
        raise TypeError("GridDesc cannot be made directly; use Handle.create_grid(config)")

    @property
    def handle(self):
        """The `Handle` that the grid descriptor belongs to."""
        return self._owner

    @property
    def autotune_report(self):
        """What was measured to make it, an `AutotuneReport`; None if nothing was, or if the library does not tell."""
        return self._report

    def describe(self):
        """Tells which way the data of each operation takes from this rank, and why.

        Returns:
            str: Lines of text, for people; the words may change from one version to the next. With a library that
            does not tell, the backends alone.

        Raises:
            InvalidUsageError: The grid descriptor is destroyed.

        Collective: No.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> print(grid.describe().splitlines()[1])
            transposes X-Y, peers: stays on this rank: one copy

        See also:
            ``cudecompBuiltinDescribe``
        """
        self._require_alive()
        cdef intptr_t address = _get_optional_symbol("cudecompBuiltinDescribe")
        if address:
            return (<DescribeFunction>address)(self._grid).decode()
        config = self.get_config()
        return (
            f"transposes: {TransposeCommBackend(config.transpose_comm_backend).name}\n"
            f"halos: {HaloCommBackend(config.halo_comm_backend).name}"
        )

    def performance_report(self):
        """Tells what the operations of this grid took so far, over all ranks.

        Recording is switched on by ``CUDECOMP_ENABLE_PERFORMANCE_REPORT=1`` when the handle is made; `destroy` then
        prints the report on rank 0.

        Returns:
            PerformanceReport: For each operation with each geometry the calls, times, bandwidths and the share of
            exchange; the same on all ranks. ``str()`` of it is the table.

        Raises:
            InvalidUsageError: Nothing is recorded, or the grid descriptor is destroyed.
            NotSupportedError: The loaded library is NVIDIA's, which prints a report of its own.

        Collective: Over all ranks of the handle.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> report = grid.performance_report()  # doctest: +SKIP
            >>> max(report.operations, key=lambda entry: entry.exchange_share or 0).operation  # doctest: +SKIP
            'transpose_y_to_z'

        See also:
            ``cudecompBuiltinGetPerformanceReport``
        """
        self._require_alive()
        cdef intptr_t address = _get_optional_symbol("cudecompBuiltinGetPerformanceReport")
        if not address:
            raise NotSupportedError(
                "the loaded library is not the built-in engine and keeps its performance report to itself: with "
                "CUDECOMP_ENABLE_PERFORMANCE_REPORT=1 NVIDIA's library prints it when the grid is destroyed, and "
                "CUDECOMP_PERFORMANCE_REPORT_WRITE_DIR makes it write CSV files"
            )
        if self._owner._checks:
            agree(self._owner._private, "GridDesc.performance_report", None, {"the grid": self._name()})
        cdef const char* text = NULL
        cdef int result
        with nogil:
            result = (<ReportFunction>address)(self._owner._handle, self._grid, &text)
        check(result, "cudecompBuiltinGetPerformanceReport")
        return _performance.from_json(text.decode())

    def destroy(self):
        """Destroys the grid descriptor and frees what it owns. Calling it again is harmless.

        Raises:
            InvalidUsageError: MPI is finalized.

        Collective: Over all ranks of the handle.

        Stream ordering: Waits for all work on the GPU, so that none is left on the grid.

        Threads: One thread at a time per handle.

        Example:
            >>> temporary = handle.create_grid(cudecomp.GridDescConfig(gdims=(8, 6, 4), pdims=(1, 1)))
            >>> temporary.destroy()

        See also:
            ``cudecompGridDescDestroy``
        """
        if self._grid is NULL:
            return
        require_mpi("destroy()")
        if self._owner._checks:
            agree(self._owner._private, "GridDesc.destroy", None, {"the grid": self._name()})
        self._owner._destroy_grid(self._number)
        self._grid = NULL
        self._workspace = None

    def get_config(self):
        """Returns the configuration in use, autotuned fields filled in.

        Returns:
            GridDescConfig: A new object; fields that were left unset are unset in it.

        Raises:
            InvalidUsageError: The grid descriptor is destroyed.

        Collective: No.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> grid.get_config().pdims
            array([1, 1], dtype=int32)

        See also:
            ``cudecompGetGridDescConfig``
        """
        self._require_alive()
        config = GridDescConfig()
        cdef ConfigStruct struct = config._struct
        cdef int result
        with nogil:
            result = cudecompGetGridDescConfig(self._owner._handle, self._grid, &struct.data)
        check(result, "cudecompGetGridDescConfig")
        return config

    def get_pencil_info(self, axis, halo_extents=None, padding=None):
        """Tells what this rank holds of the grid in one pencil layout.

        Args:
            axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
            halo_extents: Halo layers on either side along X, Y, Z; None for none.
            padding: Unused layers at the high end along X, Y, Z; None for none.

        Returns:
            PencilInfo: Shape (elements, array-axis order), owned box, memory order and size.

        Raises:
            TypeError: An argument is not made of integers.
            InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.

        Collective: No.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> info = grid.get_pencil_info(0, halo_extents=(1, 0, 0))
            >>> info.shape, info.order
            ((4, 6, 10), (2, 1, 0))

        See also:
            ``cudecompGetPencilInfo``
        """
        self._require_alive()
        cdef int axis_number = axis_of(axis, "axis")
        cdef int32_t[3] halo
        cdef int32_t[3] pad
        extents_of(halo_extents, halo, "halo_extents")
        extents_of(padding, pad, "padding")
        return self._layout(axis_number, halo, pad).info

    def empty(self, axis, dtype, halo_extents=None, padding=None):
        """Makes an array for a pencil of this rank, in memory that suits the library.

        With the built-in engine the ranks of a node can reach into such arrays: operations between two of them move
        every element once, straight to its place. Any other NumPy array works too, through a copy in between. The
        memory goes back to the system when the last array over it dies, even after the handle has ended.

        Args:
            axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
            dtype: A `DataType`, or a NumPy dtype of one: float32, float64, complex64, complex128.
            halo_extents: Halo layers on either side along X, Y, Z; None for none.
            padding: Unused layers at the high end along X, Y, Z; None for none.

        Returns:
            numpy.ndarray: An array with the shape of `get_pencil_info`. What it holds is not defined. With NVIDIA's
            library a ``cupy.ndarray``.

        Raises:
            TypeError: `dtype` is none of the four types, or another argument is not made of integers.
            InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.
            MemoryError: There is not enough memory.
            NotSupportedError: The library works on a GPU, and CuPy is not installed.

        Collective: No.

        Stream ordering: On a GPU, ready for work on CuPy's current stream.

        Threads: One thread at a time per handle.

        Example:
            >>> grid.empty(0, cudecomp.DataType.DOUBLE).shape
            (4, 6, 8)

        See also:
            ``cudecompBuiltinAllocate``, and `zeros`.
        """
        cdef Gpu gpu = self._ready_gpu()
        element = element_type(dtype)
        info = self.get_pencil_info(axis, halo_extents, padding)
        if gpu is not None:
            return new_array(info.shape, info.size, element)
        if info.size == 0:
            return np.empty(info.shape, element)
        block = allocate(<intptr_t>self._owner._handle, info.size * element.itemsize)
        return np.ndarray(info.shape, element, block)

    def zeros(self, axis, dtype, halo_extents=None, padding=None):
        """Makes an array like `empty`, filled with zeros.

        Args:
            axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
            dtype: A `DataType`, or a NumPy dtype of one: float32, float64, complex64, complex128.
            halo_extents: Halo layers on either side along X, Y, Z; None for none.
            padding: Unused layers at the high end along X, Y, Z; None for none.

        Returns:
            numpy.ndarray: An array of zeros with the shape of `get_pencil_info`. With NVIDIA's library a
            ``cupy.ndarray``.

        Raises:
            TypeError: `dtype` is none of the four types, or another argument is not made of integers.
            InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.
            MemoryError: There is not enough memory.
            NotSupportedError: The library works on a GPU, and CuPy is not installed.

        Collective: No.

        Stream ordering: On a GPU, ready for work on CuPy's current stream.

        Threads: One thread at a time per handle.

        Example:
            >>> float(grid.zeros(2, "float32", halo_extents=(1, 1, 1)).sum())
            0.0

        See also:
            ``cudecompBuiltinAllocate``, and `empty`.
        """
        array = self.empty(axis, dtype, halo_extents, padding)
        array[...] = 0
        return array

    def get_transpose_workspace_size(self):
        """Tells how much workspace the transposes of this grid need; with the built-in engine they bring their own.

        Returns:
            int: Elements of the field's type, enough for any of the four.

        Raises:
            InvalidUsageError: The grid descriptor is destroyed.

        Collective: No.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> grid.get_transpose_workspace_size() >= 0
            True

        See also:
            ``cudecompGetTransposeWorkspaceSize``
        """
        self._require_alive()
        cdef int64_t size = 0
        cdef int result
        with nogil:
            result = cudecompGetTransposeWorkspaceSize(self._owner._handle, self._grid, &size)
        check(result, "cudecompGetTransposeWorkspaceSize")
        return size

    def get_halo_workspace_size(self, axis, halo_extents):
        """Tells how much workspace the halo updates of one pencil layout need; with the built-in engine they bring it.

        Args:
            axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
            halo_extents: Halo layers on either side along X, Y, Z.

        Returns:
            int: Elements of the field's type, enough for any dim.

        Raises:
            TypeError: An argument is not made of integers.
            InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.

        Collective: No.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> grid.get_halo_workspace_size(0, (1, 1, 1)) >= 0
            True

        See also:
            ``cudecompGetHaloWorkspaceSize``
        """
        self._require_alive()
        cdef int32_t axis_number = axis_of(axis, "axis")
        cdef int32_t[3] halo
        required_extents_of(halo_extents, halo, "halo_extents")
        cdef int64_t size = 0
        cdef int result
        with nogil:
            result = cudecompGetHaloWorkspaceSize(self._owner._handle, self._grid, axis_number, halo, &size)
        check(result, "cudecompGetHaloWorkspaceSize")
        return size

    def get_shifted_rank(self, axis, dim, displacement, periodic=False):
        """Finds the rank that holds the pencil some steps away.

        Args:
            axis: Pencil axis: 0 for X-, 1 for Y-, 2 for Z-pencils.
            dim: Axis to step along: 0, 1, 2 for X, Y, Z.
            displacement: Steps, negative towards the low side.
            periodic: Whether the grid wraps around along `dim`.

        Returns:
            int: The rank in the communicator of the handle, or -1 beyond the end of the grid.

        Raises:
            TypeError: An argument has the wrong type.
            InvalidUsageError: An argument is out of range, or the grid descriptor is destroyed.

        Collective: No.

        Stream ordering: None, nothing is enqueued.

        Threads: One thread at a time per handle.

        Example:
            >>> grid.get_shifted_rank(0, 1, 1), grid.get_shifted_rank(0, 1, 1, periodic=True)
            (-1, 0)

        See also:
            ``cudecompGetShiftedRank``
        """
        self._require_alive()
        cdef int32_t axis_number = axis_of(axis, "axis")
        cdef int32_t dim_number = axis_of(dim, "dim")
        cdef int32_t steps = as_int(displacement, "displacement")
        cdef bint wraps = as_bool(periodic, "periodic")
        cdef int32_t rank = -1
        cdef int result
        with nogil:
            result = cudecompGetShiftedRank(
                self._owner._handle, self._grid, axis_number, dim_number, steps, wraps, &rank
            )
        check(result, "cudecompGetShiftedRank")
        return rank

    # Docstrings of the methods below come from the functions that do the work.

    def coordinates(self, axis, lengths, *, origin=(0.0, 0.0, 0.0), endpoint=False, halo_extents=None, padding=None):
        return _coordinates.coordinates(self, axis, lengths, origin, endpoint, halo_extents, padding)

    def wavenumbers(self, axis, lengths, *, real_axis=None):
        return _coordinates.wavenumbers(self, axis, lengths, real_axis)

    def scatter(self, global_array, axis, root=0, *, halo_extents=None, padding=None, out=None):
        return _whole.scatter(self, global_array, axis, root, halo_extents, padding, out)

    def gather(self, array, axis, root=0, *, halo_extents=None, padding=None, out=None):
        return _whole.gather(self, array, axis, root, halo_extents, padding, out)

    def allclose(self, a, b, axis, *, rtol=1e-5, atol=1e-8, equal_nan=False, halo_extents=None, padding=None):
        return _whole.allclose(self, a, b, axis, rtol, atol, equal_nan, halo_extents, padding)

    def max_difference(self, a, b, axis, *, halo_extents=None, padding=None):
        return _whole.max_difference(self, a, b, axis, halo_extents, padding)

    # The docstrings of the operations are made from one text for each kind, in _docs.py.

    def transpose_x_to_y(
        self, input, out=None, *, dtype=None, input_halo_extents=None, output_halo_extents=None, input_padding=None,
        output_padding=None, stream=None
    ):
        return self._transpose(
            X_TO_Y, input, out, dtype, input_halo_extents, output_halo_extents, input_padding, output_padding,
            stream
        )

    def transpose_y_to_z(
        self, input, out=None, *, dtype=None, input_halo_extents=None, output_halo_extents=None, input_padding=None,
        output_padding=None, stream=None
    ):
        return self._transpose(
            Y_TO_Z, input, out, dtype, input_halo_extents, output_halo_extents, input_padding, output_padding,
            stream
        )

    def transpose_z_to_y(
        self, input, out=None, *, dtype=None, input_halo_extents=None, output_halo_extents=None, input_padding=None,
        output_padding=None, stream=None
    ):
        return self._transpose(
            Z_TO_Y, input, out, dtype, input_halo_extents, output_halo_extents, input_padding, output_padding,
            stream
        )

    def transpose_y_to_x(
        self, input, out=None, *, dtype=None, input_halo_extents=None, output_halo_extents=None, input_padding=None,
        output_padding=None, stream=None
    ):
        return self._transpose(
            Y_TO_X, input, out, dtype, input_halo_extents, output_halo_extents, input_padding, output_padding,
            stream
        )

    def update_halos_x(
        self, input, halo_extents, halo_periods=None, dim=None, *, padding=None, dtype=None, stream=None
    ):
        self._update_halos(0, input, halo_extents, halo_periods, dim, padding, dtype, stream)

    def update_halos_y(
        self, input, halo_extents, halo_periods=None, dim=None, *, padding=None, dtype=None, stream=None
    ):
        self._update_halos(1, input, halo_extents, halo_periods, dim, padding, dtype, stream)

    def update_halos_z(
        self, input, halo_extents, halo_periods=None, dim=None, *, padding=None, dtype=None, stream=None
    ):
        self._update_halos(2, input, halo_extents, halo_periods, dim, padding, dtype, stream)

    cdef object _transpose(
        self, int operation, input, out, dtype, input_halo, output_halo, input_pad, output_pad, stream
    ):
        if not self._owner._checks or self._owner._handle is NULL:
            return self._transpose_in(
                None, operation, input, out, dtype, input_halo, output_halo, input_pad, output_pad, stream)
        name = "transpose_" + ("x_to_y", "y_to_z", "z_to_y", "y_to_x")[operation]
        with CheckedCall(self._owner._private, name) as call:
            return self._transpose_in(
                call, operation, input, out, dtype, input_halo, output_halo, input_pad, output_pad, stream)

    cdef object _transpose_in(
        self, call, int operation, input, out, dtype, input_halo, output_halo, input_pad, output_pad, stream
    ):
        """A transpose, compared with that of the other ranks if there is a `call`."""
        cdef int32_t[3] in_halo
        cdef int32_t[3] out_halo
        cdef int32_t[3] in_pad
        cdef int32_t[3] out_pad
        cdef Operand source
        cdef Operand target
        cdef void* queue = NULL
        cdef Gpu gpu = self._ready_gpu()
        cdef int code = given_dtype(dtype)
        extents_of(input_halo, in_halo, "input_halo_extents")
        extents_of(output_halo, out_halo, "output_halo_extents")
        extents_of(input_pad, in_pad, "input_padding")
        extents_of(output_pad, out_pad, "output_padding")
        cdef int input_axis = INPUT_AXIS[operation]
        cdef int output_axis = OUTPUT_AXIS[operation]
        cdef Layout in_layout = self._layout(input_axis, in_halo, in_pad)
        cdef Layout out_layout = self._layout(output_axis, out_halo, out_pad)

        acquire(gpu, &source, input, "input", code, in_layout, input_axis)
        try:
            if gpu is not None:
                stream_handle(stream, source.of_cupy, &queue)
                require_no_empty_pencils(in_layout)
                require_no_empty_pencils(out_layout)
            if out is None:
                out = new_output(gpu, input, out_layout, &source, stream is None, queue)
            elif out is input:
                check_same_shape(in_layout, out_layout)
            acquire(gpu, &target, out, "out", code, out_layout, output_axis)
            try:
                check_pair(&source, &target)
                if call is not None:
                    call.compare({
                        "the grid": self._name(),
                        "dtype": DataType(code if code else source.dtype).name,
                        "input_halo_extents": str(in_layout.info.halo_extents),
                        "output_halo_extents": str(out_layout.info.halo_extents),
                        "input_padding": str(in_layout.info.padding),
                        "output_padding": str(out_layout.info.padding),
                        "stream": graph_or_not(gpu, queue),
                    })
                self._run_transpose(operation, &source, &target, code, in_halo, out_halo, in_pad, out_pad, queue)
            finally:
                release_host(&target)
        finally:
            release_host(&source)
        return out

    cdef int _run_transpose(
        self, int operation, Operand* source, Operand* target, int code, int32_t* in_halo, int32_t* out_halo,
        int32_t* in_pad, int32_t* out_pad, void* stream
    ) except -1:
        cdef cudecompHandle_t handle = self._owner._handle
        cdef cudecompGridDesc_t grid = self._grid
        cdef cudecompDataType_t dtype = <cudecompDataType_t>(code if code else source.dtype)
        cdef void* x = source.data
        cdef void* y = target.data
        cdef void* work = NULL
        cdef Gpu gpu = self._owner._gpu
        cdef bint capturing = False
        cdef int result
        cdef uint64_t called = self._called
        if gpu is not None:
            capturing = self._begin_transpose(operation, <int>dtype, stream, &work)
        with nogil:
            if operation == X_TO_Y:
                result = cudecompTransposeXToY(
                    handle, grid, x, y, work, dtype, in_halo, out_halo, in_pad, out_pad, stream)
            elif operation == Y_TO_Z:
                result = cudecompTransposeYToZ(
                    handle, grid, x, y, work, dtype, in_halo, out_halo, in_pad, out_pad, stream)
            elif operation == Z_TO_Y:
                result = cudecompTransposeZToY(
                    handle, grid, x, y, work, dtype, in_halo, out_halo, in_pad, out_pad, stream)
            else:
                result = cudecompTransposeYToX(
                    handle, grid, x, y, work, dtype, in_halo, out_halo, in_pad, out_pad, stream)
        if gpu is not None:
            if result != 0:
                self._called = called  # what has failed has set nothing up
            gpu.end(stream, capturing)
        return check(result, "cudecompTranspose" + ("XToY", "YToZ", "ZToY", "YToX")[operation] if result else None)

    cdef bint _begin_transpose(self, int operation, int dtype, void* stream, void** work) except? True:
        """The workspace of a transpose, and whether it goes into a graph."""
        cdef bint crosses_columns = operation == X_TO_Y or operation == Y_TO_X
        cdef uint64_t bit = <uint64_t>1 << (4 * operation - dtype - 1)
        cdef bint moves = self._groups[0 if crosses_columns else 1] > 1
        if moves and self._transposes_refused:
            raise_refused_memory("transpose_comm_backend")
        cdef bint capturing = is_capturing(stream)
        if capturing:
            self._require_capturable(self._captures_transposes or not moves, bit)
        self._owner._gpu.begin(
            self._grid, self._workspace, self._transpose_elements * item_size(dtype), stream, capturing, work)
        self._called |= bit
        return capturing

    cdef int _require_capturable(self, bint backend_can, uint64_t bit) except -1:
        """Raises before anything is enqueued, so that the capture goes on."""
        if not backend_can:
            raise NotSupportedError(
                "the stream is being captured into a CUDA graph, which only the backend NCCL can join; the backends "
                f"of this grid are {' and '.join(self.describe().split(chr(10)))}"
            )
        if not self._called & bit:
            raise InvalidUsageError(
                "the stream is being captured into a CUDA graph, but this operation has not been called on this grid "
                "before, and its first call sets things up; call it once with the same types before the capture"
            )
        return 0

    cdef int _prepare_gpu(self, config) except -1:
        """What the operations of a new grid on a GPU want to know."""
        cdef int64_t size = 0
        self._groups = config["pdims"]
        transposes = TransposeCommBackend(config["transpose_comm_backend"])
        halos = HaloCommBackend(config["halo_comm_backend"])
        self._captures_transposes = capturable_backend(transposes)
        self._captures_halos = capturable_backend(halos)
        self._transposes_refused = family(transposes) == "MPI" and not self._owner._gpu.mpi_takes_memory
        self._halos_refused = family(halos) == "MPI" and not self._owner._gpu.mpi_takes_memory
        check(cudecompGetTransposeWorkspaceSize(self._owner._handle, self._grid, &size), "GetTransposeWorkspaceSize")
        self._transpose_elements = size
        self._workspace = self._owner._gpu.join(
            self._owner._handle, self._number, memory_kind(transposes, halos))
        return 0

    cdef int _update_halos(self, int axis, input, halo_extents, halo_periods, dim, padding, dtype, stream) except -1:
        if not self._owner._checks or self._owner._handle is NULL:
            return self._update_halos_in(None, axis, input, halo_extents, halo_periods, dim, padding, dtype, stream)
        with CheckedCall(self._owner._private, "update_halos_" + "xyz"[axis]) as call:
            return self._update_halos_in(call, axis, input, halo_extents, halo_periods, dim, padding, dtype, stream)

    cdef int _update_halos_in(
        self, call, int axis, input, halo_extents, halo_periods, dim, padding, dtype, stream
    ) except -1:
        """A halo update, compared with that of the other ranks if there is a `call`."""
        cdef int32_t[3] halo
        cdef int32_t[3] pad
        cdef bool_t[3] periods
        cdef Operand array
        cdef int first = 0, last = 2
        cdef void* queue = NULL
        cdef Gpu gpu = self._ready_gpu()
        cdef int code = given_dtype(dtype)
        required_extents_of(halo_extents, halo, "halo_extents")
        periods_of(halo_periods, periods)
        if dim is not None:
            first = last = axis_of(dim, "dim")
        extents_of(padding, pad, "padding")
        cdef Layout layout = self._layout(axis, halo, pad)
        check_depth(layout, halo, periods, first, last)
        acquire(gpu, &array, input, "input", code, layout, axis)
        try:
            if gpu is not None:
                stream_handle(stream, array.of_cupy, &queue)
                require_no_empty_pencils(layout)
            if not array.writable:
                raise InvalidUsageError("input is read-only, but its halo is to be written; pass a writable array")
            if call is not None:
                call.compare({
                    "the grid": self._name(),
                    "dtype": DataType(code if code else array.dtype).name,
                    "halo_extents": str(layout.info.halo_extents),
                    "halo_periods": str((bool(periods[0]), bool(periods[1]), bool(periods[2]))),
                    "dim": "None" if first < last else str(first),
                    "padding": str(layout.info.padding),
                    "stream": graph_or_not(gpu, queue),
                })
            self._run_update(layout, axis, first, last, &array, code, halo, periods, pad, queue)
        finally:
            release_host(&array)
        return 0

    cdef int _run_update(
        self, Layout layout, int axis, int first, int last, Operand* array, int code, int32_t* halo, bool_t* periods,
        int32_t* pad, void* stream
    ) except -1:
        cdef cudecompHandle_t handle = self._owner._handle
        cdef cudecompGridDesc_t grid = self._grid
        cdef cudecompDataType_t dtype = <cudecompDataType_t>(code if code else array.dtype)
        cdef void* data = array.data
        cdef void* work = NULL
        cdef Gpu gpu = self._owner._gpu
        cdef bint capturing = False
        cdef int32_t dim
        cdef int result = 0
        cdef uint64_t called = self._called
        if gpu is not None:
            capturing = self._begin_update(layout, axis, first, last, <int>dtype, stream, &work)
        with nogil:
            for dim in range(first, last + 1):
                if axis == 0:
                    result = cudecompUpdateHalosX(handle, grid, data, work, dtype, halo, periods, dim, pad, stream)
                elif axis == 1:
                    result = cudecompUpdateHalosY(handle, grid, data, work, dtype, halo, periods, dim, pad, stream)
                else:
                    result = cudecompUpdateHalosZ(handle, grid, data, work, dtype, halo, periods, dim, pad, stream)
                if result != 0:
                    break
        if gpu is not None:
            if result != 0:
                self._called = called  # what has failed has set nothing up
            gpu.end(stream, capturing)
        return check(result, "cudecompUpdateHalos" + "XYZ"[axis] if result else None)

    cdef bint _begin_update(
        self, Layout layout, int axis, int first, int last, int dtype, void* stream, void** work
    ) except? True:
        """The workspace of a halo update, and whether it goes into a graph."""
        cdef bint capturing = is_capturing(stream)
        cdef uint64_t bits = 0
        cdef int dim
        for dim in range(first, last + 1):
            if layout.halo[dim] == 0:
                continue  # nothing moves, so nothing can be captured and nothing is set up
            if self._halos_refused and layout.parts[dim] > 1:
                raise_refused_memory("halo_comm_backend")
            bit = <uint64_t>1 << (16 + 12 * axis + 4 * dim - dtype - 1)
            bits |= bit
            if capturing:
                self._require_capturable(self._captures_halos or layout.parts[dim] == 1, bit)
        if layout.halo_elements < 0:
            layout.halo_elements = self._count_halo_elements(layout, axis)
        self._owner._gpu.begin(
            self._grid, self._workspace, layout.halo_elements * item_size(dtype), stream, capturing, work)
        self._called |= bits
        return capturing

    cdef int64_t _count_halo_elements(self, Layout layout, int axis) except -1:
        """The workspace for halos: what the library wants, and no less than on any other rank.

        Memory of NVSHMEM is allocated by all ranks together, so all must find theirs too small at the same time.
        """
        cdef int64_t size = 0
        check(cudecompGetHaloWorkspaceSize(self._owner._handle, self._grid, axis, layout.halo, &size),
              "cudecompGetHaloWorkspaceSize")
        return max(size, halo_elements(list(layout.largest), list(layout.halo)))

    cdef Layout _layout(self, int axis, const int32_t* halo, const int32_t* padding):
        """The layout for some extents, from the library the first time."""
        cdef Layout layout
        cdef list known = self._layouts[axis]
        for layout in known:
            if memcmp(layout.halo, halo, 12) == 0 and memcmp(layout.padding, padding, 12) == 0:
                return layout
        layout = self._make_layout(axis, halo, padding)
        if len(known) == MAX_LAYOUTS:
            del known[0]
        known.append(layout)
        return layout

    cdef Layout _make_layout(self, int axis, const int32_t* halo, const int32_t* padding):
        cdef cudecompPencilInfo_t info
        cdef Layout layout = Layout()
        cdef int32_t axis_number = axis
        cdef int result
        cdef int i
        with nogil:
            result = cudecompGetPencilInfo(self._owner._handle, self._grid, &info, axis_number, halo, padding)
        check(result, "cudecompGetPencilInfo")
        memcpy(layout.halo, halo, 12)
        memcpy(layout.padding, padding, 12)
        layout.halo_elements = -1
        for i in range(3):
            layout.shape[i] = info.shape[2 - i]
        config = self.get_config()
        gdims, pdims = config.gdims.tolist(), config.pdims.tolist()
        distributed = split_points(gdims, config.gdims_dist.tolist())
        for i in range(3):
            layout.parts[i] = parts_of(axis, i, pdims)
            layout.deepest[i] = smallest_part(gdims[i], distributed[i], layout.parts[i])
            layout.largest[i] = largest_part(gdims[i], distributed[i], layout.parts[i])
        layout.info = PencilInfo(
            shape=reversed_triple(info.shape),
            lo=reversed_triple(info.lo),
            hi=reversed_triple(info.hi),
            order=reversed_triple(info.order),
            halo_extents=(halo[0], halo[1], halo[2]),
            padding=(padding[0], padding[1], padding[2]),
            size=info.size,
        )
        return layout

    cdef str _name(self):
        """What tells this grid from others of the handle, the same on all ranks."""
        return f"number {self._number + 1} of its handle"

    cdef Gpu _ready_gpu(self):
        """The GPU to work on, None on the host; raises where the grid or the current device is not fit for it."""
        self._require_alive()
        cdef Gpu gpu = self._owner._gpu
        if gpu is not None:
            gpu.require_current()
        return gpu

    cdef int _require_alive(self) except -1:
        if self._grid is NULL:
            raise InvalidUsageError("this GridDesc is destroyed; create a new one with Handle.create_grid(config)")
        return 0

    def __enter__(self):
        """Returns the grid descriptor itself."""
        self._require_alive()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        """Destroys the grid descriptor, unless the block is left by an exception."""
        if exc_type is None:
            self.destroy()
        else:
            self._abandoned = True

    def __repr__(self):
        if self._grid is NULL:
            return "<cudecomp.GridDesc, destroyed>"
        config = self.get_config()
        gdims, pdims = tuple(config.gdims.tolist()), tuple(config.pdims.tolist())
        return f"<cudecomp.GridDesc, {gdims} points on {pdims} ranks>"

    def __del__(self):
        if self._grid is not NULL and not self._abandoned:
            warn_unclosed(self, "destroy()")


cdef int acquire(Gpu gpu, Operand* operand, object array, str name, int given, Layout layout, int axis) except -1:
    """Fills an operand from an array of the kind that the handle works on; after success release_host() is due."""
    if gpu is None:
        return acquire_host(operand, array, name, given, layout.shape, axis, layout.info)
    return acquire_device(operand, array, name, given, layout.shape, axis, layout.info, gpu.device)


cdef object new_output(Gpu gpu, object input, Layout layout, Operand* source, bint on_current, void* stream):
    """An array for the output of a transpose, like the input; `on_current` tells that the stream is CuPy's current."""
    if gpu is None:
        return np.empty(layout.info.shape, input.dtype)
    if not source.of_cupy:
        raise TypeError(
            f"out is None, but only for CuPy's arrays a new one is made; input is of type {type(input).__name__}: pass "
            f"an array of shape {layout.info.shape} as out"
        )
    return new_array(layout.info.shape, layout.info.size, input.dtype, None if on_current else <size_t>stream)


cdef int require_no_empty_pencils(Layout layout) except -1:
    """What NVIDIA's library cannot do, said before it is called; all ranks refuse alike."""
    if layout.deepest[0] == 0 or layout.deepest[1] == 0 or layout.deepest[2] == 0:
        raise NotSupportedError(
            "some ranks own no points in these pencils, which NVIDIA's library cannot transpose or update; use fewer "
            "ranks along the short axis, or set CUDECOMP_LIBRARY=builtin"
        )
    return 0


cdef str graph_or_not(Gpu gpu, void* stream):
    """What ranks must have in common of their streams."""
    return "one that is captured" if gpu is not None and is_capturing(stream) else "not captured"


cdef int raise_refused_memory(str field) except -1:
    raise NotSupportedError(
        f"{field} is one of MPI's, which get GPU memory, and this MPI says that it does not take it; set {field} to "
        "one of NCCL's or NVSHMEM's, or use an MPI that was built with CUDA"
    )


cdef int64_t item_size(int dtype) noexcept:
    return 4 if dtype == FLOAT else 16 if dtype == DOUBLE_COMPLEX else 8


cdef object element_type(object dtype):
    """The NumPy dtype that a DataType, or anything NumPy takes for one of them, stands for."""
    if isinstance(dtype, DataType):
        given_dtype(dtype)  # refuses values that are no member
        return ELEMENT_TYPES[dtype]
    known = np.dtype(dtype)
    if dtype is None or known not in ELEMENT_TYPES.values():
        raise TypeError(f"dtype is {dtype!r}, expected a DataType, or float32, float64, complex64 or complex128")
    return known


cdef int check_same_shape(Layout source, Layout target) except -1:
    """One array object can be input and output only where both pencils have its shape."""
    if memcmp(source.shape, target.shape, sizeof(source.shape)) != 0:
        raise InvalidUsageError(
            f"out is input, but the shape changes from {source.info.shape} to {target.info.shape}; to work in place "
            f"pass two views from the start of one buffer with {max(source.info.size, target.info.size)} elements: "
            "buffer[:size].reshape(shape)"
        )
    return 0


cdef int check_depth(Layout layout, const int32_t* halo, const bool_t* periods, int first, int last) except -1:
    """All dims at once, so that a refused update has not filled some of them; every rank refuses alike."""
    cdef int dim
    for dim in range(first, last + 1):
        if halo[dim] > layout.deepest[dim] and (layout.parts[dim] > 1 or periods[dim]):
            name = "XYZ"[dim]
            raise InvalidUsageError(
                f"halo_extents[{dim}] is {halo[dim]}, but the smallest local extent along {name} is "
                f"{layout.deepest[dim]}: halos reach one neighbour far at most; use fewer ranks along {name} or a "
                "thinner halo"
            )
    return 0


cdef int check_pair(const Operand* source, const Operand* target) except -1:
    """What input and output must satisfy together."""
    cdef const char* x = <const char*>source.data
    cdef const char* y = <const char*>target.data
    if source.dtype != target.dtype and source.dtype != 0 and target.dtype != 0:
        types = ELEMENT_TYPES[target.dtype], ELEMENT_TYPES[source.dtype]
        raise TypeError("out is of {}, but input is of {}; arrays are never converted".format(*types))
    if not target.writable:
        raise InvalidUsageError("out is read-only; pass a writable array")
    if x != y and x < y + target.nbytes and y < x + source.nbytes and source.nbytes > 0 and target.nbytes > 0:
        raise InvalidUsageError(
            f"input and out overlap in part: out starts {y - x} bytes after input; let both start at the same address "
            "to work in place, or use memory of its own for out"
        )
    return 0


cdef int extents_of(object value, int32_t* extents, str name) except -1:
    """Three extents from an argument; None means zeros."""
    if value is None:
        memset(extents, 0, 12)
        return 0
    return required_extents_of(value, extents, name)


cdef int required_extents_of(object value, int32_t* extents, str name) except -1:
    cdef int i
    if not plain_extents_of(value, extents):
        checked = nested(value, (3,), as_int, "integers (X, Y, Z)", name)
        for i in range(3):
            extents[i] = checked[i]
    if extents[0] < 0 or extents[1] < 0 or extents[2] < 0:
        seen = (extents[0], extents[1], extents[2])
        raise InvalidUsageError(f"{name} is {seen}, expected at least 0 along X, Y and Z")
    return 0


cdef bint plain_extents_of(object value, int32_t* extents):
    """The usual case, a tuple of three Python ints that fit; false for all else, right or wrong."""
    cdef int i, overflow = 0
    cdef long number
    if type(value) is not tuple or len(<tuple>value) != 3:
        return False
    for i in range(3):
        item = (<tuple>value)[i]
        if not PyLong_CheckExact(item):
            return False
        number = PyLong_AsLongAndOverflow(item, &overflow)
        if overflow or number != <int32_t>number:
            return False
        extents[i] = <int32_t>number
    return True


cdef int periods_of(object value, bool_t* periods) except -1:
    """Three flags from an argument; None means all false."""
    cdef int i
    if value is None:
        periods[0] = periods[1] = periods[2] = False
        return 0
    if plain_periods_of(value, periods):
        return 0
    checked = nested(value, (3,), as_bool, "bools (X, Y, Z)", "halo_periods")
    for i in range(3):
        periods[i] = checked[i]
    return 0


cdef bint plain_periods_of(object value, bool_t* periods) noexcept:
    """The usual case, a tuple of three Python bools; false for all else, right or wrong."""
    cdef int i
    if type(value) is not tuple or len(<tuple>value) != 3:
        return False
    for i in range(3):
        item = (<tuple>value)[i]
        if item is not True and item is not False:
            return False
        periods[i] = item is True
    return True


cdef int axis_of(object value, str name) except -1:
    cdef object number = value if type(value) is int else as_int(value, name)
    if not 0 <= number <= 2:
        raise InvalidUsageError(f"{name} is {number}, expected 0, 1 or 2 for X, Y or Z")
    return number


cdef tuple reversed_triple(const int32_t* values):
    return (values[2], values[1], values[0])


cdef int check(int result, str function) except -1:
    if result != 0:
        raise error_of(result, function)
    return 0


cdef object error_of(int result, str function):
    """The exception for a failed call, with what the library says about it."""
    unexplained = f"{function} failed; NVIDIA's library writes its reason to standard error"
    return error_from_result(result, library_text() or unexplained)


cdef int require_mpi(str call) except -1:
    """Raises once MPI is finalized: cleaning up is collective, and nothing collective works any more."""
    from mpi4py import MPI
    if MPI.Is_finalized():
        raise InvalidUsageError(f"MPI is finalized; {call} is collective and must be called before MPI.Finalize()")
    return 0


cdef int warn_unclosed(object what, str remedy) except -1:
    # At the end of the program everything is dropped and nothing is wrong. At its very end modules are empty, too.
    if sys is not None and not sys.is_finalizing():
        warnings.warn(f"{what!r} was dropped without {remedy}, which is collective", ResourceWarning, 1, what)
    return 0


document_operations(GridDesc)
for _function in (
    _coordinates.coordinates, _coordinates.wavenumbers, _whole.scatter, _whole.gather, _whole.allclose,
    _whole.max_difference,
):
    getattr(GridDesc, _function.__name__).__doc__ = _function.__doc__
del _function
