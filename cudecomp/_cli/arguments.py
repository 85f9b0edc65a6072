# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments that several commands share, and what is made from them."""

import argparse
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from cudecomp._cli.arrays import Arrays
from cudecomp._config import GridDescConfig
from cudecomp._enums import DataType, HaloCommBackend, RankOrder, TransposeCommBackend

#: Element types by the names that NumPy gives them.
DTYPES = {
    "float32": DataType.FLOAT,
    "float64": DataType.DOUBLE,
    "complex64": DataType.FLOAT_COMPLEX,
    "complex128": DataType.DOUBLE_COMPLEX,
}
RANK_ORDERS = {"default": RankOrder.DEFAULT, "row": RankOrder.ROW_MAJOR, "col": RankOrder.COL_MAJOR}
AXES = "xyz"
PICTURES = (".png", ".svg", ".pdf")


def positive(text: str) -> int:
    """An integer of at least 1."""
    return _at_least(text, 1)


def natural(text: str) -> int:
    """An integer of at least 0."""
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no integer") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{value} is less than {least}")
    return value


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number of seconds")
    return value


def memory_order(text: str) -> tuple[int, ...]:
    """Three axes, fastest first, such as ``yzx``."""
    if sorted(text.lower()) != list(AXES):
        raise argparse.ArgumentTypeError(f"{text!r} is no order of the axes, expected for example yzx, fastest first")
    return tuple(AXES.index(axis) for axis in text.lower())


def picture(text: str) -> Path:
    """A file that a picture can be written to."""
    path = Path(text)
    if path.suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES)}")
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is in a folder that does not exist")
    return path


def new_file(text: str) -> Path:
    """A file that can be written."""
    path = Path(text)
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is in a folder that does not exist")
    return path


class _Member:
    """The type of an argument that names a member of an enumeration, in either case."""

    def __init__(self, kind: type[IntEnum]) -> None:
        self._kind = kind

    def __call__(self, text: str) -> IntEnum:
        try:
            return self._kind[text.upper()]
        except KeyError:
            known = ", ".join(self._kind.__members__)
            raise argparse.ArgumentTypeError(f"{text!r} is none of {known}") from None


transpose_backend = _Member(TransposeCommBackend)
halo_backend = _Member(HaloCommBackend)


def add_grid(parser: Any, pdims_help: str, pdims_required: bool = False) -> None:
    """What describes a decomposition, apart from its backends."""
    group = parser.add_argument_group("decomposition")
    group.add_argument(
        "--grid", nargs=3, type=positive, required=True, metavar=("X", "Y", "Z"), help="points of the global grid"
    )
    group.add_argument(
        "--pdims", nargs=2, type=positive, required=pdims_required, metavar=("ROWS", "COLS"), help=pdims_help
    )
    group.add_argument(
        "--grid-dist",
        nargs=3,
        type=positive,
        metavar=("X", "Y", "Z"),
        help="points to compute the split on (default: those of the grid)",
    )
    group.add_argument(
        "--rank-order",
        choices=RANK_ORDERS,
        default="default",
        help="whether ranks are numbered along rows (row) or along columns (col) of the process grid",
    )
    group.add_argument(
        "--axis-contiguous",
        nargs="*",
        choices=AXES,
        metavar="AXIS",
        help="pencils whose own axis is the fastest in memory: some of x y z, all if none are named",
    )
    group.add_argument(
        "--memory-order",
        nargs=3,
        type=memory_order,
        metavar=("OF_X", "OF_Y", "OF_Z"),
        help="memory orders of X-, Y- and Z-pencils, fastest axis first, for example xyz yzx zxy",
    )


def config_of(options: argparse.Namespace) -> GridDescConfig:
    """The configuration that the arguments of `add_grid` describe, with default backends."""
    config = GridDescConfig(gdims=options.grid, rank_order=RANK_ORDERS[options.rank_order])
    if options.pdims:
        config.pdims = options.pdims
    if options.grid_dist:
        config.gdims_dist = options.grid_dist
    if options.axis_contiguous is not None:
        config.transpose_axis_contiguous = axes_flags(options.axis_contiguous or AXES)
    if options.memory_order:
        config.transpose_mem_order = options.memory_order
    return config


def set_backends(config: GridDescConfig, options: argparse.Namespace, arrays: Arrays) -> None:
    """Those of --transpose-backend and --halo-backend, or what suits the arrays."""
    transposes, halos = arrays.backends()
    config.transpose_comm_backend = transposes if options.transpose_backend is None else options.transpose_backend
    config.halo_comm_backend = halos if options.halo_backend is None else options.halo_backend


def axes_flags(axes: Sequence[str]) -> tuple[bool, bool, bool]:
    """For X, Y and Z whether they are among the axes."""
    return "x" in axes, "y" in axes, "z" in axes


def add_dtype(parser: Any) -> None:
    parser.add_argument("--dtype", choices=DTYPES, default="float64", help="element type (default: float64)")
