# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing: in each repetition every participant runs once, and each time another one begins."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from mpi4py import MPI


class Participant(ABC):
    """Something to time. Its `name` says who, `layout` and `arrays` in which discipline; empty where there is none."""

    name: str
    layout: str = ""
    arrays: str = ""

    @abstractmethod
    def run(self) -> None:
        """What is timed; collective."""

    @abstractmethod
    def check(self) -> bool:
        """Runs once and tells whether this rank's result is right to the last element; collective."""

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Gives back what it holds; collective."""


@dataclass
class Timing:
    """The times of one participant, each the largest over the ranks, in seconds."""

    name: str
    layout: str
    arrays: str
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def minimum(self) -> float:
        return min(self.seconds)

    def as_dict(self) -> dict:
        return {**asdict(self), "median": self.median, "minimum": self.minimum}


def checked(comm: MPI.Comm, participants: Sequence[Participant], complain: Callable[[str], None]) -> list[Participant]:
    """Those whose result is right on all ranks; the others are told and closed."""
    good = []
    for participant in participants:
        wrong = np.flatnonzero([not right for right in comm.allgather(participant.check())])
        if wrong.size:
            label = " ".join(filter(None, (participant.name, participant.layout, participant.arrays)))
            complain(f"{label}: WRONG RESULT on ranks {', '.join(map(str, wrong))}; left out")
            participant.close()
        else:
            good.append(participant)
    return good


def interleaved(comm: MPI.Comm, participants: Sequence[Participant], repeats: int, warmups: int = 1) -> list[Timing]:
    """Times all participants; the result is the same on all ranks."""
    own = np.empty((repeats, len(participants)))
    for repeat in range(-warmups, repeats):
        for turn in range(len(participants)):
            which = (turn + repeat) % len(participants)
            elapsed = _once(comm, participants[which].run)
            if repeat >= 0:
                own[repeat, which] = elapsed
    slowest = np.empty_like(own)
    comm.Allreduce(own, slowest, op=MPI.MAX)
    return [
        Timing(participant.name, participant.layout, participant.arrays, slowest[:, index].tolist())
        for index, participant in enumerate(participants)
    ]


def _once(comm: MPI.Comm, run: Callable[[], None]) -> float:
    comm.Barrier()
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
