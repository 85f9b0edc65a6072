// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#ifndef CUDECOMP_COMMON_JSON_H
#define CUDECOMP_COMMON_JSON_H

#include <cmath>
#include <cstdint>
#include <locale>
#include <sstream>
#include <string>

namespace cudecomp {

/** Writes JSON. Numbers get a decimal point whatever the program's locale is. */
class Json {
public:
  Json() {
    out_.imbue(std::locale::classic());
    out_.precision(9);
  }

  std::string text() const { return out_.str(); }

  Json& raw(const char* text) {
    out_ << text;
    return *this;
  }
  Json& string(const std::string& text) {
    out_ << '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        out_ << '\\' << c;
      } else if (c == '\n') {
        out_ << "\\n";
      } else {
        out_ << (static_cast<unsigned char>(c) < 32 ? ' ' : c);
      }
    }
    out_ << '"';
    return *this;
  }
  Json& number(double value) {
    out_ << value;
    return *this;
  }
  Json& integer(int64_t value) {
    out_ << value;
    return *this;
  }
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
  std::ostringstream out_;
};

} // namespace cudecomp

#endif // CUDECOMP_COMMON_JSON_H
