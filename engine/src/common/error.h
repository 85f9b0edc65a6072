// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COMMON_ERROR_H
#define CUDECOMP_COMMON_ERROR_H

#include <stdexcept>
#include <string>

#include "cudecomp.h"

namespace cudecomp {

/** Carries a result code and its text from where it is found to the C interface. */
class Error : public std::runtime_error {
public:
  Error(cudecompResult_t result, const std::string& text) : std::runtime_error(text), result_(result) {}
  cudecompResult_t result() const { return result_; }

private:
  cudecompResult_t result_;
};

/** printf into a string. */
std::string format(const char* text, ...) __attribute__((format(printf, 1, 2)));

[[noreturn]] void invalid_usage(const char* text, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void not_supported(const char* text, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void internal_error(const char* text, ...) __attribute__((format(printf, 1, 2)));

/** "(a, b, c)", for error texts. */
template <typename Numbers> std::string tuple_text(const Numbers& numbers) {
  std::string text = "(";
  bool first = true;
  for (const auto& number : numbers) {
    if (!first) text += ", ";
    text += std::to_string(number);
    first = false;
  }
  return text + ")";
}

} // namespace cudecomp

#endif // CUDECOMP_COMMON_ERROR_H
