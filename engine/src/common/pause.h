// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COMMON_PAUSE_H
#define CUDECOMP_COMMON_PAUSE_H

#include <sched.h>

namespace cudecomp {

/** Tells the processor that this is a waiting loop. */
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/** Waits a moment: briefly at first, then giving the core to others. */
class Patience {
public:
  void pause() {
    constexpr unsigned brief_waits = 256;
    ++waits_ < brief_waits ? pause_briefly() : void(sched_yield());
  }
  void reset() { waits_ = 0; }

private:
  unsigned waits_ = 0;
};

} // namespace cudecomp

#endif // CUDECOMP_COMMON_PAUSE_H
