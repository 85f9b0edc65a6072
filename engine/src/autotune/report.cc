// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/report.h"

#include "common/json.h"

namespace cudecomp {

namespace {

void write_times(Json& json, const Candidate& candidate) {
  json.key("times").raw("{");
  for (size_t k = 0; k < candidate.measured.times.size(); ++k) {
    const Times& times = candidate.measured.times[k];
    json.raw(k ? ", " : "").string(candidate.operations[k]).raw(": {");
    json.key("min").number(times.min).raw(", ").key("mean").number(times.mean).raw(", ");
    json.key("max").number(times.max).raw(", ").key("weight").number(candidate.weights[k]).raw("}");
  }
  json.raw("}");
}

void write_candidate(Json& json, const Candidate& candidate) {
  json.raw("{").key("kind").string(kind_name(candidate.kind)).raw(", ");
  json.grid(candidate.grid[0], candidate.grid[1]).raw(", ");
  json.key("backend").string(backend_name(candidate.kind, candidate.backend)).raw(", ");
  write_times(json, candidate);
  const bool skipped = !candidate.measured.skipped.empty();
  json.raw(", ").key("total");
  if (skipped) {
    json.raw("null, ").key("skipped").string(candidate.measured.skipped);
  } else {
    json.number(candidate.measured.total).raw(", ").key("skipped").raw("null");
  }
  json.raw(", ").key("chosen").boolean(candidate.chosen).raw("}");
}

} // namespace

std::string to_json(const Report& report, const cudecompGridDescConfig_t& config) {
  Json json;
  json.raw("{").key("engine").string("builtin").raw(", ").key("version").string(CUDECOMP_BUILTIN_VERSION).raw(", ");
  json.key("ranks").number(report.ranks).raw(", ").key("seconds").number(report.seconds).raw(", ");
  json.key("tuned").raw("{").key("pdims").boolean(report.tuned.grid).raw(", ");
  json.key("transpose_comm_backend").boolean(report.tuned.transpose_backend).raw(", ");
  json.key("halo_comm_backend").boolean(report.tuned.halo_backend).raw("}, ");
  json.key("environment").raw("{");
  const char* separator = "";
  for (const auto& [variable, value] : report.filters) {
    json.raw(separator).string(variable).raw(": ").string(value);
    separator = ", ";
  }
  json.raw("}, ").key("chosen").raw("{").grid(config.pdims[0], config.pdims[1]).raw(", ");
  json.key("transpose_comm_backend").string(backend_name(Kind::transpose, config.transpose_comm_backend)).raw(", ");
  json.key("halo_comm_backend").string(backend_name(Kind::halo, config.halo_comm_backend)).raw("}, ");
  json.key("candidates").raw("[");
  separator = "";
  for (const Candidate& candidate : report.candidates) {
    json.raw(separator);
    write_candidate(json, candidate);
    separator = ", ";
  }
  return json.raw("]}").text();
}

} // namespace cudecomp
