// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_EXCHANGE_SLOT_FILL_H
#define CUDECOMP_EXCHANGE_SLOT_FILL_H

namespace cudecomp {

/**
 * Decides how the slots of a message are filled, by trying. Two cores that share a cache hand data over within it.
 * Where they share none, each line of a slot must first come back from the core that has emptied it, and storing past
 * the caches is faster, for the receiver too. Which cores two ranks run on may change at any time.
 */
class SlotFill {
public:
  /** How to fill the next slot: now and then the other way than what seems best, to find out. */
  bool past_caches() const {
    const bool better = known(true) && known(false) && cost(true) * least_gain < cost(false);
    return (filled_ % try_every == first_try) != better;
  }

  /** What filling a slot and what emptying it took, in seconds for a byte. */
  void took_to_fill(bool past_caches, double seconds) {
    ++filled_;
    note(fill_[past_caches], seconds);
  }
  void took_to_empty(bool past_caches, double seconds) { note(empty_[past_caches], seconds); }

private:
  static constexpr double least_gain = 1.05;
  static constexpr unsigned first_try = 8, try_every = 64;

  bool known(bool past_caches) const { return fill_[past_caches] > 0 && empty_[past_caches] > 0; }
  double cost(bool past_caches) const { return fill_[past_caches] + empty_[past_caches]; }
  /** Down at once, up slowly: what disturbs only adds to a time. */
  static void note(double& least, double seconds) {
    least = least == 0 || seconds < least ? seconds : least + (seconds - least) / 8;
  }

  double fill_[2] = {0, 0}, empty_[2] = {0, 0}; ///< through the caches, past them; 0 while unknown
  unsigned filled_ = 0;
};

} // namespace cudecomp

#endif // CUDECOMP_EXCHANGE_SLOT_FILL_H
