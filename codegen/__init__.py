# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Generator of ``cudecomp_bindings``: ``python -m codegen``. docs/codegen.md tells how it is used.

parser (C header → model) → annotations (names and facts a header cannot say) → binding (how each function looks from
Python) → emit (templates → files). report compares a header with the checked-in model, in words.
"""

GENERATOR_VERSION = "1.0"


class CodegenError(Exception):
    """A header, an annotation table or their combination that bindings cannot be generated from."""
