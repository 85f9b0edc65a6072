# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Clocks for things that all ranks do together: in turns, so that what disturbs the machine disturbs all alike."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Timing:
    """Seconds of each repetition, each the largest over the ranks."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def minimum(self) -> float:
        return min(self.seconds)


def in_turns(
    comm: "MPI.Intracomm",
    calls: Sequence[Callable[[], object]],
    synchronize: Callable[[], None],
    repeat: int,
    warmup: int,
) -> list[Timing]:
    """Times all calls, the same result on all ranks. Collective over `comm`.

    Args:
        comm: Ranks that begin each call together.
        calls: What is timed; in each repetition every call is made once, and each time another one is the first.
        synchronize: Waits for what a call has only enqueued.
        repeat: Repetitions that count.
        warmup: Repetitions before them.
    """
    from mpi4py import MPI

    own = np.empty((repeat, len(calls)))
    for repetition in range(-warmup, repeat):
        for turn in range(len(calls)):
            which = (turn + repetition) % len(calls)
            synchronize()
            comm.Barrier()
            start = time.perf_counter()
            calls[which]()
            synchronize()
            if repetition >= 0:
                own[repetition, which] = time.perf_counter() - start
    slowest = np.empty_like(own)
    comm.Allreduce(own, slowest, op=MPI.MAX)
    return [Timing(tuple(slowest[:, which].tolist())) for which in range(len(calls))]
