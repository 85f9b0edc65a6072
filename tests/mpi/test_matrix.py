# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The whole matrix, in readable portions. `python -m tests.matrix` runs parts of it without pytest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mpi4py import MPI

from tests import devices
from tests.matrix.cases import Case, cases
from tests.matrix.runner import Runner

SHOWN = 3


def portion(case: Case) -> str:
    """Operation and backend: what one thinks of first when something fails."""
    what = {
        "transpose": lambda: case["what"].partition("/")[0],
        "chain": lambda: case["place"],
        "halo": lambda: "-".join(case["where"].split("/")[:2]),
        "refused": lambda: case["where"].split("/")[0],
    }[case.kind]()
    return f"{case.kind}-{what}-{case['backend']}"


PORTIONS: dict[str, list[Case]] = {}
for _case in cases(MPI.COMM_WORLD.size):
    PORTIONS.setdefault(portion(_case), []).append(_case)


@pytest.fixture(scope="module")
def runner(world: MPI.Comm) -> Iterator[Runner]:
    runner = Runner(world, devices.Host())
    yield runner
    runner.close()


@pytest.mark.parametrize("name", sorted(PORTIONS))
def test_matrix(runner: Runner, name: str) -> None:
    wrong = [f"{case}\n{problem}" for case in PORTIONS[name] if (problem := runner.run(case))]
    assert not wrong, f"{len(wrong)} of {len(PORTIONS[name])} cases, the first:\n" + "\n".join(wrong[:SHOWN])
