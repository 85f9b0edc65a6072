// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// What a header needs of MPI to be parsed. What MPI_Comm is differs per MPI library; the generator goes by its name.
#pragma once
#include <stddef.h> // headers of the 0.5 to 0.7 lines have size_t from here
typedef struct stub_MPI_Comm* MPI_Comm;
typedef int MPI_Fint;
