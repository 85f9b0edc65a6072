// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * Compares box copies and kernels with plain loops, on random boxes and memory orders. Needs no MPI. Prints what it
 * compared; exits with 1 on any difference. An argument is the number of trials.
 */

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "copy/copy.h"
#include "copy/kernels.h"
#include "copy/team.h"

using namespace cudecomp;

namespace {

std::mt19937 random_bits(1);
int compared = 0, differing = 0;

int64_t number(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random_bits() % static_cast<uint32_t>(most - least + 1));
}

/** Extents of a box: often a layer or two, as of a halo. */
int64_t extent(int64_t most) { return number(1, number(0, 3) ? most : std::min<int64_t>(most, 3)); }

std::vector<char> random_bytes(int64_t bytes) {
  std::vector<char> out(static_cast<size_t>(bytes));
  for (char& byte : out) byte = static_cast<char>(random_bits());
  return out;
}

void compare(const std::vector<char>& seen, const std::vector<char>& expected, const char* what) {
  ++compared;
  if (seen == expected) return;
  ++differing;
  std::printf("differs: %s\n", what);
}

void test_box_copy(int item, bool streaming, Team* team) {
  std::array<int, 3> from{0, 1, 2}, to{0, 1, 2};
  std::shuffle(from.begin(), from.end(), random_bits);
  std::shuffle(to.begin(), to.end(), random_bits);
  const Triple n{extent(70), extent(40), extent(20)};
  const Layout in = make_layout(n, from, {number(0, 2), 0, 1}, {0, number(0, 3), 0});
  const Layout out = make_layout(n, to, {1, number(0, 2), 0}, {number(0, 3), 0, 1});
  Region src, dst;
  src.n = dst.n = n;
  src.stride = in.stride;
  src.offset = in.offset({0, 0, 0});
  dst.stride = out.stride;
  dst.offset = out.offset({0, 0, 0});

  const std::vector<char> data = random_bytes(in.size * item);
  std::vector<char> seen = random_bytes(out.size * item), expected = seen;
  for (int64_t z = 0; z < n[2]; ++z) {
    for (int64_t y = 0; y < n[1]; ++y) {
      for (int64_t x = 0; x < n[0]; ++x) {
        std::memcpy(&expected[static_cast<size_t>(out.offset({x, y, z}) * item)],
                    &data[static_cast<size_t>(in.offset({x, y, z}) * item)], static_cast<size_t>(item));
      }
    }
  }
  run_copy(prepare_copy(src, dst, item, streaming), data.data(), seen.data(), team);
  compare(seen, expected, "box copy");
}

/** Rows cut into parts that go to arrays of their own. */
void test_sweep(int item, bool streaming, Team* team) {
  std::array<int, 3> order{0, 1, 2};
  std::shuffle(order.begin(), order.end(), random_bits);
  const int row = order[0];
  Triple n{number(1, 20), number(1, 20), number(1, 20)};
  n[row] = number(1, 400);
  const Layout in = make_layout(n, order, {number(0, 2), 0, 1}, {0, number(0, 3), 0});
  const std::vector<char> data = random_bytes(in.size * item);
  std::vector<SweepPart> parts;
  std::vector<std::vector<char>> seen, expected;
  Triple begin{0, 0, 0}, part = n;
  for (; begin[row] < n[row]; begin[row] += part[row]) {
    part[row] = std::min(n[row] - begin[row], number(1, 200));
    const Layout out = make_layout(part, order, {1, number(0, 2), 0}, {number(0, 3), 0, 1});
    parts.push_back(
        {{part, in.stride, in.offset(begin)}, {part, out.stride, out.offset({0, 0, 0})}, nullptr, streaming});
    seen.push_back(random_bytes(out.size * item));
    expected.push_back(seen.back());
    run_copy(prepare_copy(parts.back().src, parts.back().dst, item, false), data.data(), expected.back().data());
  }
  for (size_t number = 0; number < parts.size(); ++number) parts[number].to = seen[number].data();
  run_sweep(parts, order, item, data.data(), team);
  for (size_t number = 0; number < parts.size(); ++number) compare(seen[number], expected[number], "sweep");
}

/** A box, and where its points lie in an array with halos and padding. */
Region random_box(const std::array<int, 3>& order, Layout& layout) {
  const Triple n{extent(90), extent(50), extent(20)};
  layout = make_layout(n, order, {number(0, 2), 0, 1}, {number(0, 3), number(0, 3), 0});
  return {n, layout.stride, layout.offset({0, 0, 0})};
}

void test_pack_past_caches(int item) {
  if (!can_pass_caches()) return;
  std::array<int, 3> order{0, 1, 2};
  std::shuffle(order.begin(), order.end(), random_bits);
  std::array<int, 3> packed_order = order;
  if (number(0, 1)) std::swap(packed_order[1], packed_order[2]);
  Layout layout;
  const Region box = random_box(order, layout);
  const std::vector<char> data = random_bytes(layout.size * item);
  const int64_t slot = number(0, 20);
  std::vector<char> seen = random_bytes((slot + box.points() + 8) * item), expected = seen;
  const BoxCopy pack = prepare_pack(box, packed_order, slot, item, false);
  run_copy(pack, data.data(), expected.data());
  run_copy_past_caches(pack, data.data(), seen.data());
  compare(seen, expected, "pack past the caches");
}

void test_copies_by_turns(int item) {
  std::array<int, 3> order{0, 1, 2};
  std::shuffle(order.begin(), order.end(), random_bits);
  Layout layout;
  const Region box = random_box(order, layout);
  const std::vector<char> data = random_bytes(layout.size * item);
  Region one = box, two = box;
  const int dim = static_cast<int>(number(0, 2));
  one.n[dim] = number(1, number(0, 1) ? box.n[dim] : std::min<int64_t>(box.n[dim], 4));
  two.n[dim] = number(0, 3) ? one.n[dim] : number(1, box.n[dim]);
  two.offset += (box.n[dim] - two.n[dim]) * box.stride[dim];
  const Layout apart = make_layout(two.n, order, {number(0, 2), 0, 1}, {0, number(0, 3), 0});
  std::vector<char> seen = random_bytes((one.points() + apart.size) * item), expected = seen;
  const Region packed = packed_region(one.n, order, apart.size), spread{two.n, apart.stride, apart.offset({0, 0, 0})};
  const PlacedCopy first{prepare_copy(one, packed, item, false), data.data(), seen.data()};
  const PlacedCopy second{prepare_copy(two, spread, item, false), data.data(), seen.data()};
  run_copy(first.copy, data.data(), expected.data());
  run_copy(second.copy, data.data(), expected.data());
  run_copies_by_turns(first, second);
  compare(seen, expected, "two copies by turns");
}

void test_transpose_block(const Kernels& set, int item) {
  const int64_t ni = number(1, 40), nj = number(1, 40), src_stride = ni + number(0, 3), dst_stride = nj + number(0, 3);
  const std::vector<char> data = random_bytes(nj * src_stride * item);
  std::vector<char> seen = random_bytes(ni * dst_stride * item), expected = seen;
  for (int64_t i = 0; i < ni; ++i) {
    for (int64_t j = 0; j < nj; ++j) {
      std::memcpy(&expected[static_cast<size_t>((j + i * dst_stride) * item)],
                  &data[static_cast<size_t>((i + j * src_stride) * item)], static_cast<size_t>(item));
    }
  }
  set.transpose(item)(data.data(), src_stride, seen.data(), dst_stride, ni, nj);
  compare(seen, expected, set.name);
}

void test_stream_row(const Kernels& set) {
  if (!set.stream_row) return;
  const int64_t begin = 4 * number(0, 32), bytes = 4 * number(0, 200);
  const std::vector<char> data = random_bytes(bytes + begin);
  std::vector<char> seen = random_bytes(bytes + begin + 64), expected = seen;
  std::copy(data.begin(), data.begin() + bytes, expected.begin() + begin);
  set.stream_row(seen.data() + begin, data.data(), static_cast<size_t>(bytes));
  set.fence();
  compare(seen, expected, set.name);
}

/** Every part once, whatever the number of parts. */
void test_team(Team& team) {
  for (int parts : {0, 1, 2, 3, 7, 100}) {
    std::vector<std::atomic<int>> calls(static_cast<size_t>(parts));
    team.run(parts, [&](int part) { ++calls[static_cast<size_t>(part)]; });
    ++compared;
    if (std::all_of(calls.begin(), calls.end(), [](const std::atomic<int>& count) { return count == 1; })) continue;
    ++differing;
    std::printf("differs: team of %d, %d parts\n", team.size(), parts);
  }
}

/** A forked child has no threads: it works by itself, and ends although there is nobody to join. */
void test_team_after_fork() {
  auto team = std::make_unique<Team>(3);
  test_team(*team);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60); // rather than to wait for ever
    const int before = differing;
    test_team(*team);
    team.reset();
    _exit(differing != before);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ++compared;
  if (status != 0) {
    ++differing;
    std::printf("differs: team after fork, status %d\n", status);
  }
}

} // namespace

int main(int count, char** arguments) {
  std::vector<const Kernels*> sets{&scalar_kernels()};
  for (const Kernels* set : {x86_kernels(), neon_kernels()}) {
    if (set) sets.push_back(set);
  }
  Team two(2), three(3);
  const int trials = count > 1 ? std::atoi(arguments[1]) : 300;
  for (int trial = 0; trial < trials; ++trial) {
    // Few trials: where other programs have the cores, a team waits for each thread that lost its own.
    Team* team = trial % 20 == 0 ? &two : trial % 20 == 9 ? &three : nullptr;
    if (team) test_team(*team);
    for (int item : {4, 8, 16}) {
      test_box_copy(item, trial % 2 == 0, team);
      test_sweep(item, trial % 2 == 0, team);
      test_pack_past_caches(item);
      test_copies_by_turns(item);
      for (const Kernels* set : sets) test_transpose_block(*set, item);
    }
    for (const Kernels* set : sets) test_stream_row(*set);
  }
  test_team_after_fork();
  std::printf("kernels in use: %s\n%d compared, %d differing\n", copy_instruction_set(), compared, differing);
  return differing != 0;
}
