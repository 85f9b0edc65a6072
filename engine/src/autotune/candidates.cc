// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/candidates.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "common/error.h"

namespace cudecomp {

namespace {

constexpr const char* transpose_variable = "CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS";
constexpr const char* halo_variable = "CUDECOMP_AUTOTUNE_HALO_BACKENDS";
constexpr const char* rows_variable = "CUDECOMP_AUTOTUNE_P_ROW_RANGE";
constexpr const char* cols_variable = "CUDECOMP_AUTOTUNE_P_COL_RANGE";

int last_backend(Kind kind) {
  return kind == Kind::transpose ? int{CUDECOMP_TRANSPOSE_COMM_NVSHMEM_SM} : int{CUDECOMP_HALO_COMM_NVSHMEM_BLOCKING};
}

/** What this engine has: all of it moves host memory through MPI. */
std::vector<int> own_backends(Kind kind) {
  if (kind == Kind::transpose) {
    return {CUDECOMP_TRANSPOSE_COMM_MPI_P2P, CUDECOMP_TRANSPOSE_COMM_MPI_P2P_PL, CUDECOMP_TRANSPOSE_COMM_MPI_A2A};
  }
  return {CUDECOMP_HALO_COMM_MPI, CUDECOMP_HALO_COMM_MPI_BLOCKING};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/** The number of a backend by name; 0 for none. */
int backend_named(Kind kind, const std::string& name) {
  for (int backend = 1; backend <= last_backend(kind); ++backend) {
    if (name == backend_name(kind, backend)) return backend;
  }
  return 0;
}

std::string all_names(Kind kind) {
  std::string names;
  for (int backend = 1; backend <= last_backend(kind); ++backend)
    names += std::string(backend > 1 ? ", " : "") + backend_name(kind, backend);
  return names;
}

std::string names_of(Kind kind, const std::vector<int>& backends) {
  std::string names;
  for (int backend : backends) names += std::string(names.empty() ? "" : ", ") + backend_name(kind, backend);
  return names;
}

/** Backends that a list such as "MPI_P2P,MPI_A2A" or "^MPI_A2A" leaves of `candidates`. */
std::vector<int> filtered(Kind kind, const char* variable, const std::string& value, std::vector<int> candidates) {
  const bool inverted = !value.empty() && value[0] == '^';
  std::vector<int> listed;
  for (const std::string& name : split_at_commas(value.substr(inverted ? 1 : 0))) {
    const int backend = backend_named(kind, name);
    if (!backend) {
      invalid_usage("%s is \"%s\", but \"%s\" is no %s backend; expected a comma list without spaces of %s, with ^ in "
                    "front to leave these out",
                    variable, value.c_str(), name.c_str(), kind_name(kind), all_names(kind).c_str());
    }
    listed.push_back(backend);
  }
  const auto dropped = [&](int backend) {
    return (std::find(listed.begin(), listed.end(), backend) != listed.end()) == inverted;
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), dropped), candidates.end());
  return candidates;
}

struct Range {
  int32_t least = 1, most = INT32_MAX;
  bool holds(int32_t value) const { return least <= value && value <= most; }
};

/** The whole text as a number. */
bool parse_number(const std::string& text, int32_t& number) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

Range range_of(const char* variable, const Filters& filters) {
  Range range;
  const auto found = filters.find(variable);
  if (found == filters.end()) return range;
  const std::vector<std::string> parts = split_at_commas(found->second);
  if (parts.size() != 2 || !parse_number(parts[0], range.least) || !parse_number(parts[1], range.most) ||
      range.least < 0 || range.most < 1 || range.least > range.most) {
    invalid_usage("%s is \"%s\", expected \"min,max\" without spaces, 0 <= min <= max and max of 1 or more", variable,
                  found->second.c_str());
  }
  return range;
}

/** "NAME is "value"" for each of the variables that are set, for error texts. */
std::string settings_text(const Filters& filters, std::initializer_list<const char*> variables) {
  std::string text;
  for (const char* variable : variables) {
    const auto found = filters.find(variable);
    if (found != filters.end()) text += (text.empty() ? "" : " and ") + found->first + " is \"" + found->second + "\"";
  }
  return text;
}

} // namespace

const char* kind_name(Kind kind) { return kind == Kind::transpose ? "transpose" : "halo"; }

const char* backend_name(Kind kind, int backend) {
  return kind == Kind::transpose
             ? cudecompTransposeCommBackendToString(static_cast<cudecompTransposeCommBackend_t>(backend))
             : cudecompHaloCommBackendToString(static_cast<cudecompHaloCommBackend_t>(backend));
}

Tuned tuned(const cudecompGridDescConfig_t& config, const cudecompGridDescAutotuneOptions_t* options) {
  if (!options) return {};
  return {config.pdims[0] == 0 && config.pdims[1] == 0, options->autotune_transpose_backend,
          options->autotune_halo_backend};
}

Filters read_filters(const Tuned& tuned) {
  Filters filters;
  const auto read = [&](bool concerned, const char* variable) {
    const char* value = concerned ? std::getenv(variable) : nullptr;
    if (value) filters[variable] = value;
  };
  read(tuned.transpose_backend, transpose_variable);
  read(tuned.halo_backend, halo_variable);
  read(tuned.grid, rows_variable);
  read(tuned.grid, cols_variable);
  return filters;
}

std::vector<ProcessGrid> process_grids(int nranks, const Filters& filters) {
  const Range rows_range = range_of(rows_variable, filters), cols_range = range_of(cols_variable, filters);
  std::vector<ProcessGrid> grids;
  for (int rows = 1; rows <= nranks; ++rows) {
    if (nranks % rows == 0 && rows_range.holds(rows) && cols_range.holds(nranks / rows))
      grids.push_back({rows, nranks / rows});
  }
  if (grids.empty()) {
    invalid_usage("no process grid of %d ranks is left to choose from: %s", nranks,
                  settings_text(filters, {rows_variable, cols_variable}).c_str());
  }
  return grids;
}

std::vector<int> backends(Kind kind, const cudecompGridDescAutotuneOptions_t& options, const Filters& filters) {
  const std::vector<int> own = own_backends(kind);
  const char* variable = kind == Kind::transpose ? transpose_variable : halo_variable;
  const auto found = filters.find(variable);
  std::vector<int> left = found == filters.end() ? own : filtered(kind, variable, found->second, own);
  if (left.empty()) {
    invalid_usage("no %s backend is left to choose from: %s, and the built-in engine has %s", kind_name(kind),
                  settings_text(filters, {variable}).c_str(), names_of(kind, own).c_str());
  }
  if (options.disable_mpi_backends) {
    invalid_usage("no %s backend is left to choose from: disable_mpi_backends is set, and the built-in engine has only "
                  "MPI backends (%s)",
                  kind_name(kind), names_of(kind, own).c_str());
  }
  return left;
}

} // namespace cudecomp
