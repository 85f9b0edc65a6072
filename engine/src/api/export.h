// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_API_EXPORT_H
#define CUDECOMP_API_EXPORT_H

#include "cudecomp.h"
#include "cudecomp_builtin.h"

/** Everything else stays hidden. The headers give these functions C linkage. */
#define CUDECOMP_EXPORT __attribute__((visibility("default")))

#endif // CUDECOMP_API_EXPORT_H
