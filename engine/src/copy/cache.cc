// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/cache.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string>

namespace cudecomp {

namespace {

struct Cache {
  int64_t bytes = int64_t{32} << 20; ///< where the system does not tell
  int cpus = 1;                      ///< that share it
};

/** Processors in a mask such as "00000000,0000000f". */
int count_mask(const std::string& mask) {
  int count = 0;
  for (char digit : mask) {
    if (!std::isxdigit(static_cast<unsigned char>(digit))) continue;
    count += __builtin_popcount(static_cast<unsigned>(std::stoi(std::string(1, digit), nullptr, 16)));
  }
  return count;
}

/** As Linux tells it about the first processor; the file of its size reads like "32768K". */
Cache find_last_cache() {
  Cache last;
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream size(folder + "size"), sharers(folder + "shared_cpu_map");
    int64_t kib = 0;
    std::string mask;
    if (!(size >> kib) || kib <= 0 || !(sharers >> mask)) return last;
    last = {kib << 10, std::max(1, count_mask(mask))};
  }
}

} // namespace

int64_t cache_share(int ranks) {
  static const Cache last = find_last_cache();
  const int64_t cpus = std::max<int64_t>(last.cpus, sysconf(_SC_NPROCESSORS_ONLN));
  const int64_t sharers = (ranks * last.cpus + cpus - 1) / cpus;
  return last.bytes / std::max<int64_t>(1, sharers);
}

int64_t streaming_threshold(int64_t share, bool transposes) { return transposes ? share / 8 * 3 : share / 4 * 3; }

} // namespace cudecomp
