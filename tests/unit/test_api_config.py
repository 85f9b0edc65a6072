# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration objects: defaults, views, assignment, copies, equality, repr, pickles."""

import copy
import gc
import pickle

import numpy as np
import pytest

import cudecomp
from cudecomp import GridDescAutotuneOptions, GridDescConfig, HaloCommBackend, RankOrder, TransposeCommBackend

CONFIG_DEFAULTS = {
    "gdims": [0, 0, 0],
    "gdims_dist": [0, 0, 0],
    "pdims": [0, 0],
    "rank_order": RankOrder.DEFAULT,
    "transpose_comm_backend": TransposeCommBackend.MPI_P2P,
    "transpose_axis_contiguous": [False] * 3,
    "transpose_mem_order": [[-1] * 3] * 3,
    "halo_comm_backend": HaloCommBackend.MPI,
}
OPTIONS_DEFAULTS = {
    "n_warmup_trials": 3,
    "n_trials": 5,
    "grid_mode": cudecomp.AutotuneGridMode.TRANSPOSE,
    "dtype": cudecomp.DataType.DOUBLE,
    "allow_uneven_decompositions": True,
    "disable_mpi_backends": False,
    "disable_nccl_backends": False,
    "disable_nvshmem_backends": False,
    "skip_threshold": 0.0,
    "autotune_transpose_backend": False,
    "transpose_use_inplace_buffers": [False] * 4,
    "transpose_op_weights": [1.0] * 4,
    "transpose_input_halo_extents": [[0] * 3] * 4,
    "transpose_output_halo_extents": [[0] * 3] * 4,
    "transpose_input_padding": [[0] * 3] * 4,
    "transpose_output_padding": [[0] * 3] * 4,
    "autotune_halo_backend": False,
    "halo_extents": [0] * 3,
    "halo_periods": [False] * 3,
    "halo_axis": 0,
    "halo_padding": [0] * 3,
}
DEFAULTS = [(GridDescConfig, CONFIG_DEFAULTS), (GridDescAutotuneOptions, OPTIONS_DEFAULTS)]
KINDS = [GridDescConfig, GridDescAutotuneOptions]


def filled_config():
    """Every field differs from its default."""
    return GridDescConfig(
        gdims=(9, 10, 11),
        gdims_dist=(8, 9, 10),
        pdims=(2, 3),
        rank_order=RankOrder.COL_MAJOR,
        transpose_comm_backend=TransposeCommBackend.NCCL,
        transpose_axis_contiguous=(True, False, True),
        transpose_mem_order=((0, 1, 2), (1, 2, 0), (2, 0, 1)),
        halo_comm_backend=HaloCommBackend.NVSHMEM,
    )


def filled_options():
    """Every field differs from its default."""
    extents = [(1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 11, 12)]
    return GridDescAutotuneOptions(
        n_warmup_trials=1,
        n_trials=7,
        grid_mode=cudecomp.AutotuneGridMode.HALO,
        dtype=cudecomp.DataType.FLOAT_COMPLEX,
        allow_uneven_decompositions=False,
        disable_mpi_backends=True,
        disable_nccl_backends=True,
        disable_nvshmem_backends=True,
        skip_threshold=0.75,
        autotune_transpose_backend=True,
        transpose_use_inplace_buffers=(True, False, True, True),
        transpose_op_weights=(0.5, 1.0, 2.0, 0.0),
        transpose_input_halo_extents=extents,
        transpose_output_halo_extents=extents[::-1],
        transpose_input_padding=np.array(extents) + 20,
        transpose_output_padding=np.array(extents) + 40,
        autotune_halo_backend=True,
        halo_extents=(1, 1, 2),
        halo_periods=(True, False, True),
        halo_axis=2,
        halo_padding=(0, 3, 0),
    )


FILLED = [filled_config, filled_options]


def values(record):
    """All fields as comparable Python values."""
    fields = {name: getattr(record, name) for name in dict(DEFAULTS)[type(record)]}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}


@pytest.mark.parametrize(("kind", "defaults"), DEFAULTS)
def test_defaults(kind, defaults):
    assert values(kind()) == defaults
    assert list(kind._fields) == list(defaults)


@pytest.mark.parametrize(("kind", "defaults"), DEFAULTS)
def test_every_field_is_documented(kind, defaults):
    for name in defaults:
        assert len(getattr(kind, name).__doc__) > 15
        assert f"\n        {name}: " in kind.__doc__, f"{kind.__name__}.{name} is not among the Args"


@pytest.mark.parametrize(("kind", "defaults"), DEFAULTS)
def test_types_of_values(kind, defaults):
    for name, default in defaults.items():
        value = getattr(kind(), name)
        if isinstance(default, list):
            first = np.ravel(default)[0]
            expected = {np.bool_: np.bool_, np.float64: np.float64}.get(type(first), np.int32)
            assert type(value) is np.ndarray
            assert value.dtype == expected
            assert value.flags.writeable
        else:
            assert type(value) is type(default)


@pytest.mark.parametrize("make", FILLED)
def test_filled_objects_differ_from_the_defaults_in_every_field(make):
    record = make()
    defaults = dict(DEFAULTS)[type(record)]
    assert all(value != defaults[name] for name, value in values(record).items())


def test_views_are_the_memory_of_the_struct():
    config = GridDescConfig()
    config.gdims[:] = (4, 5, 6)
    config.pdims[1] = 7
    config.transpose_mem_order[2] = (2, 1, 0)
    config.transpose_axis_contiguous[1] = True
    assert config.gdims is config.gdims
    assert config.gdims.tolist() == [4, 5, 6]
    assert np.asarray(config._struct.gdims).tolist() == [4, 5, 6]
    assert np.asarray(config._struct.pdims).tolist() == [0, 7]
    assert np.asarray(config._struct.transpose_mem_order).tolist() == [[-1] * 3, [-1] * 3, [2, 1, 0]]
    assert np.asarray(config._struct.transpose_axis_contiguous).tolist() == [False, True, False]


def test_a_view_keeps_its_memory_alive():
    views = []
    for i in range(100):
        config = GridDescConfig(gdims=(i, i + 1, i + 2))
        views.append(config.gdims)
        del config
    gc.collect()
    assert [view.tolist() for view in views] == [[i, i + 1, i + 2] for i in range(100)]


@pytest.mark.parametrize(
    "value",
    [
        (3, 4, 5),
        [3, 4, 5],
        np.array([3, 4, 5]),
        np.array([3, 4, 5], np.uint8),
        [np.int64(3), np.int32(4), 5],
        range(3, 6),
        np.array([5, 4, 3], ">i4")[::-1],
    ],
)
def test_whole_field_assignment(value):
    config = GridDescConfig()
    view = config.gdims
    config.gdims = value
    assert config.gdims is view
    assert view.tolist() == [3, 4, 5]


def test_a_field_takes_a_view_of_itself():
    config = GridDescConfig(gdims=(1, 2, 3))
    config.gdims = config.gdims[::-1]
    assert config.gdims.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("field", "value", "error", "text"),
    [
        ("gdims", (1, 2), ValueError, r"gdims takes 3 integers, got 2: \(1, 2\)"),
        ("gdims", (1, 2, 3, 4), ValueError, r"gdims takes 3 integers, got 4: \(1, 2, 3, 4\)"),
        ("gdims", (1, 2.0, 3), TypeError, r"gdims\[1\] takes an integer, got 2.0 of type float"),
        ("gdims", np.array([1.0, 2.0, 3.0]), TypeError, r"gdims\[0\] takes an integer, got .*1\.0.* of type float64"),
        ("gdims", (1, 2, True), TypeError, r"gdims\[2\] takes an integer, got True of type bool"),
        ("gdims", np.array([True] * 3), TypeError, r"gdims\[0\] takes an integer, got .*True.* of type bool"),
        ("gdims", (1, "2", 3), TypeError, r"gdims\[1\] takes an integer, got '2' of type str"),
        ("gdims", "123", TypeError, r"gdims takes 3 integers, got '123' of type str"),
        ("gdims", 8, TypeError, r"gdims takes 3 integers, got 8 of type int"),
        ("gdims", None, TypeError, r"gdims takes 3 integers, got None of type NoneType"),
        ("gdims", {1: 1, 2: 2, 3: 3}, TypeError, r"gdims takes 3 integers, got \{.*\} of type dict"),
        ("gdims", {1, 2, 3}, TypeError, r"gdims takes 3 integers, got \{1, 2, 3\} of type set"),
        ("gdims", np.array(3), TypeError, r"gdims takes 3 integers, got array\(3\), an array without axes"),
        ("gdims", np.ones((3, 3), int), TypeError, r"gdims\[0\] takes an integer, got array\("),
        ("gdims", (1, 2, 2**31), ValueError, r"gdims\[2\] is 2147483648, expected a 32-bit integer"),
        ("gdims", (1, 2, -(2**31) - 1), ValueError, r"gdims\[2\] is -2147483649, expected a 32-bit integer"),
        ("pdims", (1, 2, 3), ValueError, r"pdims takes 2 integers, got 3: \(1, 2, 3\)"),
        ("transpose_mem_order", (0, 1, 2), TypeError, r"transpose_mem_order\[0\] takes 3 integers, got 0 of type int"),
        ("transpose_mem_order", [(0, 1, 2)] * 2, ValueError, r"transpose_mem_order takes 3 x 3 integers, got 2: "),
        (
            "transpose_mem_order",
            [(0, 1, 2), (0, 1), (0, 1, 2)],
            ValueError,
            r"order\[1\] takes 3 integers, got 2: \(0, 1\)",
        ),
        ("transpose_axis_contiguous", (1, 0, 1), TypeError, r"contiguous\[0\] takes True or False, got 1 of type int"),
        ("transpose_axis_contiguous", True, TypeError, r"contiguous takes 3 bools, got True of type bool"),
        ("transpose_axis_contiguous", (True,), ValueError, r"contiguous takes 3 bools, got 1: \(True,\)"),
        ("rank_order", "ROW_MAJOR", TypeError, r"rank_order takes a RankOrder, got 'ROW_MAJOR' of type str"),
        ("rank_order", True, TypeError, r"rank_order takes a RankOrder, got True of type bool"),
        ("rank_order", 1.0, TypeError, r"rank_order takes a RankOrder, got 1.0 of type float"),
        ("rank_order", 2**40, ValueError, r"rank_order is 1099511627776, expected a 32-bit integer"),
        (
            "halo_comm_backend",
            TransposeCommBackend.NCCL,
            TypeError,
            r"takes a HaloCommBackend, got .*NCCL.* of TransposeC",
        ),
    ],
)
def test_refused_assignment_leaves_the_object_as_it_was(field, value, error, text):
    config = filled_config()
    with pytest.raises(error, match=text):
        setattr(config, field, value)
    assert config == filled_config()
    with pytest.raises(error, match=text):
        GridDescConfig(**{field: value})


@pytest.mark.parametrize(
    ("field", "value", "error", "text"),
    [
        ("n_trials", 2.0, TypeError, r"n_trials takes an integer, got 2.0 of type float"),
        ("n_trials", 2**31, ValueError, r"n_trials is 2147483648, expected a 32-bit integer"),
        ("skip_threshold", "1", TypeError, r"skip_threshold takes a number, got '1' of type str"),
        ("skip_threshold", True, TypeError, r"skip_threshold takes a number, got True of type bool"),
        ("skip_threshold", 1j, TypeError, r"skip_threshold takes a number, got 1j of type complex"),
        ("autotune_halo_backend", 1, TypeError, r"autotune_halo_backend takes True or False, got 1 of type int"),
        ("transpose_op_weights", (1, 2, 3), ValueError, r"transpose_op_weights takes 4 numbers, got 3: \(1, 2, 3\)"),
        ("transpose_op_weights", (1, 2, 3, "4"), TypeError, r"transpose_op_weights\[3\] takes a number, got '4'"),
        ("transpose_input_padding", [(0, 0, 0)] * 3, ValueError, r"padding takes 4 x 3 integers, got 3: "),
        (
            "halo_periods",
            np.array([1, 0, 1]),
            TypeError,
            r"halo_periods\[0\] takes True or False, got .*1.* of type int64",
        ),
    ],
)
def test_refused_options(field, value, error, text):
    options = filled_options()
    with pytest.raises(error, match=text):
        setattr(options, field, value)
    assert options == filled_options()


def test_numpy_scalars_are_taken_and_come_back_as_python_numbers():
    options = GridDescAutotuneOptions()
    options.n_trials = np.int64(9)
    options.skip_threshold = np.float32(0.5)
    options.autotune_halo_backend = np.True_
    options.halo_periods = np.array([True, False, True])
    assert (type(options.n_trials), options.n_trials) == (int, 9)
    assert (type(options.skip_threshold), options.skip_threshold) == (float, 0.5)
    assert options.autotune_halo_backend is True
    assert options.halo_periods.tolist() == [True, False, True]


def test_enum_fields_take_members_and_ints_and_keep_unknown_values():
    config = GridDescConfig()
    config.transpose_comm_backend = 3
    assert config.transpose_comm_backend is TransposeCommBackend.MPI_A2A
    config.transpose_comm_backend = 117
    assert config.transpose_comm_backend == 117
    assert isinstance(config.transpose_comm_backend, TransposeCommBackend)
    assert "transpose_comm_backend=117" in repr(config)
    assert pickle.loads(pickle.dumps(config)) == config


def test_unknown_names_get_a_suggestion():
    with pytest.raises(TypeError, match=r"GridDescConfig\(\) has no field 'gdim'; did you mean 'gdims'\?"):
        GridDescConfig(gdim=(1, 2, 3))
    with pytest.raises(TypeError, match=r"has no field 'xyz'; its fields are gdims, gdims_dist, pdims, "):
        GridDescConfig(xyz=1)
    with pytest.raises(AttributeError, match=r"GridDescConfig has no field 'pdim'; did you mean 'pdims'\?"):
        GridDescConfig().pdim = (1, 1)
    with pytest.raises(AttributeError, match="pdim"):
        _ = GridDescConfig().pdim
    with pytest.raises(TypeError, match="positional"):
        GridDescConfig((1, 2, 3))


@pytest.mark.parametrize("make", FILLED)
@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda record: record.copy()]
    + [
        lambda record, p=protocol: pickle.loads(pickle.dumps(record, p))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ],
)
def test_copies_are_equal_and_independent(make, duplicate):
    original = make()
    twin = duplicate(original)
    assert type(twin) is type(original)
    assert twin == original
    assert not twin != original
    first = next(name for name, value in values(original).items() if isinstance(value, list))
    getattr(twin, first)[0] = not getattr(twin, first)[0]
    assert twin != original
    assert original == make()


@pytest.mark.parametrize("make", [*KINDS, *FILLED])
def test_repr_makes_an_equal_object(make):
    record = make()
    assert eval(repr(record), vars(cudecomp)) == record


def test_repr_shows_what_is_not_default():
    assert repr(GridDescConfig()) == "GridDescConfig()"
    config = GridDescConfig(gdims=(8, 8, 8), rank_order=RankOrder.ROW_MAJOR)
    assert repr(config) == "GridDescConfig(gdims=(8, 8, 8), rank_order=RankOrder.ROW_MAJOR)"


@pytest.mark.parametrize("make", FILLED)
def test_every_field_counts_in_equality(make):
    for name, value in values(type(make())()).items():
        other = make()
        setattr(other, name, value)
        assert other != make(), name


def test_equality_with_other_types_and_hash():
    assert GridDescConfig() != GridDescAutotuneOptions()
    assert GridDescConfig() != None  # noqa: E711
    with pytest.raises(TypeError, match="unhashable"):
        hash(GridDescConfig())
