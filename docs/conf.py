# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration. The package must be installed or built in place: the API reference is read from it."""

import enum
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# Sphinx would load the stubs in place of modules that are not loaded yet, and stubs have no docstrings.

import cudecomp  # noqa: E402, F401

project = "cudecomp for Python"
author = "The cudecomp-python authors"
project_copyright = f"2026, {author}"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = project
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_use_rtype = False
# Single backticks are code in docstrings too.
default_role = "code"

# Paragraphs of this project's docstrings that begin with these words become fields, like arguments and results.
LABELS = re.compile(r"^(Collective|Stream ordering|Threads|Units|Ownership): (?=\S)")


def label_paragraphs(app, what, name, obj, options, lines):
    for index, line in enumerate(lines):
        lines[index] = LABELS.sub(r":\1: ", line)


# Members of enumerations are listed in the docstring of their class: they become attributes with their values.
MEMBER = re.compile(r"^    (\w+): (.+)$")


def list_members(app, what, name, obj, options, lines):
    if not (isinstance(obj, type) and issubclass(obj, enum.Enum) and "Members:" in lines):
        return
    first = lines.index("Members:")
    listed = []
    for line in lines[first + 1 :]:
        member = MEMBER.match(line)
        if member:
            listed += ["", f".. py:attribute:: {member[1]}", f"   :value: {int(obj[member[1]])}", "", f"   {member[2]}"]
        else:
            listed.append(f"   {line.strip()}".rstrip())
    lines[first:] = [*listed, ""]


def show_public_base(app, name, obj, options, bases):
    if isinstance(obj, type) and issubclass(obj, enum.IntEnum):
        bases[:] = [enum.IntEnum]


# Napoleon takes what stands before a colon in the docstring of an attribute for a type. Here it is part of the
# sentence: such docstrings pass it unchanged.
sentences = {}


def hide_sentence(app, what, name, obj, options, lines):
    if what in ("attribute", "property"):
        sentences[name] = lines[:]
        lines.clear()


def show_sentence(app, what, name, obj, options, lines):
    lines[:] = sentences.pop(name, lines)


def setup(app):
    app.connect("autodoc-process-bases", show_public_base)
    app.connect("autodoc-process-docstring", list_members, priority=50)
    app.connect("autodoc-process-docstring", hide_sentence, priority=100)
    app.connect("autodoc-process-docstring", show_sentence, priority=900)
    app.connect("autodoc-process-docstring", label_paragraphs, priority=950)
