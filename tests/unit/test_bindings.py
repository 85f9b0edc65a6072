# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The bindings over a library that does nothing (fakelib): calls, errors, structs, enums."""

import array
import copy
import ctypes
import gc
import hashlib
import json
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cudecomp_bindings.cudecomp as cd
from tests.unit import fakelib

CONFIG_FIELDS = ("gdims", "gdims_dist", "pdims", "rank_order", "transpose_comm_backend", "transpose_axis_contiguous",
                 "transpose_mem_order", "halo_comm_backend")  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fakelib.build(tmp_path_factory.mktemp("fakelib"), "FAKE_LAST_ERROR")


def over(library: Path, program: str) -> Any:
    """Runs a program over a library, in a process of its own because a process loads one library only.

    The program calls ``cd`` and appends to ``result``; ``recorded()`` tells what the library saw of the last call.
    """
    preamble = """
        import ctypes, json, os
        import cudecomp_bindings.cudecomp as cd
        fake = ctypes.CDLL(os.environ["CUDECOMP_LIBRARY"])
        fake.fake_last_call.restype = ctypes.c_char_p
        ctypes.c_int.in_dll(fake, "fake_recording").value = 1
        status = ctypes.c_int.in_dll(fake, "fake_status")
        recorded = lambda: fake.fake_last_call().decode()
        result = []
    """
    source = textwrap.dedent(preamble) + textwrap.dedent(program) + "\nprint(json.dumps(result))"
    environment = {**os.environ, "CUDECOMP_LIBRARY": str(library)}
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return json.loads(done.stdout)


# Calls


def test_every_function_passes_its_arguments(library: Path) -> None:
    result = over(library, """
        def call(function, *arguments, **named):
            value = function(*arguments, **named)
            result.append([value if isinstance(value, (int, str, type(None))) else repr(value), recorded()])

        big = 0x7ffff0001000
        call(cd.init, big)
        call(cd.init_f, -7)
        call(cd.finalize, big)
        call(cd.grid_desc_destroy, 1, 2)
        call(cd.get_transpose_workspace_size, 1, 2)
        call(cd.get_halo_workspace_size, 1, 2, 1, (1, 2, 3))
        call(cd.get_halo_workspace_size, 1, 2, axis=1)
        call(cd.get_data_type_size, cd.DataType.DOUBLE_COMPLEX)
        call(cd.malloc, 1, 2, 2**40)
        call(cd.free, 1, 2, big)
        call(cd.transpose_comm_backend_to_string, 4)
        call(cd.halo_comm_backend_to_string, cd.HaloCommBackend.MPI)
        call(cd.get_shifted_rank, 1, 2, 0, 1, -1, True)
        for name in ("x_to_y", "y_to_z", "z_to_y", "y_to_x"):
            call(getattr(cd, f"transpose_{name}"), 1, 2, big, 4, 0, -2, (1, 2, 3), [4, 5, 6], None, range(3), 9)
        for name in "xyz":
            call(getattr(cd, f"update_halos_{name}"), 1, 2, 3, 4, -1, (1, 0, 0), (True, 0, 1), 2, None, 0)
    """)  # fmt: skip
    assert result == [
        [0x1000, "Init 0x7ffff0001000"],
        [0x1000, "Init_F -7"],
        [None, "Finalize 0x7ffff0001000"],
        [None, "GridDescDestroy 0x1 0x2"],
        [5000000000, "GetTransposeWorkspaceSize 0x1 0x2"],
        [12, "GetHaloWorkspaceSize 0x1 0x2 axis=1 halo=1,2,3"],
        [12, "GetHaloWorkspaceSize 0x1 0x2 axis=1 halo=null"],
        [8, "GetDataTypeSize -4"],
        [0x3000, f"Malloc 0x1 0x2 {2**40}"],
        [None, "Free 0x1 0x2 0x7ffff0001000"],
        ["NCCL", "TransposeCommBackendToString 4"],
        ["", "HaloCommBackendToString 1"],
        [-1, "GetShiftedRank 0x1 0x2 0 1 -1 1"],
        *(
            [None, f"Transpose{name} 0x1 0x2 0x7ffff0001000 0x4 (nil) -2 1,2,3 4,5,6 null 0,1,2 0x9"]
            for name in ("XToY", "YToZ", "ZToY", "YToX")
        ),
        *([None, f"UpdateHalos{name} 0x1 0x2 0x3 0x4 -1 1,0,0 1,0,1 2 null (nil)"] for name in "XYZ"),
    ]


def test_inline_wrappers_pass_sizes_and_versions(library: Path) -> None:
    result = over(library, """
        config = cd.GridDescConfig(gdims=(4, 5, 6))
        result.append([cd.grid_desc_create(1, config), list(config.pdims), recorded()])
        result.append([cd.grid_desc_create(1, config, cd.GridDescAutotuneOptions(n_trials=3)), recorded()])
        cd.grid_desc_config_set_defaults(config)
        result.append([config.transpose_comm_backend.name, recorded()])
        options = cd.GridDescAutotuneOptions()
        cd.grid_desc_autotune_options_set_defaults(options)
        result.append([options.n_trials, recorded()])
        info = cd.get_pencil_info(1, 2, 0, (1, 2, 3), None)
        result.append([list(info.shape), info.size, recorded()])
        result.append([list(cd.get_grid_desc_config(1, 2).gdims), recorded()])
    """)  # fmt: skip
    assert result == [
        [0x2000, [2, 0], "GridDescCreate 0x1 gdims=4,5,6 size=104 version=1 options=-1 size=0 version=0"],
        [0x2000, "GridDescCreate 0x1 gdims=4,5,6 size=104 version=1 options=3 size=320 version=1"],
        ["MPI_P2P", "ConfigSetDefaults 104 1"],
        [5, "OptionsSetDefaults 320 1"],
        [[7, 0, 0], 1 << 40, "GetPencilInfo 0x1 0x2 size=96 version=1 axis=0 halo=1,2,3 padding=null"],
        [[0, 0, 9], "GetGridDescConfig 0x1 0x2 104 1"],
    ]


def test_wrong_arguments(library: Path) -> None:
    result = over(library, """
        config = cd.GridDescConfig()
        nothing = recorded()
        for call in (
            lambda: cd.get_data_type_size(1.0),
            lambda: cd.get_data_type_size("double"),
            lambda: cd.get_data_type_size(2**31),
            lambda: cd.finalize(None),
            lambda: cd.get_shifted_rank(1, 2, 0, 1, 1, "yes"),
            lambda: cd.get_pencil_info(1, 2, 0, (1, 2)),
            lambda: cd.get_pencil_info(1, 2, 0, (1, 2, 3), padding=(0, 0, 1.5)),
            lambda: cd.get_pencil_info(1, 2, 0, (1, 2, 2**31)),
            lambda: cd.get_pencil_info(1, 2, 0, {1, 2, 3}),
            lambda: cd.update_halos_x(1, 2, 3, 4, -1, None, (1, None, 0), 2, None, 0),
            lambda: cd.grid_desc_create(1, None),
            lambda: cd.grid_desc_create(1, config, config),
            lambda: cd.malloc(1, 2, -1),
        ):
            try:
                call()
            except Exception as error:
                result.append(f"{type(error).__name__}: {error}")
        assert recorded() == nothing
    """)  # fmt: skip
    module = cd.__name__
    assert result == [
        "TypeError: dtype: expected an integer, got float: 1.0",
        "TypeError: dtype: expected an integer, got str: 'double'",
        "OverflowError: dtype: 2147483648 does not fit int",
        "TypeError: handle: expected an integer, got NoneType: None",
        "TypeError: periodic: expected a bool, got str: 'yes'",
        "ValueError: halo_extents: expected 3 values, got 2: (1, 2)",
        "TypeError: padding[2]: expected an integer, got float: 1.5",
        "OverflowError: halo_extents[2]: 2147483648 does not fit int32_t",
        "TypeError: halo_extents: expected a sequence of length 3, got set: {1, 2, 3}",
        "TypeError: halo_periods[1]: expected a bool, got NoneType: None",
        f"TypeError: Argument 'config' has incorrect type (expected {module}.GridDescConfig, got NoneType)",
        (
            f"TypeError: Argument 'options' has incorrect type (expected {module}.GridDescAutotuneOptions, "
            f"got {module}.GridDescConfig)"
        ),
        "OverflowError: buffer_size_bytes: -1 does not fit size_t",
    ]


def test_numpy_values_are_values(library: Path) -> None:
    result = over(library, """
        import numpy as np
        cd.get_halo_workspace_size(np.uint64(1), 2, np.int8(1), np.array([1, 2, 3], dtype=np.int16))
        result.append(recorded())
        cd.update_halos_x(1, 2, 3, 4, np.int64(-1), None, np.array([True, False, True]), 2, cd.PencilInfo().padding, 0)
        result.append(recorded())
    """)  # fmt: skip
    assert result == [
        "GetHaloWorkspaceSize 0x1 0x2 axis=1 halo=1,2,3",
        "UpdateHalosX 0x1 0x2 0x3 0x4 -1 null 1,0,1 2 0,0,0 (nil)",
    ]


# Errors


def test_failed_call_raises_with_the_text_of_the_library(library: Path) -> None:
    result = over(library, """
        status.value = 1
        for call in (lambda: cd.get_data_type_size(-1), lambda: cd.transpose_x_to_y(1, 2, 3, 4, 5, -1, *[None] * 4, 0),
                     lambda: cd.init_f(0), lambda: cd.get_pencil_info(1, 2, 0)):
            try:
                call()
            except cd.cuDecompError as error:
                result.append([str(error), error.status, error.status.name, error.function, error.text])
        status.value = 77
        try:
            cd.finalize(1)
        except cd.cuDecompError as error:
            result.append([str(error), repr(error.status)])
    """)  # fmt: skip
    text = "gdims[0] is 0, expected at least 1"
    names = ["cudecompGetDataTypeSize", "cudecompTransposeXToY", "cudecompInit_F", "cudecompGetPencilInfo"]
    assert result == [
        *([f"{name} failed with INVALID_USAGE (1): {text}", 1, "INVALID_USAGE", name, text] for name in names),
        [f"cudecompFinalize failed with UNKNOWN_77 (77): {text}", "<Result.UNKNOWN_77: 77>"],
    ]


def test_failed_call_without_text_says_what_the_code_means(tmp_path: Path) -> None:
    result = over(fakelib.build(tmp_path), """
        result.append(cd.last_error_text())
        for status.value in (6, 77):
            try:
                cd.get_data_type_size(-1)
            except cd.cuDecompError as error:
                result.append(str(error))
    """)  # fmt: skip
    assert result == [
        "",
        "cudecompGetDataTypeSize failed with MPI_ERROR (6): An MPI call failed.",
        "cudecompGetDataTypeSize failed with UNKNOWN_77 (77): A result code that these bindings do not know.",
    ]


def test_error_needs_no_library() -> None:
    error = cd.cuDecompError(cd.Result.NOT_SUPPORTED, "cudecompInit", "no GPU")
    assert isinstance(error, RuntimeError)
    assert (error.status, error.function, error.text) == (cd.Result.NOT_SUPPORTED, "cudecompInit", "no GPU")
    assert type(error.status) is cd.Result
    assert str(error) == "cudecompInit failed with NOT_SUPPORTED (2): no GPU"
    assert (
        str(cd.cuDecompError(3)) == "a call failed with INTERNAL_ERROR (3): A defect of the library; please report it."
    )
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert (type(other), other.args, str(other)) == (type(error), error.args, str(error))


def test_check_status_passes_success() -> None:
    cd.check_status(0, "cudecompInit")
    cd.check_status(cd.Result.SUCCESS)


# Enums


def test_enum_members() -> None:
    assert {e.__name__: {m.name: int(m) for m in e} for e in (cd.DataType, cd.RankOrder, cd.AutotuneGridMode)} == {
        "DataType": {"FLOAT": -1, "DOUBLE": -2, "FLOAT_COMPLEX": -3, "DOUBLE_COMPLEX": -4},
        "RankOrder": {"DEFAULT": 0, "ROW_MAJOR": 1, "COL_MAJOR": 2},
        "AutotuneGridMode": {"TRANSPOSE": 0, "HALO": 1},
    }
    assert [m.name for m in cd.TransposeCommBackend] == [
        "MPI_P2P", "MPI_P2P_PL", "MPI_A2A", "NCCL", "NCCL_PL", "NVSHMEM", "NVSHMEM_PL", "NVSHMEM_SM",
    ]  # fmt: skip
    assert [m.name for m in cd.HaloCommBackend] == ["MPI", "MPI_BLOCKING", "NCCL", "NVSHMEM", "NVSHMEM_BLOCKING"]
    assert [int(m) for m in cd.Result] == list(range(10))


def test_unknown_enum_values_survive() -> None:
    unknown = cd.TransposeCommBackend(100)
    assert (unknown, unknown.name, unknown.value) == (100, "UNKNOWN_100", 100)
    assert isinstance(unknown, cd.TransposeCommBackend)
    assert unknown is cd.TransposeCommBackend(100)
    assert unknown != cd.TransposeCommBackend(101)
    assert pickle.loads(pickle.dumps(unknown)) is unknown
    assert copy.deepcopy(unknown) is unknown
    assert repr(unknown) == "<TransposeCommBackend.UNKNOWN_100: 100>"
    assert hash(unknown) == hash(100)
    assert 100 not in [int(m) for m in cd.TransposeCommBackend]
    assert cd.HaloCommBackend(100) is not unknown
    with pytest.raises(ValueError, match="'NCCL' is not a valid TransposeCommBackend"):
        cd.TransposeCommBackend("NCCL")  # type: ignore[arg-type]


def test_unknown_enum_values_in_fields() -> None:
    config = cd.GridDescConfig(halo_comm_backend=cd.HaloCommBackend.NCCL, transpose_comm_backend=100)
    assert config.halo_comm_backend is cd.HaloCommBackend.NCCL
    assert config.transpose_comm_backend is cd.TransposeCommBackend(100)


# Structs


def test_constructor_starts_from_zero_and_identifies_the_struct() -> None:
    for kind, size, magic in (
        (cd.GridDescConfig, 104, 0x434F4E46),
        (cd.GridDescAutotuneOptions, 320, 0x4155544F),
        (cd.PencilInfo, 96, 0x50494E46),
    ):
        struct = kind()
        memory = ctypes.string_at(struct.ptr, size)
        assert memory[:16] == array.array("q", [size]).tobytes() + array.array("i", [magic, 1]).tobytes()
        assert memory[16:] == bytes(size - 16)
        assert (struct.struct_size, struct.magic, struct.version) == (size, magic, 1)
        assert sys.getsizeof(struct) >= size


def test_keyword_construction() -> None:
    config = cd.GridDescConfig(gdims=[4, 5, 6], rank_order=cd.RankOrder.COL_MAJOR)
    assert (list(config.gdims), config.rank_order) == ([4, 5, 6], 2)
    with pytest.raises(TypeError, match=r"GridDescConfig has no field 'dims'; its fields are gdims, gdims_dist, pdims"):
        cd.GridDescConfig(dims=(1, 2, 3))  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        cd.GridDescConfig((4, 5, 6))  # type: ignore[misc]


def test_fields_lie_where_the_header_says() -> None:
    config = cd.GridDescConfig(
        gdims=(1, 2, 3), gdims_dist=(4, 5, 6), pdims=(7, 8), rank_order=1, transpose_comm_backend=9,
        transpose_axis_contiguous=(True, False, True), transpose_mem_order=((0, 1, 2), (3, 4, 5), (6, 7, 8)),
        halo_comm_backend=5,
    )  # fmt: skip
    memory = ctypes.string_at(config.ptr, 104)
    assert np.frombuffer(memory[16:56], np.int32).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 1, 9]
    assert memory[56:60] == b"\1\0\1\0"
    assert np.frombuffer(memory[60:], np.int32).tolist() == [*range(9), 5, 0]
    options = cd.GridDescAutotuneOptions(skip_threshold=0.5, halo_axis=2, transpose_op_weights=(1, 2, 3, 4.5))
    memory = ctypes.string_at(options.ptr, 320)
    assert np.frombuffer(memory, np.float64, 1, 40) == 0.5
    assert np.frombuffer(memory, np.float64, 4, 56).tolist() == [1, 2, 3, 4.5]
    assert np.frombuffer(memory, np.int32, 1, 300) == 2


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("gdims", (1, 2), ValueError, r"gdims: expected 3 values, got 2: \(1, 2\)"),
        ("gdims", (7, 8, 9.5), TypeError, r"gdims\[2\]: expected an integer, got float: 9.5"),
        ("gdims", (7, 8, 2**31), OverflowError, r"gdims\[2\]: 2147483648 does not fit int32_t"),
        ("gdims", "123", TypeError, "gdims: expected a sequence of length 3, got str: '123'"),
        ("gdims", 7, TypeError, "gdims: expected a sequence of length 3, got int: 7"),
        ("gdims", iter((1, 2, 3)), TypeError, "gdims: expected a sequence of length 3, got tuple_iterator"),
        ("gdims", None, TypeError, "gdims: expected a sequence of length 3, got NoneType: None"),
        ("transpose_mem_order", ((0, 1, 2),) * 2, ValueError, r"transpose_mem_order: expected 3 values, got 2"),
        (
            "transpose_mem_order",
            ((0, 1, 2), (0, 1, 2), (0, 1)),
            ValueError,
            r"transpose_mem_order\[2\]: expected 3 val",
        ),
        ("transpose_mem_order", ((0, 1, 2), (0, 1, 2), 5), TypeError, r"transpose_mem_order\[2\]: expected a sequence"),
        ("transpose_mem_order", ((0, 1, 2), (7, 7, 7), (0, "a", 2)), TypeError, r"transpose_mem_order\[2\]\[1\]: expe"),
        (
            "transpose_axis_contiguous",
            (True, True, "no"),
            TypeError,
            r"transpose_axis_contiguous\[2\]: expected a bool",
        ),
        ("transpose_axis_contiguous", (True, True), ValueError, "transpose_axis_contiguous: expected 3 values, got 2"),
        ("rank_order", 1.0, TypeError, "rank_order: expected an integer, got float: 1.0"),
        ("rank_order", None, TypeError, "rank_order: expected an integer, got NoneType: None"),
        ("rank_order", 2**31, OverflowError, "rank_order: 2147483648 does not fit int"),
    ],
)
def test_failed_assignment_changes_nothing(field: str, value: object, error: type[Exception], message: str) -> None:
    config = cd.GridDescConfig(gdims=(4, 5, 6), transpose_mem_order=((1, 2, 0),) * 3, rank_order=1)
    before = ctypes.string_at(config.ptr, 104)
    with pytest.raises(error, match=message):
        setattr(config, field, value)
    assert ctypes.string_at(config.ptr, 104) == before


def test_scalar_fields() -> None:
    options = cd.GridDescAutotuneOptions()
    options.n_trials, options.skip_threshold, options.dtype = np.int64(7), 1, cd.DataType.FLOAT
    options.disable_mpi_backends = np.bool_(True)
    assert (options.n_trials, options.skip_threshold, options.disable_mpi_backends) == (7, 1.0, True)
    assert options.dtype is cd.DataType.FLOAT
    assert [type(options.n_trials), type(options.skip_threshold), type(options.disable_mpi_backends)] == [
        int,
        float,
        bool,
    ]
    with pytest.raises(TypeError, match="skip_threshold: expected a number, got str: 'x'"):
        options.skip_threshold = "x"  # type: ignore[assignment]
    with pytest.raises(TypeError, match="disable_mpi_backends: expected a bool, got list: "):
        options.disable_mpi_backends = []  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        options.trials = 3  # type: ignore[attr-defined]


def test_whole_field_assignment_takes_arrays_and_views() -> None:
    config = cd.GridDescConfig(gdims=np.array([4, 5, 6], np.uint8), transpose_mem_order=np.arange(9).reshape(3, 3))
    other = cd.GridDescConfig(gdims=config.gdims, transpose_mem_order=config.transpose_mem_order)
    assert other == config
    config.gdims = config.gdims[::-1]
    assert config.gdims == (6, 5, 4)


def test_copy_equality_repr_and_pickling() -> None:
    config = cd.GridDescConfig(gdims=(4, 5, 6), transpose_axis_contiguous=(1, 0, 1))
    for other in (config.copy(), copy.copy(config), copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert other == config
        assert other.ptr != config.ptr
        other.transpose_mem_order[2][1] = 1
        assert other != config
    assert config != cd.PencilInfo()
    assert cd.GridDescConfig.FIELDS == CONFIG_FIELDS
    assert repr(cd.GridDescConfig(gdims=(4, 5, 6), transpose_comm_backend=1, halo_comm_backend=1)) == (
        "GridDescConfig(gdims=(4, 5, 6), gdims_dist=(0, 0, 0), pdims=(0, 0), rank_order=<RankOrder.DEFAULT: 0>, "
        "transpose_comm_backend=<TransposeCommBackend.MPI_P2P: 1>, transpose_axis_contiguous=(False, False, False), "
        "transpose_mem_order=((0, 0, 0), (0, 0, 0), (0, 0, 0)), halo_comm_backend=<HaloCommBackend.MPI: 1>)"
    )
    with pytest.raises(TypeError, match="unhashable"):
        hash(config)


@pytest.mark.parametrize("kind", [cd.GridDescConfig, cd.GridDescAutotuneOptions, cd.PencilInfo])
def test_equality_sees_every_field_and_no_padding(kind: type[Any]) -> None:
    for field in kind.FIELDS:
        struct, same = kind(), kind()
        value = getattr(struct, field)
        if hasattr(value, "tolist"):
            value[-1] = 1 if len(value.shape) == 1 else [0] * (value.shape[1] - 1) + [1]
        else:
            setattr(struct, field, 1)
        assert struct != same, field
        assert pickle.loads(pickle.dumps(struct)) == struct
    # Bytes 59 of the config and 36 to 39 of the options belong to no field.
    config, other = cd.GridDescConfig(), cd.GridDescConfig()
    ctypes.memset(config.ptr + 59, 255, 1)
    assert config == other


# Views of array fields


def test_views_write_through_and_keep_the_struct_alive() -> None:
    config = cd.GridDescConfig(gdims=(4, 5, 6))
    view = config.gdims
    view[1] = 50
    view[-1] = 60
    assert list(config.gdims) == [4, 50, 60]
    del config
    gc.collect()
    assert view.tolist() == [4, 50, 60]
    array_of = np.asarray(cd.GridDescConfig(gdims=(1, 2, 3)).gdims)
    gc.collect()
    assert array_of.tolist() == [1, 2, 3]


def test_views_are_sequences() -> None:
    view = cd.GridDescConfig(gdims=(4, 5, 4)).gdims
    assert (len(view), list(view), tuple(view), list(reversed(view))) == (3, [4, 5, 4], (4, 5, 4), [4, 5, 4])
    assert (5 in view, 7 in view, view.index(4), view.index(4, 1), view.count(4)) == (True, False, 0, 2, 2)
    assert (view.shape, view.format, repr(view)) == ((3,), "i", "ArrayView([4, 5, 4])")
    assert view == (4, 5, 4)
    assert view == [4, 5, 4]
    assert view == np.array([4, 5, 4]).tolist()
    assert view != (4, 5)
    assert view != "454"
    assert view != 4
    assert isinstance(view, Sequence)
    assert (*view,) == (4, 5, 4)
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"index {index} is outside an array of length 3"):
            view[index]
    with pytest.raises(TypeError, match="unhashable"):
        hash(view)
    with pytest.raises(TypeError, match="a view cannot be pickled without its struct"):
        pickle.dumps(view)
    with pytest.raises(TypeError, match="views are made by the array fields of structs"):
        type(view)()


def test_views_in_two_dimensions() -> None:
    config = cd.GridDescConfig(transpose_mem_order=((0, 1, 2), (1, 2, 0), (2, 0, 1)))
    view = config.transpose_mem_order
    assert (view.shape, len(view), view[1].tolist(), view[1][2], view[1, 2], view[-1, -3]) == (
        (3, 3),
        3,
        [1, 2, 0],
        0,
        0,
        2,
    )
    view[0] = (2, 1, 0)
    view[1, 2] = 7
    view[2][0] = 8
    assert view == [[2, 1, 0], [1, 2, 7], [8, 0, 1]]
    assert view == ((2, 1, 0), (1, 2, 7), (8, 0, 1))
    assert view != ((2, 1, 0), (1, 2, 7))
    assert view != (2, 1, 0)
    view[1:] = ((0, 0, 0), (9, 9, 9))
    assert view[::2].tolist() == [[2, 1, 0], [9, 9, 9]]
    with pytest.raises(IndexError, match="expected 1 indices, got 2"):
        view[0][0, 0]
    with pytest.raises(IndexError, match="expected 2 indices, got 3"):
        view[0, 0, 0]


def test_failed_writes_to_views_change_nothing() -> None:
    config = cd.GridDescConfig(gdims=(4, 5, 6), transpose_mem_order=((0, 1, 2),) * 3)
    for write in (
        lambda: config.gdims.__setitem__(0, 1.5),
        lambda: config.gdims.__setitem__(0, 2**31),
        lambda: config.gdims.__setitem__(3, 1),
        lambda: config.gdims.__setitem__(slice(None), (1, 2)),
        lambda: config.gdims.__setitem__(slice(None), (1, 2, "x")),
        lambda: config.transpose_mem_order.__setitem__(0, (9, 9)),
        lambda: config.transpose_mem_order.__setitem__(0, (9, 9, None)),
        lambda: config.transpose_mem_order.__setitem__(slice(None), ((9, 9, 9), (9, 9, 9), (9, 9, None))),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError, IndexError)):
            write()
        assert config.gdims == (4, 5, 6)
        assert config.transpose_mem_order == ((0, 1, 2),) * 3


def test_bools_are_zero_or_one() -> None:
    config = cd.GridDescConfig()
    view = config.transpose_axis_contiguous
    view[0] = 5
    view[1] = np.bool_(True)
    config.transpose_axis_contiguous = (2, view[1], 0)
    assert ctypes.string_at(config.ptr + 56, 3) == b"\1\1\0"
    as_array = np.asarray(view)
    as_array[2] = 7
    assert ctypes.string_at(config.ptr + 56, 3) == b"\1\1\1"
    # Whatever is written past all that still reads as a bool.
    ctypes.memset(config.ptr + 56, 3, 1)
    assert view[0] is True
    options = cd.GridDescAutotuneOptions()
    options.autotune_halo_backend = 9  # type: ignore[assignment]
    assert ctypes.string_at(options.ptr + 280, 1) == b"\1"
    for value in ("False", None, (), b"x"):
        with pytest.raises(TypeError, match=r"\[0\]: expected a bool, got "):
            view[0] = value


def test_views_are_buffers() -> None:
    options = cd.GridDescAutotuneOptions()
    for name, dtype, shape in (
        ("halo_extents", np.int32, (3,)),
        ("halo_periods", np.bool_, (3,)),
        ("transpose_op_weights", np.float64, (4,)),
        ("transpose_input_padding", np.int32, (4, 3)),
    ):
        view = getattr(options, name)
        as_array = np.asarray(view)
        assert (as_array.dtype, as_array.shape, as_array.flags.c_contiguous) == (dtype, shape, True)
        as_array[...] = 1
        assert view.tolist() == np.ones(shape, dtype).tolist()
        assert memoryview(view).nbytes == as_array.nbytes
    steps = options.transpose_input_padding[::-2]
    options.transpose_input_padding = np.arange(12).reshape(4, 3)
    assert np.asarray(steps).tolist() == [[9, 10, 11], [3, 4, 5]]
    assert np.asarray(options.transpose_op_weights[1:3]).ctypes.data == options.ptr + 56 + 8
    with pytest.raises(BufferError, match="a slice with a step is not contiguous"):
        hashlib.sha256(options.halo_extents[::2])


def test_views_do_not_leak_structs() -> None:
    struct = cd.GridDescConfig()
    count = sys.getrefcount(struct)
    for _ in range(100):
        memoryview(struct.gdims).release()
        np.asarray(struct.transpose_mem_order)
        struct.transpose_mem_order[1][2] = 3
        struct.gdims = struct.gdims
    assert sys.getrefcount(struct) == count
