# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m codegen``: writes, checks or reports."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from pathlib import Path
from typing import Any

from . import CodegenError
from .annotations import DEFAULT_TABLE, load_annotations, version_tuple
from .emit import MODEL, generate
from .parser import parse_header
from .report import compare

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_HEADER = ROOT / "engine" / "include" / "cudecomp.h"
DEFAULT_OUT = ROOT / "cudecomp_bindings"


def main(arguments: list[str] | None = None) -> int:
    options = _parse_arguments(arguments)
    try:
        return _run(options)
    except CodegenError as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 2


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m codegen", description="Generates cudecomp_bindings from a header.")
    parser.add_argument("--header", type=Path, default=DEFAULT_HEADER, help="default: engine/include/cudecomp.h")
    parser.add_argument("--out", type=Path, help="folder of the generated package; default: cudecomp_bindings")
    parser.add_argument("--annotations", type=Path, default=DEFAULT_TABLE, help="default: codegen/annotations.toml")
    parser.add_argument("--check", action="store_true", help="write nothing; fail with a diff if files are out of date")
    parser.add_argument(
        "--report",
        action="store_true",
        help="write nothing; tell in words how the header differs from the checked-in bindings (or those in --out)",
    )
    options = parser.parse_args(arguments)
    if options.out is None:
        if options.header.resolve() != DEFAULT_HEADER and not (options.check or options.report):
            parser.error("--header with another header needs --out: the checked-in bindings are made from "
                         "engine/include/cudecomp.h")  # fmt: skip
        options.out = DEFAULT_OUT
    return options


def _run(options: argparse.Namespace) -> int:
    annotations = load_annotations(options.annotations)
    oldest = version_tuple(annotations.oldest) if annotations.oldest else None
    header = parse_header(options.header, oldest)
    for note in annotations.compare(header):
        print(f"note: {note}", file=sys.stderr)
    if options.report:
        print(compare(_read_model(options.out), header.summary()).text())
        return 0
    source, command = _provenance(options)
    files = generate(header, annotations, source, command)
    if options.check:
        return _check(files, options.out, command)
    if (options.out / MODEL).exists():
        report = compare(_read_model(options.out), header.summary())
        if report.changes:
            print(report.text())
    return _write(files, options.out)


def _read_model(out: Path) -> dict[str, Any]:
    path = out / MODEL
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CodegenError(f"cannot read the model to compare with, {path}: {error.strerror}") from None


def _provenance(options: argparse.Namespace) -> tuple[str, str]:
    """Header and command for the banner, free of this machine's paths."""
    header = options.header.resolve()
    if header == DEFAULT_HEADER and options.annotations.resolve() == DEFAULT_TABLE:
        return DEFAULT_HEADER.relative_to(ROOT).as_posix(), "python -m codegen"
    return header.name, f"python -m codegen --header {header.name} --out DIR"


def _write(files: dict[str, str], out: Path) -> int:
    changed = 0
    for name, text in files.items():
        path = out / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        changed += 1
    print(f"{out}: {len(files)} files, {changed} changed")
    return 0


def _check(files: dict[str, str], out: Path, command: str) -> int:
    stale = 0
    for name, text in files.items():
        path = out / name
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if found == text and path.exists():
            continue
        stale += 1
        sys.stdout.writelines(
            difflib.unified_diff(
                found.splitlines(True), text.splitlines(True), f"{name} (found)", f"{name} (generated)"
            )
        )
    if stale:
        print(f"codegen: {stale} of {len(files)} files in {out} are out of date; run: {command}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
