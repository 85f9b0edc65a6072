// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_API_CHECKS_H
#define CUDECOMP_API_CHECKS_H

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "api/objects.h"
#include "cudecomp.h"

namespace cudecomp {

/** Inside a catch block: the result code of the exception; its text becomes the thread's last error. */
cudecompResult_t result_of_exception() noexcept;
const char* last_error();

/** Runs the body of an exported function: exceptions become result codes. */
template <typename Body> cudecompResult_t guarded(Body&& body) noexcept {
  try {
    body();
    return CUDECOMP_RESULT_SUCCESS;
  } catch (...) {
    return result_of_exception();
  }
}

constexpr const char* axis_names[3] = {"X", "Y", "Z"};

/** A C caller can put any number where the interface has an enum, and C++ must not read it as one before it is checked.
 */
template <typename Enum> int number_of(const Enum& value) {
  int number;
  static_assert(sizeof number == sizeof value, "enums of the interface are as large as int");
  std::memcpy(&number, &value, sizeof number);
  return number;
}

cudecompHandle& checked(cudecompHandle_t handle);
cudecompGridDesc& checked(cudecompHandle_t handle, cudecompGridDesc_t grid);
int checked_axis(const char* name, int32_t axis);
/** Bytes of one element; refuses numbers that are no cudecompDataType_t. */
int item_size(int dtype);
/** Null means zeros; negative numbers are refused. */
Triple checked_extents(const char* name, const int32_t extents[]);
/** Refuses local arrays whose extents do not fit the interface. */
Layout checked_layout(const cudecompGridDesc& grid, int axis, const Triple& halo, const Triple& padding);
void check_not_null(const char* name, const void* pointer);
/** Refuses structs of another layout. */
void check_struct(const char* name, int64_t size, int64_t expected_size, int32_t version, int32_t expected_version);

/** Collective: the text of one rank on all. */
std::string text_from(const cudecompHandle& handle, int rank, std::string text);

/** What ranks must have in common, as names and numbers. */
struct Fingerprint {
  std::vector<std::string> names;
  std::vector<int64_t> values;
  void add(const std::string& name, int64_t value) {
    names.push_back(name);
    values.push_back(value);
  }
};

/**
 * Collective: agrees on whether to go on. Runs `local_check`; if it throws anywhere, or the fingerprints differ, every
 * rank throws the same error.
 */
void agree(const cudecompHandle& handle, const Fingerprint& fingerprint, const std::function<void()>& local_check);

} // namespace cudecomp

#endif // CUDECOMP_API_CHECKS_H
