// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "copy/team.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "common/pause.h"

namespace cudecomp {

namespace {

/** Which part of which round is next; one word, so that a part of a round that has ended is never taken. */
struct Ticket {
  uint64_t round, parts, next;

  static Ticket from(uint64_t word) { return {word >> 32, word >> 16 & 0xffff, word & 0xffff}; }
  uint64_t word() const { return round << 32 | parts << 16 | next; }
  bool open() const { return next < parts; }
};

constexpr const char* thread_name = "cudecomp copies"; // shown by top and debuggers; 15 characters at most

/** Signals are for the threads of the program. */
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_;
};

} // namespace

struct Team::Shared {
  const pid_t process = getpid();
  Work work; ///< of the round in the ticket
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint64_t> done{0}; ///< parts of this round that have ended
  std::atomic<int> sleeping{0};
  std::mutex lock;
  std::condition_variable wake;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;

  bool take_part();
  void work_until_stopped();
  bool wait_for_work();
  void end();
};

bool Team::Shared::take_part() {
  uint64_t word = ticket.load(std::memory_order_acquire);
  for (;;) {
    Ticket mine = Ticket::from(word);
    if (!mine.open()) return false;
    const int part = static_cast<int>(mine.next++);
    if (!ticket.compare_exchange_weak(word, mine.word(), std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    work.call(work.context, part); // the round cannot end before this part is counted
    done.fetch_add(1, std::memory_order_release);
    return true;
  }
}

/** False when there will be none. */
bool Team::Shared::wait_for_work() {
  const auto open = [&] { return stop.load() || Ticket::from(ticket.load()).open(); };
  constexpr int spins = 2000;
  for (int spin = 0; spin < spins && !open(); ++spin) pause_briefly();
  if (!open()) {
    std::unique_lock<std::mutex> locked(lock);
    ++sleeping;
    wake.wait(locked, open);
    --sleeping;
  }
  return !stop.load();
}

void Team::Shared::work_until_stopped() {
  while (wait_for_work()) {
    while (take_part()) {
    }
  }
}

void Team::Shared::end() {
  {
    std::lock_guard<std::mutex> locked(lock);
    stop.store(true);
  }
  wake.notify_all();
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

Team::Team(int size) : size_(size), shared_(new Shared) {
  const SignalsBlocked blocked;
  try {
    for (int number = 1; number < size; ++number) {
      shared_->threads.emplace_back([shared = shared_.get()] { shared->work_until_stopped(); });
      pthread_setname_np(shared_->threads.back().native_handle(), thread_name);
    }
  } catch (...) {
    shared_->end();
    throw;
  }
}

Team::~Team() {
  if (shared_->process == getpid()) {
    shared_->end();
  } else {
    shared_.release(); // after fork() there is nothing to join, and what the threads waited on cannot be destroyed
  }
}

void Team::run_work(const Work& work, int parts) {
  Shared& shared = *shared_;
  if (parts <= 1 || size_ == 1 || shared.process != getpid()) {
    for (int part = 0; part < parts; ++part) work.call(work.context, part);
    return;
  }
  shared.work = work;
  shared.done.store(0, std::memory_order_relaxed);
  const uint64_t round = Ticket::from(shared.ticket.load(std::memory_order_relaxed)).round + 1;
  shared.ticket.store(Ticket{round, static_cast<uint64_t>(parts), 0}.word());
  if (shared.sleeping.load() > 0) {
    std::lock_guard<std::mutex> locked(shared.lock); // one that is about to sleep has seen the ticket, or waits already
    shared.wake.notify_all();
  }
  while (shared.take_part()) {
  }
  Patience patience;
  while (shared.done.load(std::memory_order_acquire) < static_cast<uint64_t>(parts)) patience.pause();
}

} // namespace cudecomp
