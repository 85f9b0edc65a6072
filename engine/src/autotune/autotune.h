// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_AUTOTUNE_AUTOTUNE_H
#define CUDECOMP_AUTOTUNE_AUTOTUNE_H

#include <string>

#include "api/objects.h"
#include "cudecomp.h"

namespace cudecomp {

/**
 * Collective: measures what `config` leaves open and fills it in, alike on all ranks. Memory and communicators are back
 * at their level afterwards. The arguments are checked and agreed on before.
 *
 * @return what was found out, as JSON; "null" if nothing was left open
 */
std::string autotune(cudecompHandle& handle, cudecompGridDescConfig_t& config,
                     const cudecompGridDescAutotuneOptions_t* options);

} // namespace cudecomp

#endif // CUDECOMP_AUTOTUNE_AUTOTUNE_H
