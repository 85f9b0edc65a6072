# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Files: what any decomposition has written, any other reads, and so does a program that knows nothing of it."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI

import cudecomp
from cudecomp import _files, _whole, _zarr
from tests import reference as ref
from tests.mpi.support import GDIMS, make_config
from tests.mpi.test_geometry import assert_nothing_wrong, config_of
from tests.parallel import assert_raises_everywhere
from tests.strategies import EXTENTS, decompositions

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")

EXAMPLES = settings(max_examples=15)
FORMATS = ("hdf5", "zarr")


def write(kind: str, *arguments: object, **options: object) -> None:
    getattr(cudecomp.io, f"write_{kind}")(*arguments, **options)


def read(kind: str, *arguments: object, **options: object) -> np.ndarray:
    return getattr(cudecomp.io, f"read_{kind}")(*arguments, **options)


def content(kind: str, path: Path, name: str = "data") -> tuple[np.ndarray, dict[str, object]]:
    """A whole array of a file and its attributes, as any other program reads them."""
    if kind == "zarr":
        array = zarr.open_array(store=str(path), path=name, mode="r")
        return array[...], dict(array.attrs)
    with h5py.File(path, "r") as file:
        return file[name][...], dict(file[name].attrs)


def field_of(gdims: tuple[int, int, int], dtype: str) -> np.ndarray:
    """Another value in every cell, negative zero and NaN among them."""
    field = ref.cell_values(gdims, dtype, 0)
    field.flat[:3] = [np.nan, -0.0, 0.0][: field.size]
    return field


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder(comm: MPI.Comm, tmp_path: Path) -> Path:
    """The same new folder on all ranks."""
    return Path(comm.bcast(tmp_path))


@pytest.fixture
def grid(handle: cudecomp.Handle) -> Iterator[cudecomp.GridDesc]:
    with handle.create_grid(make_config(handle.nranks)) as grid:
        yield grid


@pytest.fixture(params=[2**24, 64], ids=["pieces as they are", "tiny pieces"])
def piece_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(_whole, "PIECE_BYTES", request.param)
    monkeypatch.setattr(_whole, "TILE", 3)
    monkeypatch.setattr(_zarr, "CHUNK_BYTES", request.param)
    return request.param


@EXAMPLES
@given(data=st.data())
def test_any_decomposition_reads_what_any_wrote(
    data: st.DataObject, kind: str, handle: cudecomp.Handle, comm: MPI.Comm, folder: Path, piece_bytes: int
) -> None:
    dtype = data.draw(st.sampled_from(ref.DTYPES))
    first = data.draw(decompositions(comm.size))
    second = data.draw(decompositions(comm.size))
    second = ref.Decomposition(first.gdims, second.pdims, ref.ZERO, second.col_major, second.mem_order)
    axes, halo, padding = data.draw(st.tuples(*[st.integers(0, 2)] * 2)), data.draw(EXTENTS), data.draw(EXTENTS)
    chunks = data.draw(st.none() | st.tuples(*[st.integers(1, 10)] * 3)) if kind == "zarr" else None
    options = {"halo_extents": halo, "padding": padding}
    field = field_of(first.gdims, dtype)
    problems = []

    pencil = first.pencil(axes[0], comm.rank, halo, padding)
    array = pencil.fill(np.full(pencil.shape, 7, dtype), field)
    with handle.create_grid(config_of(first)) as grid:
        extra = {} if chunks is None else {"chunks": chunks}
        write(kind, folder / "file", grid, axes[0], array, mode="w", **extra, **options)
    whole, attributes = content(kind, folder / "file")
    if not ref.same_bits(whole, field):
        problems.append(f"file: saw {whole}, expected {field}")
    expected = {"cudecomp_format": 1, "axes": "XYZ", "gdims": list(first.gdims), "dtype": dtype}
    if {name: list(v) if name == "gdims" else v for name, v in attributes.items()} != expected:
        problems.append(f"attributes: {attributes}")

    pencil = second.pencil(axes[1], comm.rank, halo, padding)
    with handle.create_grid(config_of(second)) as grid:
        for out, around in ((None, 0), (np.full(pencil.shape, 5, dtype), 5)):
            seen = read(kind, folder / "file", grid, axes[1], out=out, **options)
            if out is not None and seen is not out:
                problems.append("read did not return out")
            if not ref.same_bits(seen, pencil.fill(np.full(pencil.shape, around, dtype), field)):
                problems.append(f"read: saw {seen}")
    assert_nothing_wrong(comm, problems)


@pytest.mark.parametrize("few_write", [True, False])
def test_restart_on_another_number_of_ranks(few_write: bool, kind: str, comm: MPI.Comm, folder: Path) -> None:
    """One rank writes and all read, and the other way round."""
    field = field_of(GDIMS, "complex128")
    few = comm.Split(0 if comm.rank == 0 else MPI.UNDEFINED)
    writers, readers = (few, comm) if few_write else (comm, few)
    if writers != MPI.COMM_NULL:
        with cudecomp.Handle(writers) as handle, handle.create_grid(make_config(writers.size)) as grid:
            array = grid.scatter(field, 2, halo_extents=(1, 2, 3))
            write(kind, folder / "file", grid, 2, array, name="a/b", halo_extents=(1, 2, 3))
    comm.Barrier()
    same = True
    if readers != MPI.COMM_NULL:
        config = make_config(readers.size, transpose_axis_contiguous=(True, True, True))
        with cudecomp.Handle(readers) as handle, handle.create_grid(config) as grid:
            whole = grid.gather(read(kind, folder / "file", grid, 1, name="a/b"), 1)
            same = whole is None or ref.same_bits(whole, field)
    if few != MPI.COMM_NULL:
        few.Free()
    assert all(comm.allgather(same))


def test_a_file_holds_many_arrays(kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    shape = grid.get_pencil_info(0).shape
    for name, value in (("u", 1.0), ("v", 2.0), ("deep/w", 3.0), ("u", 4.0)):
        write(kind, folder / "file", grid, 0, np.full(shape, value), name=name)
    for name, value in (("u", 4.0), ("v", 2.0), ("/deep/w/", 3.0)):
        assert grid.allclose(read(kind, folder / "file", grid, 0, name=name), value, 0)
    write(kind, folder / "file", grid, 0, np.zeros(shape), name="v", mode="w")
    text = r"has no array 'u'; at its top are 'v'"
    assert_raises_everywhere(comm, ValueError, text, lambda: read(kind, folder / "file", grid, 0, name="u"))


def test_overwriting_keeps_chunks(grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    """Chunks that ranks share, of an array that another program has made."""
    if comm.rank == 0:
        zarr.open_group(str(folder / "file"), mode="w")
        zarr.open_array(
            store=str(folder / "file"), path="data", mode="w", shape=GDIMS, chunks=(7, 8, 9), dtype="float64"
        )
    comm.Barrier()
    field = ref.cell_values(GDIMS, "float64", 0)
    cudecomp.io.write_zarr(folder / "file", grid, 1, grid.scatter(field, 1))
    assert ref.same_bits(content("zarr", folder / "file")[0], field)
    assert zarr.open_array(store=str(folder / "file"), path="data", mode="r").chunks == (7, 8, 9)


def test_files_of_other_programs_are_read(kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    """Without attributes, in other chunks, and in HDF5 with the other byte order and compressed."""
    field = ref.cell_values(GDIMS, "float32", 0)
    if comm.rank == 0 and kind == "hdf5":
        with h5py.File(folder / "file", "w") as file:
            file.create_dataset("data", data=field.astype(">f4"), chunks=(2, 3, 4), compression="gzip")
    elif comm.rank == 0:
        zarr.open_group(str(folder / "file"), mode="w")
        array = zarr.open_array(
            store=str(folder / "file"), path="data", mode="w", shape=GDIMS, chunks=(2, 3, 4), dtype="f4"
        )
        array[...] = field
    comm.Barrier()
    pencil = read(kind, folder / "file", grid, 2)
    assert pencil.dtype == np.float32
    assert pencil.dtype.isnative
    assert grid.max_difference(pencil, grid.scatter(field, 2), 2) == 0.0


def test_random_boxes_of_one_turn_share_no_chunk(comm: MPI.Comm) -> None:
    from tests.mpi.test_geometry import expected_info

    @settings(max_examples=60)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        decomposition = data.draw(decompositions(largest=12))
        axis, chunks = data.draw(st.integers(0, 2)), data.draw(st.tuples(*[st.integers(1, 13)] * 3))
        infos = [
            cudecomp.PencilInfo(**expected_info(decomposition.pencil(axis, rank)))
            for rank in range(decomposition.nranks)
        ]
        turns = _files.turns_by_chunk(infos, chunks)
        taken: set[tuple[int, int, int, int]] = set()
        for turn, info in zip(turns, infos, strict=True):
            box = [
                range(s.start // c, -(-s.stop // c)) if s.stop > s.start else range(0)
                for s, c in zip(info.global_slices_xyz, chunks, strict=True)
            ]
            mine = {(turn, i, j, k) for i in box[0] for j in box[1] for k in box[2]}
            assert not mine & taken
            taken |= mine
        assert sorted(set(turns)) == list(range(max(turns) + 1))

    check()


def test_equal_parts_are_written_at_once(comm: MPI.Comm) -> None:
    decomposition = ref.Decomposition((8, 8, 8), (2, 4))
    from tests.mpi.test_geometry import expected_info

    infos = [cudecomp.PencilInfo(**expected_info(decomposition.pencil(0, rank))) for rank in range(8)]
    chunks = _files.default_chunks(infos, 8, 2**24)
    assert chunks == (8, 4, 2)
    assert _files.turns_by_chunk(infos, chunks) == [0] * 8
    assert len(set(_files.turns_by_chunk(infos, (8, 3, 3)))) <= 4
    assert _files.default_chunks(infos, 8, 64) == (2, 2, 2)


#: What one rank gets wrong when it writes, or finds wrong when it reads; the exception that all see, and its text.
WRITE_ERRORS: dict[str, tuple[dict[str, object], type[Exception], str]] = {
    "shape": ({"array": np.zeros((1, 2, 3))}, ValueError, r"array has shape \(1, 2, 3\), expected"),
    "mode": ({"mode": "r"}, ValueError, "mode is 'r', expected one of 'a', 'w', 'x'"),
    "name": ({"name": "/"}, ValueError, "name is '/', expected the name of an array in the file"),
    "parent": ({"name": "../u"}, ValueError, "name is '../u', expected the name of an array in the file"),
    "no path": ({"path": ""}, ValueError, "path is empty, expected the name of a file or folder"),
    "name's type": ({"name": 1}, TypeError, "name must be a str, got 1 of type int"),
    "path's type": ({"path": 1}, TypeError, "path must be a str or a path, got 1 of type int"),
    "no folder": ({"path": "/nonexistent/folder/file"}, OSError, ".*"),
}


@pytest.mark.parametrize("case", WRITE_ERRORS)
def test_what_one_rank_writes_wrong(
    case: str, kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm
) -> None:
    wrong, error, text = WRITE_ERRORS[case]
    arguments = {"path": folder / "file", "array": np.zeros(grid.get_pencil_info(0).shape), "name": "u", "mode": "a"}
    if comm.rank == 0 or case == "no folder":
        arguments.update(wrong)
    path, array = arguments.pop("path"), arguments.pop("array")
    if case == "no folder":
        path = folder / "plain file" / "file"
        if comm.rank == 0:
            (folder / "plain file").write_text("")
        comm.Barrier()
    assert_raises_everywhere(comm, error, text, lambda: write(kind, path, grid, 0, array, **arguments))
    write(kind, folder / "other", grid, 0, np.zeros(grid.get_pencil_info(0).shape))  # nobody is out of step


def test_what_is_wrong_with_a_file(kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    shape = grid.get_pencil_info(0).shape
    path, absent = folder / "file", folder / "absent"
    write(kind, path, grid, 0, np.zeros(shape))
    other = make_config(comm.size, gdims=(12, 10, 11))
    assert_raises_everywhere(comm, FileNotFoundError, f"{absent} does not exist", lambda: read(kind, absent, grid, 0))
    last = comm.size - 1
    assert_raises_everywhere(
        comm, FileNotFoundError, "does not exist", lambda: read(kind, absent if comm.rank == last else path, grid, 0)
    )
    text = "out is of float32, but 'data' in .* is of float64; arrays are never converted"
    out = np.zeros(shape, np.float32 if comm.rank == last else np.float64)
    assert_raises_everywhere(comm, TypeError, text, lambda: read(kind, path, grid, 0, out=out))
    with grid.handle.create_grid(other) as larger:
        text = r"'data' in .*file has shape \(9, 10, 11\), expected \(12, 10, 11\), the grid's extents along X, Y, Z"
        assert_raises_everywhere(comm, ValueError, text, lambda: read(kind, path, larger, 0))
        text = r"exists with shape \(9, 10, 11\) and dtype float64, expected \(12, 10, 11\) and float64 to overwrite it"
        array = np.zeros(larger.get_pencil_info(0).shape)
        assert_raises_everywhere(comm, ValueError, text, lambda: write(kind, path, larger, 0, array))
    text = "exists with shape .* and dtype float64, expected .* and float32"
    assert_raises_everywhere(comm, ValueError, text, lambda: write(kind, path, grid, 0, np.zeros(shape, "f")))
    assert_raises_everywhere(
        comm, FileExistsError, "file", lambda: write(kind, path, grid, 0, np.zeros(shape), mode="x")
    )
    if comm.size > 1:
        text = "must get the same on all ranks, but name is 'u' on rank 0, 'v' on rank"
        name = "v" if comm.rank else "u"
        assert_raises_everywhere(comm, ValueError, text, lambda: write(kind, path, grid, 0, np.zeros(shape), name=name))


def test_a_later_format_is_refused(kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    write(kind, folder / "file", grid, 0, np.zeros(grid.get_pencil_info(0).shape))
    if comm.rank == 0 and kind == "zarr":
        zarr.open_array(store=str(folder / "file"), path="data", mode="r+").attrs.update({"cudecomp_format": 2})
    elif comm.rank == 0:
        with h5py.File(folder / "file", "r+") as file:
            file["data"].attrs["cudecomp_format"] = 2
    comm.Barrier()
    text = "has format 2, expected at most 1; use a newer cudecomp"
    assert_raises_everywhere(comm, ValueError, text, lambda: read(kind, folder / "file", grid, 0))


def test_only_zarr_groups_are_replaced(grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    if comm.rank == 0:
        (folder / "precious").mkdir()
        (folder / "precious" / "thesis.txt").write_text("")
    comm.Barrier()
    array = np.zeros(grid.get_pencil_info(0).shape)
    text = "precious exists and is no Zarr group; it is not removed, choose another path"
    assert_raises_everywhere(
        comm, FileExistsError, text, lambda: cudecomp.io.write_zarr(folder / "precious", grid, 0, array, mode="w")
    )
    assert (folder / "precious" / "thesis.txt").exists()


def test_a_rank_that_cannot_write_tells_all(
    kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error in the midst of the writing, on the last rank."""

    def fail(*arguments: object) -> None:
        raise OSError("no space left on device")

    if comm.rank == comm.size - 1:
        monkeypatch.setattr(_files, "read_piece", fail)
    array = np.zeros(grid.get_pencil_info(0).shape)
    text = "no space left on device"
    assert_raises_everywhere(comm, OSError, text, lambda: write(kind, folder / "file", grid, 0, array))


def test_groups_are_told_from_arrays(kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    array = np.zeros(grid.get_pencil_info(0).shape)
    path = folder / "file"
    write(kind, path, grid, 0, array, name="/run//u/")
    assert read(kind, path, grid, 0, name="run/u").shape == array.shape
    text = "'run' in .*file is a group, expected an array; choose a name such as 'run/u'"
    assert_raises_everywhere(comm, ValueError, text, lambda: write(kind, path, grid, 0, array, name="run"))
    assert_raises_everywhere(comm, ValueError, text, lambda: read(kind, path, grid, 0, name="run"))


def test_what_hdf5_cannot_take(grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    shape, path = grid.get_pencil_info(0).shape, folder / "file"
    cudecomp.io.write_hdf5(path, grid, 0, np.zeros(shape), name="u")
    for array, name in ((np.zeros(shape), "u/v"), (np.zeros(shape, "U3"), "text")):
        text = f"file cannot take '{name}', of {array.dtype}: "
        call = functools.partial(cudecomp.io.write_hdf5, path, grid, 0, array, name=name)
        assert_raises_everywhere(comm, TypeError, text, call)


def test_types_that_no_pencil_has(grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm) -> None:
    if comm.rank == 0:
        with h5py.File(folder / "file", "w") as file:
            file.create_dataset("texts", GDIMS, h5py.string_dtype())
            file.create_dataset("vectors", GDIMS, np.dtype((np.float32, (2,))))
    comm.Barrier()
    for name in ("texts", "vectors"):
        text = f"'{name}' in .*file is of .*, expected a type of fixed size without axes, such as float64"
        call = functools.partial(cudecomp.io.read_hdf5, folder / "file", grid, 0, name=name)
        assert_raises_everywhere(comm, TypeError, text, call)


def test_what_does_not_fit_on_the_disk(
    grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HDF5 may not meet a full disk: it keeps the file half open then, and can end the process later."""
    array, path = np.full(grid.get_pencil_info(0).shape, comm.rank + 1.0), folder / "file"
    cudecomp.io.write_hdf5(path, grid, 0, array)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: (2**30, 2**30 - 4096, 4096))
    for options, target in (({"name": "u"}, path), ({"mode": "w"}, folder / "new")):
        text = f"{target}: No space left on device: .* takes {9 * 10 * 11 * 8} bytes, and 4096 are free"
        call = functools.partial(cudecomp.io.write_hdf5, target, grid, 0, array, **options)
        assert_raises_everywhere(comm, OSError, text, call)
    assert not (folder / "new").exists()
    cudecomp.io.write_hdf5(path, grid, 0, -array)  # takes no more than is there
    assert grid.allclose(cudecomp.io.read_hdf5(path, grid, 0), -array, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: (0, 0, 0))  # a file system that does not tell
    cudecomp.io.write_hdf5(folder / "new", grid, 0, array)


def test_a_file_that_cannot_be_closed(
    grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h5py then raises a RuntimeError, which says nothing of the file."""
    close = h5py.File.close

    def fail(file: h5py.File) -> None:
        close(file)
        raise RuntimeError("Can't decrement id ref count")

    if comm.rank == comm.size - 1:
        monkeypatch.setattr(h5py.File, "close", fail)
    array = np.zeros(grid.get_pencil_info(0).shape)
    text = "file: Can't decrement id ref count"
    assert_raises_everywhere(comm, OSError, text, lambda: cudecomp.io.write_hdf5(folder / "file", grid, 0, array))


def test_missing_packages(
    kind: str, grid: cudecomp.GridDesc, folder: Path, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one rank: all hear what to install."""
    package = {"hdf5": "h5py", "zarr": "zarr"}[kind]
    if comm.rank == 0:
        monkeypatch.setitem(sys.modules, package, None)
    array = np.zeros(grid.get_pencil_info(0).shape)
    calls: list[tuple[str, Callable[[], object]]] = [
        (f"write_{kind}", lambda: write(kind, folder / "file", grid, 0, array)),
        (f"read_{kind}", lambda: read(kind, folder / "file", grid, 0)),
    ]
    for name, call in calls:
        text = rf"cudecomp.io.{name} needs {package}, which cannot be imported \(.*\); pip install 'cudecomp\[io\]'"
        assert_raises_everywhere(comm, ImportError, text, call)
