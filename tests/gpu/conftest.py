# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Tests of GPU arrays: mpirun -n 2 python -m pytest tests/gpu --device gpu

Without a GPU the tests of one skip, and `--device fake` runs the others over a driver and a library that only look like
NVIDIA's (tests.fakegpu). One process has either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mpi4py import MPI

from tests import devices
from tests.mpi.conftest import *  # noqa: F403
from tests.mpi.conftest import pytest_addoption as add_options_of_mpi_tests


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options_of_mpi_tests(parser)
    parser.addoption("--device", default="gpu", choices=["gpu", "fake"], help="what runs the tests (default: gpu)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--device")
    reason = devices.why_no_gpu() if chosen == "gpu" else ""
    for item in items:
        wanted = next((name for name in ("gpu", "fake") if item.get_closest_marker(f"only_{name}")), chosen)
        if wanted != chosen:
            item.add_marker(pytest.mark.skip(f"needs --device {wanted}"))
        elif reason:
            item.add_marker(pytest.mark.skip(f"no GPU to test on: {reason}"))


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Any:
    return devices.make(pytestconfig.getoption("--device"), MPI.COMM_WORLD.rank)


@pytest.fixture
def gpu(device: Any) -> Iterator[Any]:
    """The fake GPU, in its initial state before and after."""
    gpu = device.gpu
    gpu.events(), gpu.calls()
    yield gpu
    gpu.cuda.fake_set_current(0)
    gpu.cuda.fake_set_captured(0)
    gpu.cuda.fake_share_gpu(0)
    gpu.cuda.fake_fail_identity(0)
    gpu.cuda.fake_fail_synchronize(0)
    gpu.library.fake_fail_allocations(0)
    gpu.library.fake_fail_frees(0)
    gpu.library.fake_fail_operations(0)


@pytest.fixture
def handle(device: Any, comm: MPI.Comm) -> Iterator[Any]:
    import cudecomp

    device.use()
    with cudecomp.Handle(comm) as handle:
        yield handle


@pytest.fixture
def make_grid(handle: Any) -> Iterator[Any]:
    """Makes grids on NCCL that are destroyed at the end of the test."""
    import cudecomp

    made = []

    def make(**fields: Any) -> cudecomp.GridDesc:
        defaults = {
            "gdims": (8, 12, 10),
            "pdims": (1, handle.nranks),
            "transpose_comm_backend": cudecomp.TransposeCommBackend.NCCL,
            "halo_comm_backend": cudecomp.HaloCommBackend.NCCL,
            "transpose_axis_contiguous": (True, True, True),
        }
        made.append(handle.create_grid(cudecomp.GridDescConfig(**{**defaults, **fields})))
        return made[-1]

    yield make
    for grid in made:
        grid.destroy()


@pytest.fixture
def grid(make_grid: Any) -> Any:
    return make_grid()
