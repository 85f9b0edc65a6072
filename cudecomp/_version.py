# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The version of this package, the same as in pyproject.toml (a test compares them)."""

__version__ = "0.1.0"
