# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The command line, ``python -m cudecomp COMMAND``: one module for each command.

Starting it, and ``--help``, neither starts MPI nor loads a library. Exit codes: 0, all is well; 1, something is wrong
with the installation, a result or the machine; 2, the command line is wrong.
"""

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import IO, NoReturn

from cudecomp._cli import autotune, bench, check, info, plot
from cudecomp._cli.launch import WRONG, drop_output, let_first_speak
from cudecomp._cli.launchers import is_first_process
from cudecomp._version import __version__

COMMANDS: dict[str, ModuleType] = {
    "info": info,
    "check": check,
    "autotune": autotune,
    "bench": bench,
    "plot-decomposition": plot,
}


class Parser(argparse.ArgumentParser):
    """Speaks on one rank alone: help and complaints are the same on all of them."""

    def _print_message(self, message: str, file: IO[str] | None = None) -> None:  # type: ignore[override]
        if is_first_process():
            super()._print_message(message, file)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        if message:
            self._print_message(message, sys.stderr)
        if status:
            let_first_speak()
        sys.exit(status)


def make_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="python -m cudecomp",
        description="Pencil decompositions of 3-D grids over MPI: what is installed, whether it works, how fast it is.",
        epilog="check, autotune and bench run on all ranks of a launcher: mpirun -n 4 python -m cudecomp check",
    )
    parser.add_argument("--version", action="version", version=f"cudecomp {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in COMMANDS.items():
        summary = module.__doc__.partition("\n")[0]  # type: ignore[union-attr]
        command = commands.add_parser(name, help=module.HELP, description=summary)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = make_parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        if sys.stdout is not None:  # closed by who has started this
            sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return WRONG
    return code
