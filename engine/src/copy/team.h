// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COPY_TEAM_H
#define CUDECOMP_COPY_TEAM_H

#include <memory>

namespace cudecomp {

/**
 * Threads that share the work of one caller. They spin for some microseconds after each piece of work, then sleep; a
 * caller whose team still sleeps does the work alone. In a child process made by fork() there are none, and the caller
 * does everything.
 */
class Team {
public:
  /** A team of `size`, the caller included. Throws std::system_error where the system gives no threads. */
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  /** Calls body(part) once for each part from 0 to parts - 1, which is at most `most_parts`; returns when all are done.
   */
  template <typename Body> void run(int parts, const Body& body) {
    run_work({[](const void* context, int part) { (*static_cast<const Body*>(context))(part); }, &body}, parts);
  }
  static constexpr int most_parts = 0xffff;

private:
  struct Work {
    void (*call)(const void* context, int part) = nullptr;
    const void* context = nullptr;
  };
  struct Shared;

  void run_work(const Work& work, int parts);

  int size_;
  std::unique_ptr<Shared> shared_;
};

} // namespace cudecomp

#endif // CUDECOMP_COPY_TEAM_H
