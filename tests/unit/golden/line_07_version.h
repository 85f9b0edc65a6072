// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_VERSION_H
#define CUDECOMP_VERSION_H

#define CUDECOMP_MAJOR 0
#define CUDECOMP_MINOR 7
#define CUDECOMP_PATCH 3

#define CUDECOMP_CONFIG_VERSION 1

#endif
