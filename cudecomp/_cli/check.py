# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Runs every operation on the ranks of the launcher, compares every cell, and tells what is wrong, in plain words."""

import argparse
import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cudecomp._cli import arguments, facts
from cudecomp._cli.arrays import Arrays, choose
from cudecomp._cli.facts import Facts
from cudecomp._cli.findings import Finding, diagnose
from cudecomp._cli.launch import DONE, WRONG, Watchdog, run_alone, run_on_all_ranks
from cudecomp._cli.selftest import Outcome, SelfTest
from cudecomp._cli.tables import Printer, Table
from cudecomp._config import GridDescConfig
from cudecomp._core import Handle

if TYPE_CHECKING:
    from mpi4py import MPI

HELP = "whether everything works here, and if not, why"

STYLES = {"error": "bad", "warning": "doubtful", "note": "quiet"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument(
        "--timeout",
        type=arguments.seconds,
        default=120.0,
        metavar="SECONDS",
        help="end all ranks if a group of operations takes longer (default: 120)",
    )


def run(options: argparse.Namespace) -> int:
    mine = facts.gather(None)
    if mine.mpi_error is not None:
        return run_alone(lambda printer: report(printer, options.json, [mine], [], diagnose([mine])))
    return run_on_all_ranks(lambda comm, printer: check(comm, printer, options.json, options.timeout))


def check(comm: "MPI.Intracomm", printer: Printer, as_json: bool = False, timeout: float = 120.0) -> int:
    """Checks the installation and the operations; the exit code. Collective over `comm`."""
    watchdog = Watchdog(comm, timeout)
    watchdog.step("gathering facts")
    mine = facts.gather(comm)
    everyone = comm.allgather(mine)
    outcomes: list[Outcome] = []
    # Everyone sees the same findings, so all go on or none does.
    if not any(finding.level == "error" for finding in diagnose(everyone) if not _is_about_launcher(finding, everyone)):
        arrays = choose(comm)
        with Handle(comm) as handle:
            everyone = comm.allgather(dataclasses.replace(mine, neighbours=neighbours(handle, arrays)))
            outcomes = self_test(handle, arrays, watchdog)
    watchdog.stop()
    return report(printer, as_json, everyone, outcomes, diagnose(everyone))


def _is_about_launcher(finding: Finding, everyone: Sequence[Facts]) -> bool:
    """Processes that do not know of each other can still try the operations, each by itself."""
    return len(everyone) == 1 and "is rank 0 of 1" in finding.what


def neighbours(handle: Handle, arrays: Arrays) -> int | None:
    """How many ranks share memory with this one. Collective over the ranks of the handle."""
    config = GridDescConfig(gdims=(handle.nranks,) * 3, pdims=(1, handle.nranks))
    config.transpose_comm_backend, config.halo_comm_backend = arrays.backends()
    with handle.create_grid(config) as row:
        return facts.reached_through_memory(row.describe())


def self_test(handle: Handle, arrays: Arrays, watchdog: Watchdog) -> list[Outcome]:
    """All operations. Collective over the ranks of the handle."""
    test = SelfTest(handle, arrays, watchdog)
    outcomes = list(test.run())
    test.close()
    return outcomes


def report(
    printer: Printer, as_json: bool, everyone: Sequence[Facts], outcomes: Sequence[Outcome], findings: Sequence[Finding]
) -> int:
    """Prints what was found, and returns the exit code."""
    wrong = any(finding.level == "error" for finding in findings) or any(outcome.problem for outcome in outcomes)
    if as_json:
        printer.line(json.dumps(as_document(everyone, outcomes, findings, wrong), indent=2))
        return WRONG if wrong else DONE
    for line in summary(everyone):
        printer.line(line)
    if outcomes:
        printer.line()
        printer.table(table_of(outcomes))
    for finding in findings:
        printer.line()
        printer.line(finding_text(finding), STYLES[finding.level])
    printer.line()
    printer.line(verdict(outcomes, findings), "bad" if wrong else "good")
    return WRONG if wrong else DONE


def summary(everyone: Sequence[Facts]) -> list[str]:
    """Who takes part, in lines."""
    first, ranks, hosts = everyone[0], len(everyone), list(dict.fromkeys(facts.host for facts in everyone))
    library = {"builtin": "the built-in engine", "nvidia": "NVIDIA's library"}.get(first.library or "", "no library")
    shown = ", ".join(hosts[:4]) + (f" and {len(hosts) - 4} more" if len(hosts) > 4 else "")
    return [
        f"cudecomp {first.version} with {library}, {first.mpi or 'no MPI'}, Python {first.python}",
        f"{_counted(ranks, 'rank')} on {_counted(len(hosts), 'node')}: {shown}",
    ]


def table_of(outcomes: Sequence[Outcome]) -> Table:
    rows = [(outcome.what, outcome.where, str(outcome.calls), _result(outcome)) for outcome in outcomes]
    order = [0, 1, 3, 2]  # figures last
    head = ("operation", "process grid, memory order", "calls", "result")
    return Table(
        [head[column] for column in order],
        [[row[column] for column in order] for row in rows],
        text_columns=3,
        styles=["bad" if outcome.problem else "quiet" if outcome.skipped else "" for outcome in outcomes],
    )


def _result(outcome: Outcome) -> str:
    if outcome.problem:
        return f"WRONG: {outcome.problem}"
    return f"not available: {outcome.skipped}" if outcome.skipped else "right"


def finding_text(finding: Finding) -> str:
    return f"{finding.level}: {finding.what}\n  matters because: {finding.why}\n  remedy: {finding.remedy}"


def verdict(outcomes: Sequence[Outcome], findings: Sequence[Finding]) -> str:
    """The last line."""
    wrong = [outcome for outcome in outcomes if outcome.problem]
    errors = [finding for finding in findings if finding.level == "error"]
    if wrong or errors:
        parts = [_counted(len(errors), "error") + " in the installation"] if errors else []
        parts += [f"{len(wrong)} of {len(outcomes)} groups of operations are wrong"] if wrong else []
        parts += [] if outcomes else ["no operation was tried"]
        return f"NOT WELL: {', '.join(parts)}"
    calls = sum(outcome.calls for outcome in outcomes)
    warnings = sum(finding.level == "warning" for finding in findings)
    return f"all is well: {calls} calls, every cell right" + (f"; {_counted(warnings, 'warning')}" if warnings else "")


def as_document(
    everyone: Sequence[Facts], outcomes: Sequence[Outcome], findings: Sequence[Finding], wrong: bool
) -> dict[str, Any]:
    return {
        "well": not wrong,
        "ranks": [dataclasses.asdict(facts) for facts in everyone],
        "operations": [dataclasses.asdict(outcome) for outcome in outcomes],
        "findings": [dataclasses.asdict(finding) for finding in findings],
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
