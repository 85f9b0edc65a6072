// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// The libclang wheel brings no C headers of its own, and those of the machine would make the output depend on it.
#pragma once
#define bool _Bool
#define true 1
#define false 0
