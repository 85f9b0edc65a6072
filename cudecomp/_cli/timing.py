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
    """Seconds of each repetition: from the first rank's begin to the last rank's end, or the largest over the ranks
    where these run on several machines, whose clocks differ.
    """

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

    begins, ends = np.empty((2, repeat, len(calls)))
    for repetition in range(-warmup, repeat):
        for turn in range(len(calls)):
            which = (turn + repetition) % len(calls)
            synchronize()
            comm.Barrier()
            begin = time.perf_counter()
            calls[which]()
            synchronize()
            if repetition >= 0:
                begins[repetition, which], ends[repetition, which] = begin, time.perf_counter()
    if on_one_machine(comm):
        # Where ranks share cores, one begins when another is done, and each by itself would seem fast.
        comm.Allreduce(MPI.IN_PLACE, begins, op=MPI.MIN)
    seconds = ends - begins
    comm.Allreduce(MPI.IN_PLACE, seconds, op=MPI.MAX)
    return [Timing(tuple(seconds[:, which].tolist())) for which in range(len(calls))]


def on_one_machine(comm: "MPI.Intracomm") -> bool:
    """Whether all ranks of `comm` read the same clock. Collective over `comm`."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    alone = node.size == comm.size
    node.Free()
    return alone
