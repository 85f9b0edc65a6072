# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing: in each repetition every participant runs once, and each time another one begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from mpi4py import MPI

from cudecomp._cli import timing


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


@dataclass(frozen=True)
class Timing(timing.Timing):
    """The times of one participant."""

    name: str
    layout: str
    arrays: str

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
    timings = timing.in_turns(comm, [participant.run for participant in participants], lambda: None, repeats, warmups)
    return [
        Timing(taken.seconds, participant.name, participant.layout, participant.arrays)
        for taken, participant in zip(timings, participants, strict=True)
    ]
