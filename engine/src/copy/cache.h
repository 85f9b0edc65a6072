// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COPY_CACHE_H
#define CUDECOMP_COPY_CACHE_H

#include <cstdint>

namespace cudecomp {

/** Bytes of the last cache that each of `ranks` ranks of this machine has to itself, were they spread evenly. */
int64_t cache_share(int ranks);

/**
 * Copies of at least this many bytes gain from stores that bypass the caches; smaller ones lose. Transpositions gain
 * sooner than copies that keep the fastest axis.
 */
int64_t streaming_threshold(int64_t cache_share, bool transposes);

} // namespace cudecomp

#endif // CUDECOMP_COPY_CACHE_H
