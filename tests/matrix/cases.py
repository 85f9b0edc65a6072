# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""From the table to cases: pairwise expansion, names, filters."""

from __future__ import annotations

import fnmatch
import random
from dataclasses import dataclass

from tests.matrix.table import table


@dataclass(frozen=True)
class Case:
    """One level of each factor of one kind."""

    kind: str
    levels: dict[str, str]

    def __getitem__(self, factor: str) -> str:
        return self.levels[factor]

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(f"{factor}={level}" for factor, level in self.levels.items())

    def matches(self, terms: list[str]) -> bool:
        """Whether all terms hold; a term is a kind or "factor=level", with wildcards and "|" between alternatives."""
        return all(self._matches(term) for term in terms)

    def _matches(self, term: str) -> bool:
        factor, equals, levels = term.partition("=")
        if not equals:
            return any(fnmatch.fnmatchcase(self.kind, kind) for kind in factor.split("|"))
        return factor in self.levels and any(
            fnmatch.fnmatchcase(self.levels[factor], level) for level in levels.split("|")
        )


def parse(name: str) -> Case:
    """The case of a printed name. Levels are looked up when it runs, so any combination can be asked for."""
    kind, *terms = name.split()
    levels = dict(term.split("=", 1) for term in terms)
    factors = table(1)
    if kind not in factors or list(levels) != list(factors[kind]):
        raise ValueError(f"not a case: {name!r}; expected a line as printed by --list")
    return Case(kind, levels)


def cases(nranks: int, seed: int = 0, device: str = "host") -> list[Case]:
    """The cases for a job of `nranks` on a kind of device. The seed decides which of many equally good sets it is."""
    result = []
    for kind, factors in table(nranks, device).items():
        result += [Case(kind, levels) for levels in pairwise(factors, random.Random(f"{kind} {nranks} {seed}"))]
    return result


def select(
    nranks: int, seed: int = 0, filter_terms: str = "", max_cases: int | None = None, device: str = "host"
) -> list[Case]:
    """Cases that match a filter; a random sample in table order if there are more than `max_cases`."""
    terms = filter_terms.split()
    known = {factor for factors in table(nranks, device).values() for factor in factors}
    for term in terms:
        factor, equals, _ = term.partition("=")
        if equals and factor not in known:
            raise ValueError(f"unknown factor {factor!r} in the filter; expected one of {', '.join(sorted(known))}")
    chosen = [case for case in cases(nranks, seed, device) if case.matches(terms)]
    if max_cases is not None and len(chosen) > max_cases:
        kept = set(random.Random(seed).sample(range(len(chosen)), max_cases))
        chosen = [case for index, case in enumerate(chosen) if index in kept]
    return chosen


def pairwise(factors: dict[str, list[str]], rng: random.Random) -> list[dict[str, str]]:
    """Rows such that any two levels of different factors meet in one of them.

    Greedy: each row starts from a pair that has not met yet, and is completed factor by factor with the level that
    meets the most new partners, ties decided by chance.
    """
    names = list(factors)
    open_pairs = {
        (a, x, b, y): None  # a dict, because its order is the same in every process
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        for x in factors[a]
        for y in factors[b]
    }
    place = {name: i for i, name in enumerate(names)}

    def pair(a: str, x: str, b: str, y: str) -> tuple[str, str, str, str]:
        return (a, x, b, y) if place[a] < place[b] else (b, y, a, x)

    rows = []
    while open_pairs:
        a, x, b, y = next(iter(open_pairs))
        row = {a: x, b: y}
        others = [name for name in names if name not in row]
        rng.shuffle(others)
        for name in sorted(others, key=lambda name: -len(factors[name])):
            gains = [
                sum(pair(name, level, other, row[other]) in open_pairs for other in row) for level in factors[name]
            ]
            best = max(gains)
            row[name] = rng.choice([level for level, gain in zip(factors[name], gains, strict=True) if gain == best])
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                open_pairs.pop((a, row[a], b, row[b]), None)
        rows.append({name: row[name] for name in names})
    return rows
