// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_REPORT_REPORT_H
#define CUDECOMP_REPORT_REPORT_H

#include <string>

#include "api/objects.h"

namespace cudecomp {

/** Collective: the report of a grid descriptor with a recorder as JSON, the same on all ranks. */
std::string report_json(const cudecompGridDesc& grid);

/** Collective: prints the report on rank 0, and writes the files that the environment asks for. */
void publish_report(const cudecompGridDesc& grid);

} // namespace cudecomp

#endif // CUDECOMP_REPORT_REPORT_H
