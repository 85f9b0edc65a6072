# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The matrix as data: the factors of each kind of case and their levels.

A case has one level of each factor and is named by them. `cases` picks cases such that every pair of levels of any two
factors meets at least once; factors whose levels must all meet in threes or more are multiplied out here (`product`).
"""

from __future__ import annotations

from tests.parallel import COMMUNICATORS, communicator_size
from tests.reference import PERMUTATIONS, TRANSPOSES, ZERO, factorisations

GRIDS = {
    "9x10x11": (9, 10, 11),
    "8x8x8": (8, 8, 8),
    "7x5x13": (7, 5, 13),
    "12x1x5": (12, 1, 5),  # empty pencils wherever Y is split
    "4x4x4": (4, 4, 4),
    "2x3x2": (2, 3, 2),  # whole orientations without points on 4 ranks and more
}
#: Used where the others are too small.
LARGE_GRIDS = {"24x25x26": (24, 25, 26)}


def even(gdims: tuple[int, ...]) -> tuple[int, ...]:
    return ZERO


def one_less(gdims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(1, n - 1) for n in gdims)


def two_thirds(gdims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(-(-2 * n // 3) for n in gdims)


#: gdims_dist from gdims.
DISTRIBUTIONS = {"none": even, "one-less": one_less, "two-thirds": two_thirds}


def letters(order: tuple[int, ...]) -> str:
    """(1, 0, 2) as "yxz"."""
    return "".join("xyz"[d] for d in order)


ORDERS = {letters(order): order for order in PERMUTATIONS}
ORDER_PAIRS = {f"{a}>{b}": (ORDERS[a], ORDERS[b]) for a in ORDERS for b in ORDERS}

#: Extents of the input and of the output.
HALO_PAIRS = {
    "0": (ZERO, ZERO),
    "111>111": ((1, 1, 1), (1, 1, 1)),
    "121>211": ((1, 2, 1), (2, 1, 1)),
    "111>0": ((1, 1, 1), ZERO),
    "0>121": (ZERO, (1, 2, 1)),
}
PADDING_PAIRS = {
    "0": (ZERO, ZERO),
    "112>211": ((1, 1, 2), (2, 1, 1)),
    "112>0": ((1, 1, 2), ZERO),
    "0>003": (ZERO, (0, 0, 3)),
}

#: Halos of updates. "deepest" is the smallest local extent along each updated dim; others are cut down to that.
HALOS = {
    "0": ZERO,
    "111": (1, 1, 1),
    "121": (1, 2, 1),
    "211": (2, 1, 1),
    "100": (1, 0, 0),
    "020": (0, 2, 0),
    "003": (0, 0, 3),
    "deepest": None,
}
PADDINGS = {"0": ZERO, "112": (1, 1, 2), "211": (2, 1, 1), "030": (0, 3, 0)}
DIMS = {"x": 0, "y": 1, "z": 2, "all": None}
PERIODS = {
    "".join("xyz"[d] if periodic[d] else "-" for d in range(3)): periodic
    for periodic in [(x, y, z) for x in (False, True) for y in (False, True) for z in (False, True)]
}

#: Rank orders: member of RankOrder, CUDECOMP_USE_COL_MAJOR_RANK_ORDER, and whether that is column-major.
RANK_ORDERS = {
    "default": ("DEFAULT", None, False),
    "row": ("ROW_MAJOR", None, False),
    "col": ("COL_MAJOR", None, True),
    "env-col": ("DEFAULT", "1", True),
}

#: dtype: member of DataType.
DTYPES = {"float32": "FLOAT", "float64": "DOUBLE", "complex64": "FLOAT_COMPLEX", "complex128": "DOUBLE_COMPLEX"}

#: How ranks reach each other: CUDECOMP_BUILTIN_RANKS_PER_NODE, CUDECOMP_BUILTIN_MAX_MESSAGE_ELEMENTS.
REACHES = {
    "node": (None, None),  # all through shared memory
    "mpi": ("1", None),  # all through MPI
    "mpi-by-7": ("1", "7"),  # messages in pieces
    "twos": ("2", None),  # nodes of two ranks: both ways at once
    "twos-by-7": ("2", "7"),
}

#: Where input and output live: in the test's own guarded memory, or in arrays that the library makes (GridDesc.empty).
MEMORY_PAIRS = {
    "own": ("own", "own"),
    "library": ("library", "library"),
    "library>own": ("library", "own"),
    "own>library": ("own", "library"),
}

#: Backends of transposes and of halo updates by device. On a GPU MPI's are not there: not every MPI takes its memory.
BACKENDS = {
    "host": (("MPI_P2P", "MPI_P2P_PL", "MPI_A2A"), ("MPI", "MPI_BLOCKING")),
    "gpu": (("NCCL", "NCCL_PL"), ("NCCL",)),
    "fake": (("NCCL", "MPI_P2P", "NVSHMEM_SM"), ("NCCL", "MPI", "NVSHMEM")),
}


def product(**factors: object) -> list[str]:
    """Levels of one factor that stands for several: all combinations, joined by "/"."""
    names = [""]
    for levels in factors.values():
        names = [f"{name}/{level}" if name else str(level) for name in names for level in levels]
    return names


def ranks(nranks: int) -> list[str]:
    """Communicators with all their process grids, such as "subset:1x3"."""
    levels = []
    for kind in COMMUNICATORS:
        size = communicator_size(kind, nranks)
        if size > 0:
            levels += [f"{kind}:{rows}x{cols}" for rows, cols in factorisations(size)]
    return levels


def reaches(nranks: int) -> list[str]:
    if nranks == 1:
        return ["node"]
    return list(REACHES) if nranks > 2 else ["node", "mpi", "mpi-by-7"]


def full_grids(nranks: int) -> list[str]:
    """Grids in which all ranks have points, however they are distributed: NVIDIA's library does nothing elsewhere."""
    full = [name for name, gdims in GRIDS.items() if min(gdims) >= 2 * nranks]
    return full or ["24x25x26"]


def table(nranks: int, device: str = "host") -> dict[str, dict[str, list[str]]]:
    """Kind of case: factor: levels, for a job of `nranks` on a kind of device (tests.devices)."""
    transpose_backends, halo_backends = BACKENDS[device]
    on_host = device == "host"
    places = ["out", "in"] if device == "fake" else ["out", "in", "new"]
    everywhere = {
        "ranks": ranks(nranks),
        "grid": list(GRIDS) if on_host else full_grids(nranks),
        "dist": list(DISTRIBUTIONS),
        "rank_order": list(RANK_ORDERS),
        "reach": reaches(nranks) if on_host else ["node"],
    }
    return {
        # one transpose
        "transpose": {
            "what": product(op=TRANSPOSES, order=["default", "contiguous", *ORDER_PAIRS]),
            **everywhere,
            "halo": list(HALO_PAIRS),
            "padding": list(PADDING_PAIRS),
            "place": places,
            "memory": list(MEMORY_PAIRS) if on_host else ["own"],
            "dtype": list(DTYPES),
            "backend": list(transpose_backends),
        },
        # X to Y to Z to Y to X, back where it was
        "chain": {
            **everywhere,
            "order": ["default", "contiguous", "xyz>zyx", "zyx>yxz", "yzx>zxy"],
            "place": places,
            "dtype": list(DTYPES),
            "backend": list(transpose_backends),
        },
        # one halo update
        "halo": {
            "where": product(axis=["x", "y", "z"], dim=DIMS, periods=PERIODS),
            **everywhere,
            "order": ["default", "contiguous", *ORDERS],
            "halo": list(HALOS),
            "padding": list(PADDINGS),
            "memory": ["own", "library"] if on_host else ["own"],
            "dtype": list(DTYPES),
            "backend": list(halo_backends),
        },
        # a halo update that is one layer too deep
        "refused": {
            "where": product(axis=["x", "y", "z"], dim=DIMS),
            **everywhere,
            "order": ["default", "contiguous"],
            "padding": list(PADDINGS),
            "dtype": list(DTYPES),
            "backend": list(halo_backends),
        },
    }
