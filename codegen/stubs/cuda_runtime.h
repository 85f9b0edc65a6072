// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// What a header needs of CUDA to be parsed.
#pragma once
#include <stddef.h> // headers of the 0.5 to 0.7 lines have size_t from here
typedef struct stub_cudaStream* cudaStream_t;
