// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * What the built-in engine exports beyond cudecomp.h. Callers look these up by name and do without where they are
 * missing, so NVIDIA's library stays a drop-in.
 */

#ifndef CUDECOMP_BUILTIN_H
#define CUDECOMP_BUILTIN_H

#include "cudecomp.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Text of the calling thread's last failed call: what was wrong, the value seen, the value expected. Never null. */
const char* cudecompBuiltinGetLastError(void);

/** One JSON object: version, the MPI library built against and running, instruction set in use. Never null. */
const char* cudecompBuiltinGetInfo(void);

#ifdef __cplusplus
}
#endif

#endif // CUDECOMP_BUILTIN_H
