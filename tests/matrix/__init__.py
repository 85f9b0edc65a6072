# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The matrix: every operation under every setting, as data (`table`), cases (`cases`) and a runner (`runner`)."""
