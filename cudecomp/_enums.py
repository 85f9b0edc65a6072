# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""The enumerations of the C interface, as the bindings define them."""

from cudecomp_bindings.cudecomp import (
    AutotuneGridMode,
    DataType,
    HaloCommBackend,
    RankOrder,
    Result,
    TransposeCommBackend,
)

__all__ = ["AutotuneGridMode", "DataType", "HaloCommBackend", "RankOrder", "Result", "TransposeCommBackend"]
