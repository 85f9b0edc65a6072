// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * All that cudecomp.h needs of CUDA: a stream is a pointer, which the built-in engine ignores. The engine compiles with
 * this file whether or not there is a CUDA toolkit.
 */

#ifndef CUDECOMP_STUB_CUDA_RUNTIME_H
#define CUDECOMP_STUB_CUDA_RUNTIME_H

typedef struct CUstream_st* cudaStream_t;

#endif // CUDECOMP_STUB_CUDA_RUNTIME_H
