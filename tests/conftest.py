# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# The same examples in every run and on every rank, and nothing that depends on how fast the machine is.
settings.register_profile(
    "cudecomp",
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("cudecomp")
