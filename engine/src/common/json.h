// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COMMON_JSON_H
#define CUDECOMP_COMMON_JSON_H

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cudecomp {

/** Writes JSON. Numbers get a decimal point whatever the program's locale is. */
class Json {
public:
  const std::string& text() const { return out_; }

  Json& raw(const char* text) {
    out_ += text;
    return *this;
  }
  Json& string(const std::string& text) {
    out_ += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        out_ += {'\\', c};
      } else if (c == '\n') {
        out_ += "\\n";
      } else {
        out_ += static_cast<unsigned char>(c) < 32 ? ' ' : c;
      }
    }
    out_ += '"';
    return *this;
  }
  Json& number(double value) {
    char digits[40];
    const int length = std::snprintf(digits, sizeof digits, "%.9g", value);
    std::replace(digits, digits + length, *std::localeconv()->decimal_point, '.');
    return raw(digits);
  }
  Json& integer(int64_t value) { return raw(std::to_string(value).c_str()); }
  /** A number, null for what is none. */
  Json& measured(double value) { return std::isfinite(value) ? number(value) : raw("null"); }
  Json& boolean(bool value) { return raw(value ? "true" : "false"); }
  template <typename Integers> Json& integers(const Integers& values) {
    const char* separator = "[";
    for (const auto& value : values) {
      raw(separator).integer(value);
      separator = ", ";
    }
    return raw("]");
  }
  Json& key(const char* name) { return string(name).raw(": "); }
  Json& grid(int32_t rows, int32_t cols) { return key("pdims").raw("[").number(rows).raw(", ").number(cols).raw("]"); }

private:
  std::string out_;
};

} // namespace cudecomp

#endif // CUDECOMP_COMMON_JSON_H
