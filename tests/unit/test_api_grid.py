# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Creating grids: what is refused and how, what comes back; queries of a grid descriptor."""

import pickle

import numpy as np
import pytest
from mpi4py import MPI

from cudecomp import (
    GridDesc,
    GridDescAutotuneOptions,
    GridDescConfig,
    HaloCommBackend,
    Handle,
    InvalidUsageError,
    NotSupportedError,
    PencilInfo,
    RankOrder,
    TransposeCommBackend,
)


@pytest.fixture(scope="module")
def handle():
    with Handle(MPI.COMM_WORLD) as handle:
        yield handle


@pytest.fixture
def grid(handle):
    with handle.create_grid(config()) as grid:
        yield grid


def config(**fields):
    return GridDescConfig(**{"gdims": (4, 5, 6), "pdims": (1, 1), **fields})


REFUSED_CONFIGS = [
    ({"gdims": (0, 0, 0)}, r"^gdims is \(0, 0, 0\), expected at least 1 point along X; set all three entries$"),
    ({"gdims": (4, 5, 0)}, r"^gdims is \(4, 5, 0\), expected at least 1 point along Z"),
    ({"gdims": (4, -5, 6)}, r"^gdims is \(4, -5, 6\), expected at least 1 point along Y"),
    ({"gdims_dist": (4, 5, 0)}, r"^gdims_dist is \(4, 5, 0\) with gdims \(4, 5, 6\), expected 1 to 6 along Z; set all"),
    (
        {"gdims_dist": (-4, 5, 6)},
        r"^gdims_dist is \(-4, 5, 6\) with .*, expected 1 to 4 along X; set all three entries, or",
    ),
    ({"gdims_dist": (4, 6, 6)}, r"^gdims_dist is \(4, 6, 6\) with .*, expected 1 to 5 along Y"),
    (
        {"pdims": (0, 0)},
        r"^pdims is \(0, 0\) and there are no autotuning options; set pdims to \(rows, columns\) with a prod",
    ),
    (
        {"pdims": (1, 0)},
        r"^pdims is \(1, 0\), expected two integers of at least 1; set both, or none to have it autotuned$",
    ),
    ({"pdims": (0, 1)}, r"^pdims is \(0, 1\), expected two integers"),
    ({"pdims": (-1, -1)}, r"^pdims is \(-1, -1\), expected two integers"),
    (
        {"pdims": (2, 1)},
        r"^pdims is \(2, 1\), which makes 2 pencils, but the handle has 1 rank; expected a product of 1$",
    ),
    ({"pdims": (2**16, 2**16)}, r"^pdims is \(65536, 65536\), which makes 4294967296 pencils"),
    (
        {"rank_order": 3},
        r"^rank_order is 3, expected one of RankOrder.DEFAULT, RankOrder.ROW_MAJOR, RankOrder.COL_MAJOR$",
    ),
    (
        {"transpose_mem_order": [(0, 1, 2), (-1, -1, -1), (-1, -1, -1)]},
        r"^transpose_mem_order is \(-1, -1, -1\) for Y-pencils, expected a permutation of \(0, 1, 2\)",
    ),
    ({"transpose_mem_order": [(0, 1, 2), (0, 1, 2), (0, 1, 1)]}, r"^transpose_mem_order is \(0, 1, 1\) for Z-pencils"),
    ({"transpose_mem_order": [(0, 1, 3), (0, 1, 2), (0, 1, 2)]}, r"^transpose_mem_order is \(0, 1, 3\) for X-pencils"),
    ({"transpose_mem_order": np.zeros((3, 3), int)}, r"^transpose_mem_order is \(0, 0, 0\) for X-pencils"),
    ({"transpose_comm_backend": 0}, r"transpose_comm_backend.*0"),
    ({"transpose_comm_backend": 99}, r"transpose_comm_backend.*99"),
    ({"halo_comm_backend": -1}, r"halo_comm_backend.*-1"),
]


@pytest.mark.parametrize(("fields", "text"), REFUSED_CONFIGS, ids=lambda value: str(value)[:40])
def test_refused_configuration(handle, fields, text):
    wrong = config(**fields)
    before = wrong.copy()
    with pytest.raises(InvalidUsageError, match=text):
        handle.create_grid(wrong)
    assert wrong == before


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"n_trials": 0}, r"^n_trials is 0, expected at least 1$"),
        ({"n_warmup_trials": -1}, r"^n_warmup_trials is -1, expected at least 0$"),
        ({"grid_mode": 2}, r"^grid_mode is 2, expected one of AutotuneGridMode.TRANSPOSE, AutotuneGridMode.HALO$"),
        ({"dtype": 1}, r"^dtype is 1, expected one of DataType.FLOAT, "),
        ({"skip_threshold": -0.5}, r"^skip_threshold is -0.5, expected a finite number of at least 0$"),
        ({"skip_threshold": float("nan")}, r"^skip_threshold is nan, expected a finite number"),
        (
            {"transpose_op_weights": (1, 1, float("inf"), 1)},
            r"^transpose_op_weights for Z-to-Y is inf, expected a finite",
        ),
        (
            {"transpose_input_halo_extents": [(0, 0, 0), (0, -1, 0), (0, 0, 0), (0, 0, 0)]},
            r"^transpose_input_halo_extents for Y-to-Z is \(0, -1, 0\), expected at least 0 along X, Y and Z$",
        ),
        (
            {"transpose_output_padding": [(0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, -2)]},
            r"^transpose_output_padding for Y-to-X is \(0, 0, -2\)",
        ),
        ({"halo_extents": (-1, 0, 0)}, r"^halo_extents is \(-1, 0, 0\), expected at least 0 along X, Y and Z$"),
        ({"halo_padding": (0, 0, -1)}, r"^halo_padding is \(0, 0, -1\), expected at least 0"),
        ({"halo_axis": 3}, r"^halo_axis is 3, expected 0, 1 or 2 for X-, Y- or Z-pencils$"),
        ({"halo_axis": -1}, r"^halo_axis is -1, expected 0, 1 or 2"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refused_options(handle, fields, text):
    with pytest.raises(InvalidUsageError, match=text):
        handle.create_grid(config(pdims=(0, 0)), GridDescAutotuneOptions(**fields))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((None,), r"^config must be a GridDescConfig, got None of type NoneType$"),
        (((4, 5, 6),), r"^config must be a GridDescConfig, got \(4, 5, 6\) of type tuple$"),
        ((GridDescAutotuneOptions(),), r"^config must be a GridDescConfig, got .* of type GridDescAutotuneOptions$"),
        ((config(), config()), r"^options must be a GridDescAutotuneOptions or None, got .* of type GridDescConfig$"),
        ((config(), False), r"^options must be a GridDescAutotuneOptions or None, got False of type bool$"),
    ],
)
def test_arguments_of_the_wrong_type(handle, arguments, text):
    with pytest.raises(TypeError, match=text):
        handle.create_grid(*arguments)


def test_a_refusal_leaves_the_handle_usable(handle):
    with pytest.raises(InvalidUsageError):
        handle.create_grid(config(gdims=(0, 1, 1)))
    with handle.create_grid(config()) as grid:
        assert grid.get_pencil_info(0).size == 120


def test_what_this_engine_cannot_do(handle):
    with pytest.raises(NotSupportedError, match="NCCL"):
        handle.create_grid(config(transpose_comm_backend=TransposeCommBackend.NCCL))
    with pytest.raises(NotSupportedError, match="NVSHMEM"):
        handle.create_grid(config(halo_comm_backend=HaloCommBackend.NVSHMEM))


def test_the_configuration_comes_back(handle):
    original = config(
        gdims_dist=(3, 4, 5), rank_order=RankOrder.COL_MAJOR, transpose_axis_contiguous=(True, False, True)
    )
    passed = original.copy()
    with handle.create_grid(passed) as grid:
        assert passed == original
        returned = grid.get_config()
        assert returned == original
        assert returned is not grid.get_config()
        returned.gdims[0] = 99
        assert grid.get_config() == original


def test_options_with_nothing_to_autotune(handle):
    with handle.create_grid(config(), GridDescAutotuneOptions()) as grid:
        assert grid.get_config() == config()


def test_not_constructible():
    with pytest.raises(TypeError, match=r"GridDesc cannot be made directly; use Handle.create_grid\(config\)"):
        GridDesc()
    with pytest.raises(InvalidUsageError, match="this GridDesc is destroyed"):
        GridDesc.__new__(GridDesc).get_config()


def test_not_picklable(grid):
    with pytest.raises(TypeError):
        pickle.dumps(grid)


def test_repr(handle):
    grid = handle.create_grid(config())
    assert repr(grid) == "<cudecomp.GridDesc, (4, 5, 6) points on (1, 1) ranks>"
    grid.destroy()
    assert repr(grid) == "<cudecomp.GridDesc, destroyed>"


def test_destroyed(handle):
    grid = handle.create_grid(config())
    shape = grid.get_pencil_info(0).shape
    grid.destroy()
    grid.destroy()
    assert grid.handle is handle
    calls = [
        grid.get_config,
        lambda: grid.get_pencil_info(0),
        grid.get_transpose_workspace_size,
        lambda: grid.get_halo_workspace_size(0, (1, 1, 1)),
        lambda: grid.get_shifted_rank(0, 1, 1),
        lambda: grid.transpose_x_to_y(np.ones(shape)),
        lambda: grid.update_halos_x(np.ones(shape), (0, 0, 0)),
        lambda: grid.empty(0, "float64"),
        lambda: grid.zeros(0, "float64"),
        grid.__enter__,
    ]
    for call in calls:
        with pytest.raises(
            InvalidUsageError, match=r"this GridDesc is destroyed; create a new one with Handle.create_grid"
        ):
            call()


# --- queries


def test_pencil_info_is_in_array_axis_order(handle):
    with handle.create_grid(config(transpose_mem_order=[(0, 1, 2), (1, 2, 0), (2, 0, 1)])) as grid:
        x = grid.get_pencil_info(0, (1, 0, 0), (0, 0, 2))
        assert x == PencilInfo(
            shape=(8, 5, 6),
            lo=(0, 0, 0),
            hi=(5, 4, 3),
            order=(2, 1, 0),
            halo_extents=(1, 0, 0),
            padding=(0, 0, 2),
            size=240,
        )
        assert grid.get_pencil_info(1).order == (0, 2, 1)
        assert grid.get_pencil_info(1).shape == (4, 6, 5)
        assert grid.get_pencil_info(2).order == (1, 0, 2)
        assert grid.get_pencil_info(2).hi == (4, 3, 5)


def test_pencil_info_is_made_of_python_ints(grid):
    info = grid.get_pencil_info(np.int64(0), np.array([1, 2, 0]), [0, np.int8(1), 0])
    assert info.halo_extents == (1, 2, 0)
    for name in PencilInfo.__slots__:
        value = getattr(info, name)
        assert all(type(item) is int for item in (value if type(value) is tuple else (value,))), name


def test_many_layouts(grid):
    """More than are remembered, so that the first ones are made anew."""
    extents = [(halo, 0, padding) for halo in range(3) for padding in range(60)]
    for _ in range(2):
        for halo, _, padding in extents:
            info = grid.get_pencil_info(0, (halo, 0, 0), (0, 0, padding))
            assert info.shape == (6 + padding, 5, 4 + 2 * halo)
            assert (info.halo_extents, info.padding) == ((halo, 0, 0), (0, 0, padding))


def test_workspace_sizes(grid):
    assert type(grid.get_transpose_workspace_size()) is int
    assert grid.get_transpose_workspace_size() >= 0
    assert type(grid.get_halo_workspace_size(0, (1, 1, 1))) is int
    assert grid.get_halo_workspace_size(2, np.array([1, 1, 1])) >= 0


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("dim", range(3))
def test_shifted_rank(grid, axis, dim):
    assert [grid.get_shifted_rank(axis, dim, step, periodic=True) for step in (-2, -1, 0, 1, 5)] == [0] * 5
    assert grid.get_shifted_rank(axis, dim, 0) == 0
    assert grid.get_shifted_rank(axis, dim, 1) == -1
    assert grid.get_shifted_rank(axis, dim, -1, np.False_) == -1
    assert type(grid.get_shifted_rank(axis, dim, 1)) is int


EXTENTS_ERRORS = [
    ((1, 1), ValueError, r"NAME takes 3 integers \(X, Y, Z\), got 2: \(1, 1\)"),
    ((1, 1, 1, 1), ValueError, r"NAME takes 3 integers \(X, Y, Z\), got 4: "),
    ((1, 1, -1), ValueError, r"NAME is \(1, 1, -1\), expected at least 0 along X, Y and Z"),
    ([0, -2, 0], ValueError, r"NAME is \(0, -2, 0\), expected at least 0"),
    ((1, 1.0, 1), TypeError, r"NAME\[1\] takes an integer, got 1.0 of type float"),
    ((1, True, 1), TypeError, r"NAME\[1\] takes an integer, got True of type bool"),
    ((1, 1, 2**31), ValueError, r"NAME\[2\] is 2147483648, expected a 32-bit integer"),
    ((2**70, 1, 1), ValueError, r"NAME\[0\] is 1180591620717411303424, expected a 32-bit integer"),
    (1, TypeError, r"NAME takes 3 integers \(X, Y, Z\), got 1 of type int"),
    ("111", TypeError, r"NAME takes 3 integers \(X, Y, Z\), got '111' of type str"),
    (np.ones(3), TypeError, r"NAME\[0\] takes an integer, got .*1\.0.* of type float64"),
]


@pytest.mark.parametrize(("value", "error", "text"), EXTENTS_ERRORS)
def test_refused_extents(grid, value, error, text):
    shape = grid.get_pencil_info(0).shape
    array = np.ones(shape)

    def refused(name, call):
        with pytest.raises(error, match="^" + text.replace("NAME", name)) as caught:
            call()
        assert isinstance(caught.value, InvalidUsageError | TypeError)

    refused("halo_extents", lambda: grid.get_pencil_info(0, value))
    refused("padding", lambda: grid.get_pencil_info(0, None, value))
    refused("halo_extents", lambda: grid.get_halo_workspace_size(0, value))
    for name in ("input_halo_extents", "output_halo_extents", "input_padding", "output_padding"):
        refused(name, lambda name=name: grid.transpose_x_to_y(array, **{name: value}))
    refused("halo_extents", lambda: grid.update_halos_x(array, value))
    refused("padding", lambda: grid.update_halos_x(array, (0, 0, 0), padding=value))


def test_extents_that_must_be_given(grid):
    with pytest.raises(TypeError, match=r"halo_extents takes 3 integers \(X, Y, Z\), got None of type NoneType"):
        grid.get_halo_workspace_size(0, None)
    with pytest.raises(TypeError, match=r"halo_extents takes 3 integers \(X, Y, Z\), got None"):
        grid.update_halos_x(np.ones(grid.get_pencil_info(0).shape), None)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3, ValueError, "NAME is 3, expected 0, 1 or 2 for X, Y or Z"),
        (-1, ValueError, "NAME is -1, expected 0, 1 or 2"),
        (2**40, ValueError, "NAME is 1099511627776, expected"),
        (1.0, TypeError, "NAME takes an integer, got 1.0 of type float"),
        (True, TypeError, "NAME takes an integer, got True of type bool"),
        ("x", TypeError, "NAME takes an integer, got 'x' of type str"),
    ],
)
def test_refused_axes(grid, value, error, text):
    array = np.ones(grid.get_pencil_info(0).shape)
    for name, call in [
        ("axis", lambda: grid.get_pencil_info(value)),
        ("axis", lambda: grid.get_halo_workspace_size(value, (1, 1, 1))),
        ("axis", lambda: grid.get_shifted_rank(value, 0, 0)),
        ("dim", lambda: grid.get_shifted_rank(0, value, 0)),
        ("dim", lambda: grid.update_halos_x(array, (0, 0, 0), None, value)),
    ]:
        with pytest.raises(error, match="^" + text.replace("NAME", name)):
            call()


def test_refused_arguments_of_get_shifted_rank(grid):
    with pytest.raises(TypeError, match=r"^displacement takes an integer, got 1.5 of type float"):
        grid.get_shifted_rank(0, 0, 1.5)
    with pytest.raises(ValueError, match=r"^displacement is 4294967296, expected a 32-bit integer"):
        grid.get_shifted_rank(0, 0, 2**32)
    with pytest.raises(TypeError, match=r"^periodic takes True or False, got 1 of type int"):
        grid.get_shifted_rank(0, 0, 1, 1)


def test_a_pencil_that_does_not_fit_the_interface(grid):
    with pytest.raises(InvalidUsageError):
        grid.get_pencil_info(0, (2**31 - 1, 0, 0))
