// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "common/error.h"

#include <cstdarg>
#include <cstdio>

namespace cudecomp {

namespace {

std::string vformat(const char* text, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, text, again);
  va_end(again);
  std::string out(static_cast<size_t>(length > 0 ? length : 0), '\0');
  std::vsnprintf(out.data(), out.size() + 1, text, arguments);
  return out;
}

} // namespace

std::string format(const char* text, ...) {
  va_list arguments;
  va_start(arguments, text);
  std::string out = vformat(text, arguments);
  va_end(arguments);
  return out;
}

void invalid_usage(const char* text, ...) {
  va_list arguments;
  va_start(arguments, text);
  std::string out = vformat(text, arguments);
  va_end(arguments);
  throw Error(CUDECOMP_RESULT_INVALID_USAGE, out);
}

void not_supported(const char* text, ...) {
  va_list arguments;
  va_start(arguments, text);
  std::string out = vformat(text, arguments);
  va_end(arguments);
  throw Error(CUDECOMP_RESULT_NOT_SUPPORTED, out);
}

void internal_error(const char* text, ...) {
  va_list arguments;
  va_start(arguments, text);
  std::string out = vformat(text, arguments);
  va_end(arguments);
  throw Error(CUDECOMP_RESULT_INTERNAL_ERROR, out);
}

} // namespace cudecomp
