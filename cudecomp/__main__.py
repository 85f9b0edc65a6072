# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Command line: ``python -m cudecomp info [--json]`` tells which library is used, where it is and what it supports."""

import argparse
import json
import sys
from collections.abc import Sequence

from cudecomp import _info


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 1 if no library can be used."""
    parser = argparse.ArgumentParser(prog="python -m cudecomp", description="Tells about this installation.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="which library is used, where it is, its version and what it supports")
    info.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    options = parser.parse_args(arguments)

    found = _info.collect()
    print(json.dumps(found, indent=2) if options.json else _info.as_text(found))
    return 0 if found["error"] is None else 1


if __name__ == "__main__":
    sys.exit(main())
