# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Handles: what they accept, how they end, and that only explicit calls communicate."""

import gc
import pickle
import re
import subprocess
import sys
import textwrap
import warnings
import weakref

import pytest
from mpi4py import MPI

from cudecomp import GridDescConfig, Handle, InvalidUsageError


def config():
    return GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1))


def run(program, *options):
    """Runs a program of its own and returns what it did."""
    command = [sys.executable, *options, "-c", textwrap.dedent(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_attributes():
    comm = MPI.COMM_WORLD.Dup()
    with Handle(comm) as handle:
        assert handle.comm is comm
        assert (type(handle.rank), handle.rank) == (int, 0)
        assert (type(handle.nranks), handle.nranks) == (int, 1)
        assert repr(handle) == "<cudecomp.Handle, rank 0 of 1, builtin library, line 0.7>"
        with pytest.raises(AttributeError):
            handle.rank = 1
    assert repr(handle) == "<cudecomp.Handle, finalized>"
    assert handle.comm is comm
    comm.Free()


@pytest.mark.parametrize("comm", [None, 0, "world", MPI.GROUP_NULL, MPI])
def test_what_is_no_communicator(comm):
    with pytest.raises(
        TypeError, match=r"mpi_comm must be an mpi4py communicator, got .* of type \w+; pass for example"
    ):
        Handle(comm)


def test_null_communicator():
    with pytest.raises(InvalidUsageError, match=r"mpi_comm is MPI\.COMM_NULL; make a Handle only on the ranks"):
        Handle(MPI.COMM_NULL)
    with pytest.raises(InvalidUsageError, match=r"mpi_comm is MPI\.COMM_NULL"):
        Handle(MPI.Intercomm())


def test_arguments_of_the_constructor():
    with pytest.raises(TypeError, match="positional argument"):
        Handle()
    with pytest.raises(TypeError, match="unexpected keyword argument 'comm'"):
        Handle(comm=MPI.COMM_SELF)
    with Handle(mpi_comm=MPI.COMM_SELF) as handle:
        assert handle.nranks == 1


def test_second_init_is_refused():
    with Handle(MPI.COMM_SELF) as handle, pytest.raises(InvalidUsageError, match="this Handle is in use"):
        handle.__init__(MPI.COMM_SELF)


def test_the_communicator_is_duplicated_and_the_duplicates_are_freed():
    # MPI implementations have room for a few thousand communicators at most; leaks would end this loop.
    for _ in range(5000):
        Handle(MPI.COMM_SELF).finalize()


def test_finalize_twice_is_harmless_and_use_after_it_is_not():
    handle = Handle(MPI.COMM_SELF)
    handle.finalize()
    handle.finalize()
    with pytest.raises(InvalidUsageError, match="this Handle is finalized; make a new one"):
        handle.create_grid(config())
    with pytest.raises(InvalidUsageError, match="this Handle is finalized"), handle:
        pass


def test_several_handles():
    first, second = Handle(MPI.COMM_SELF), Handle(MPI.COMM_WORLD)
    with first, second, first.create_grid(config()) as a, second.create_grid(config()) as b:
        assert a.get_pencil_info(0) == b.get_pencil_info(0)
        assert (a.handle, b.handle) == (first, second)


def test_finalize_with_grids_in_use():
    handle = Handle(MPI.COMM_SELF)
    grids = [handle.create_grid(config()) for _ in range(3)]
    with pytest.raises(
        InvalidUsageError, match=r"^3 grid descriptors of this handle still in use; call destroy\(\) bef"
    ):
        handle.finalize()
    grids.pop().destroy()
    grids.pop().destroy()
    with pytest.raises(InvalidUsageError, match=r"^1 grid descriptor of this handle still in use"):
        handle.finalize()
    assert grids[0].get_pencil_info(0).size == 120
    grids.pop().destroy()
    handle.finalize()


def test_a_grid_keeps_its_handle_alive():
    handle = Handle(MPI.COMM_SELF)
    reference = weakref.ref(handle)
    grid = handle.create_grid(config())
    del handle
    gc.collect()
    assert reference() is grid.handle
    grid.destroy()
    reference().finalize()


def test_dropping_warns_and_does_not_communicate():
    handle = Handle(MPI.COMM_SELF)
    grid = handle.create_grid(config())
    with pytest.warns(ResourceWarning, match=r"<cudecomp.GridDesc, .*> was dropped without destroy\(\), which is coll"):
        del grid
    with pytest.warns(ResourceWarning, match=r"<cudecomp.Handle, .*> was dropped without finalize\(\), which is coll"):
        del handle


def test_finalize_destroys_grids_that_were_dropped():
    handle = Handle(MPI.COMM_SELF)
    grid = handle.create_grid(config())
    with pytest.warns(ResourceWarning, match="GridDesc"):
        del grid
    handle.finalize()
    assert repr(handle) == "<cudecomp.Handle, finalized>"


def test_leaving_a_block_by_an_exception_does_nothing_collective():
    with pytest.raises(KeyError), Handle(MPI.COMM_SELF) as handle, handle.create_grid(config()) as grid:
        raise KeyError
    # Everything still works, and may be ended where all ranks have caught the exception.
    assert grid.get_pencil_info(0).shape == (6, 5, 4)
    grid.destroy()
    handle.finalize()


def test_dropping_what_an_exception_left_behind_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError), Handle(MPI.COMM_SELF) as handle, handle.create_grid(config()) as grid:
            raise KeyError
        del grid, handle
        gc.collect()


def test_not_picklable():
    with Handle(MPI.COMM_SELF) as handle, pytest.raises(TypeError):
        pickle.dumps(handle)


def test_a_script_that_just_ends():
    program = """
        import cudecomp, numpy
        from mpi4py import MPI
        handle = cudecomp.Handle(MPI.COMM_WORLD)
        grid = handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1)))
        grid.transpose_x_to_y(numpy.ones(grid.get_pencil_info(0).shape))
        print("done")
    """
    result = run(program, "-W", "error")
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_before_and_after_mpi():
    program = """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        import cudecomp

        def refused(function):
            try:
                function()
            except cudecomp.InvalidUsageError as error:
                print(error)

        refused(lambda: cudecomp.Handle(MPI.COMM_WORLD))
        MPI.Init()
        handle = cudecomp.Handle(MPI.COMM_WORLD)
        grid = handle.create_grid(cudecomp.GridDescConfig(gdims=(4, 5, 6), pdims=(1, 1)))
        MPI.Finalize()
        refused(grid.destroy)
        refused(handle.finalize)
        refused(lambda: cudecomp.Handle(MPI.COMM_WORLD))
    """
    result = run(program)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "MPI is not initialized; call mpi4py.MPI.Init() before making a Handle",
        "MPI is finalized; destroy() is collective and must be called before MPI.Finalize()",
        "MPI is finalized; finalize() is collective and must be called before MPI.Finalize()",
        "MPI is finalized; make and finalize a Handle before mpi4py.MPI.Finalize()",
    ]


def test_a_library_that_cannot_be_loaded():
    program = """
        import cudecomp
        from mpi4py import MPI
        try:
            cudecomp.Handle(MPI.COMM_WORLD)
        except Exception as error:
            print(type(error).__name__, error)
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**__import__("os").environ, "CUDECOMP_LIBRARY": "/nowhere/libcudecomp.so"},
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(r"Error .*/nowhere/libcudecomp\.so", result.stdout)
