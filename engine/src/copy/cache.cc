// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/cache.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
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

/** The first line of a file, empty where there is none. */
std::string first_line(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), std::fclose);
  char line[4096];
  return file && std::fgets(line, sizeof line, file.get()) ? line : "";
}

/** As Linux tells it about the first processor; the file of its size reads like "32768K". */
Cache find_last_cache() {
  Cache last;
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const int64_t kib = std::strtoll(first_line(folder + "size").c_str(), nullptr, 10);
    const std::string mask = first_line(folder + "shared_cpu_map");
    if (kib <= 0 || mask.empty()) return last;
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
