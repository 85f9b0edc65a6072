# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How two binary interfaces differ, in words, and what the handwritten layers must learn from it.

Both sides are what :meth:`codegen.model.Header.summary` returns, which is also what model.json holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Summary = dict[str, Any]


@dataclass
class Report:
    """Differences, and the work they make; both empty for equal interfaces."""

    changes: list[str] = field(default_factory=list)
    lessons: list[str] = field(default_factory=list)

    def note(self, change: str, lesson: str = "") -> None:
        self.changes.append(change)
        if lesson and lesson not in self.lessons:
            self.lessons.append(lesson)

    def text(self) -> str:
        if not self.changes:
            return "The interfaces are the same."
        lines = ["Differences:", *(f"  - {change}" for change in self.changes)]
        if self.lessons:
            lines += ["What the handwritten code must learn:", *(f"  - {lesson}" for lesson in self.lessons)]
        return "\n".join(lines)


def compare(old: Summary, new: Summary) -> Report:
    """Tells what changed from ``old`` to ``new``."""
    report = Report()
    if old["version"] != new["version"]:
        report.note(f"version: {old['version']} → {new['version']}")
    _values(report, "constant", old["constants"], new["constants"])
    _enums(report, old["enums"], new["enums"])
    _names(report, "handle type", old["handles"], new["handles"])
    _structs(report, old["structs"], new["structs"])
    _functions(report, old["functions"], new["functions"])
    return report


def _values(report: Report, what: str, old: dict[str, int], new: dict[str, int]) -> None:
    for name in _added(old, new):
        report.note(f"{what} {name} = {new[name]} is new")
    for name in _added(new, old):
        report.note(f"{what} {name} is gone", f"uses of {name}")
    for name in _common(old, new):
        if old[name] != new[name]:
            report.note(f"{what} {name}: {old[name]} → {new[name]}", f"anything that relies on the value of {name}")


def _names(report: Report, what: str, old: list[str], new: list[str]) -> None:
    for name in _added(old, new):
        report.note(f"{what} {name} is new", f"{name}: who owns it and who frees it")
    for name in _added(new, old):
        report.note(f"{what} {name} is gone", f"uses of {name}")


def _enums(report: Report, old: Summary, new: Summary) -> None:
    for name in _added(old, new):
        report.note(f"enum {name} is new: {', '.join(new[name])}", f"enum {name}: export it from cudecomp")
    for name in _added(new, old):
        report.note(f"enum {name} is gone", f"uses of enum {name}")
    for name in _common(old, new):
        before = len(report.changes)
        _values(report, f"enum {name}:", old[name], new[name])
        if any(change.endswith("is new") for change in report.changes[before:]):
            report.lessons.append(
                f"enum {name}: new members appear in Python by themselves; decide what checks and tests do with them"
            )


def _structs(report: Report, old: Summary, new: Summary) -> None:
    for name in _added(old, new):
        report.note(
            f"struct {name} is new, {new[name]['size']} bytes", f"struct {name}: a class for users, if they see it"
        )
    for name in _added(new, old):
        report.note(f"struct {name} is gone", f"uses of struct {name}")
    for name in _common(old, new):
        _struct(report, name, old[name], new[name])


def _struct(report: Report, name: str, old: Summary, new: Summary) -> None:
    before = len(report.changes)
    fields, more = old["fields"], new["fields"]
    for field_name in _added(fields, more):
        row = more[field_name]
        report.note(
            f"struct {name}: field {row['type']} {field_name} is new, at {row['offset']}",
            f"{name}.{field_name}: its default, its check, its documentation",
        )
    for field_name in _added(more, fields):
        renamed = [other for other in _added(fields, more) if more[other] == fields[field_name]]
        report.note(
            f"struct {name}: field {field_name} is gone" + (f", perhaps renamed to {renamed[0]}" if renamed else ""),
            f"uses of {name}.{field_name}",
        )
    for field_name in _common(fields, more):
        was, now = fields[field_name], more[field_name]
        if was["type"] != now["type"]:
            report.note(
                f"struct {name}: field {field_name}: {was['type']} → {now['type']}",
                f"{name}.{field_name}: checks and documentation of its type and length",
            )
    moved = [
        f"{field_name} {fields[field_name]['offset']} → {more[field_name]['offset']}"
        for field_name in _common(fields, more)
        if fields[field_name]["offset"] != more[field_name]["offset"]
    ]
    if moved:
        report.note(f"struct {name}: fields moved: {', '.join(moved)}")
    if old["size"] != new["size"]:
        report.note(f"struct {name}: size {old['size']} → {new['size']}")
    if len(report.changes) > before:
        report.lessons.append(
            f"struct {name} has another layout: [[layouts]] of the annotation table must tell libraries of the two "
            "apart, unless the struct carries its version"
        )


def _functions(report: Report, old: Summary, new: Summary) -> None:
    for name in _added(old, new):
        wrapper = f", a wrapper of {new[name]['calls'].split('(')[0]}" if new[name]["calls"] else ""
        report.note(
            f"function {name}({_parameters(new[name])}) is new{wrapper}",
            f"function {name}: a row in the annotation table, and a caller in cudecomp or the decision to do without",
        )
    for name in _added(new, old):
        renamed = [other for other in _added(old, new) if new[other] == old[name]]
        report.note(
            f"function {name} is gone" + (f", perhaps renamed to {renamed[0]}" if renamed else ""),
            f"calls of {name}; in the annotation table its new name as the key, or `until`",
        )
    for name in _common(old, new):
        _function(report, name, old[name], new[name])


def _function(report: Report, name: str, old: Summary, new: Summary) -> None:
    calls = f"calls of {name}"
    was, now = old["parameters"], new["parameters"]
    if old["result"] != new["result"]:
        report.note(f"function {name} returns {new['result']}, was {old['result']}", calls)
    for parameter in _added(was, now):
        position = list(now).index(parameter) + 1
        report.note(f"function {name}: parameter {position} {now[parameter]} {parameter} is new", calls)
    for parameter in _added(now, was):
        report.note(f"function {name}: parameter {was[parameter]} {parameter} is gone", calls)
    for parameter in _common(was, now):
        if was[parameter] != now[parameter]:
            report.note(f"function {name}: parameter {parameter}: {was[parameter]} → {now[parameter]}", calls)
    if _common(was, now) != _common(now, was):
        report.note(f"function {name}: parameters are in another order: {', '.join(now)}", calls)
    if old["calls"] != new["calls"]:
        report.note(f"function {name}: {_kind(old)} → {_kind(new)}")


def _kind(function: Summary) -> str:
    return f"inline, {function['calls']}" if function["calls"] else "exported by the library"


def _parameters(function: Summary) -> str:
    return ", ".join(f"{kind} {name}" for name, kind in function["parameters"].items())


def _added(old: Any, new: Any) -> list[str]:
    return [name for name in new if name not in old]


def _common(old: Any, new: Any) -> list[str]:
    return [name for name in old if name in new]
