# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""``python -m cudecomp``: the command line."""

import sys

from cudecomp._cli import main

if __name__ == "__main__":
    sys.exit(main())
