// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "report/report.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "api/checks.h"
#include "common/error.h"
#include "common/json.h"
#include "report/summary.h"

namespace cudecomp {

namespace {

constexpr const char* transpose_names[4] = {"transpose_x_to_y", "transpose_y_to_z", "transpose_z_to_y",
                                            "transpose_y_to_x"};
constexpr const char* halo_names[3] = {"update_halos_x", "update_halos_y", "update_halos_z"};
constexpr const char* type_names[4] = {"FLOAT", "DOUBLE", "FLOAT_COMPLEX", "DOUBLE_COMPLEX"};

/** An operation in words. */
struct Words {
  explicit Words(const OperationKey& key)
      : halo(key[0] == 1), name(halo ? halo_names[key[1]] : transpose_names[key[1]]), dim(halo ? key[2] : -1),
        type(type_names[-1 - key[3]]), flag(key[4] != 0) {
    for (int triple = 0; triple < 4; ++triple) {
      for (int k = 0; k < 3; ++k) extents[triple][k] = key[5 + 3 * triple + k];
    }
  }

  bool halo;
  const char* name;
  int dim; ///< of a halo update, -1 for transposes
  const char* type;
  bool flag;                         ///< in place, or periodic
  std::array<int32_t, 3> extents[4]; ///< input and output halo, input and output padding; of halo updates the inputs
};

std::string joined(const std::array<int32_t, 3>& numbers, const char* separator) {
  return format("%d%s%d%s%d", numbers[0], separator, numbers[1], separator, numbers[2]);
}

const char* transpose_backend(const cudecompGridDesc& grid) {
  return cudecompTransposeCommBackendToString(grid.config.transpose_comm_backend);
}
const char* halo_backend(const cudecompGridDesc& grid) {
  return cudecompHaloCommBackendToString(grid.config.halo_comm_backend);
}

// Text, for people.

/** What makes an operation other than the plain one. */
std::string particulars(const Words& words) {
  constexpr const char* transpose_labels[4] = {"halo in", "halo out", "padding in", "padding out"};
  constexpr const char* halo_labels[4] = {"halo", "", "padding", ""};
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (words.flag) add(words.halo ? "periodic" : "in place");
  for (int triple = 0; triple < 4; ++triple) {
    if (words.extents[triple] == std::array<int32_t, 3>{}) continue;
    add(std::string((words.halo ? halo_labels : transpose_labels)[triple]) + " " + joined(words.extents[triple], ","));
  }
  return text;
}

std::string title(const Words& words) {
  return words.halo ? format("%s along %s", words.name, axis_names[words.dim]) : words.name;
}

/** A figure in a column of the table, "-" where it is none. */
std::string figure(double value, double unit, int decimals) {
  return std::isfinite(value) ? format("%.*f", decimals, value / unit) : "-";
}

std::string row_text(const Row& row) {
  const Words words(row.operation);
  const std::string more = particulars(words);
  return format("%-24s %-14s %8lld %10s %10s %10s %8s %8s %10s%s%s\n", title(words).c_str(), words.type,
                static_cast<long long>(row.calls), figure(row.mean(), 1e-3, 3).c_str(),
                figure(row.shortest(), 1e-3, 3).c_str(), figure(row.longest(), 1e-3, 3).c_str(),
                figure(row.bandwidth(), 1e9, 2).c_str(), figure(row.exchange_share(), 0.01, 1).c_str(),
                figure(row.exchange_bandwidth(), 1e9, 2).c_str(), more.empty() ? "" : "  ", more.c_str());
}

std::string table(const cudecompGridDesc& grid, const Summary& summary) {
  const ReportSettings& settings = grid.recorder->settings();
  const cudecompGridDescConfig_t& config = grid.config;
  std::string text =
      format("cudecomp performance report: %d x %d x %d points on %d x %d ranks, transposes %s, halos %s\n"
             "mean, min and max of the latest %d calls of each rank, the first %d left out; GB/s per rank\n",
             config.gdims[0], config.gdims[1], config.gdims[2], config.pdims[0], config.pdims[1],
             transpose_backend(grid), halo_backend(grid), settings.samples, settings.warmups);
  text += format("%-24s %-14s %8s %10s %10s %10s %8s %8s %10s\n", "operation", "type", "calls", "mean/ms", "min/ms",
                 "max/ms", "GB/s", "exch./%", "exch. GB/s");
  for (const Row& row : summary.rows) text += row_text(row);
  if (summary.unrecorded > 0) {
    text += format("not recorded: %lld calls of more different operations than are told apart\n",
                   static_cast<long long>(summary.unrecorded));
  }
  return text;
}

std::string samples_text(const Summary& summary) {
  std::string text;
  for (const Row& row : summary.rows) {
    const Words words(row.operation);
    const std::string more = particulars(words);
    for (const auto& [rank, samples] : row.by_rank) {
      text += format("%s %s%s%s, rank %d, ms (of exchange):", title(words).c_str(), words.type,
                     more.empty() ? "" : ", ", more.c_str(), rank);
      for (const Sample& sample : samples) text += format(" %.3f (%.3f)", sample.seconds * 1e3, sample.exchange * 1e3);
      text += "\n";
    }
  }
  return text;
}

// JSON, for programs.

void write_operation(Json& json, const Words& words) {
  const char* separator = ", ";
  json.key("operation").string(words.name).raw(separator).key("dtype").string(words.type).raw(separator);
  if (words.halo) {
    json.key("dim").integer(words.dim).raw(separator).key("periodic").boolean(words.flag).raw(separator);
    json.key("halo_extents").integers(words.extents[0]).raw(separator);
    json.key("padding").integers(words.extents[2]).raw(separator);
    return;
  }
  constexpr const char* names[4] = {"input_halo_extents", "output_halo_extents", "input_padding", "output_padding"};
  json.key("in_place").boolean(words.flag).raw(separator);
  for (int triple = 0; triple < 4; ++triple) json.key(names[triple]).integers(words.extents[triple]).raw(separator);
}

void write_samples(Json& json, const Row& row) {
  json.key("by_rank").raw("{");
  const char* separator = "";
  for (const auto& [rank, samples] : row.by_rank) {
    json.raw(separator).string(std::to_string(rank)).raw(": ");
    const char* opening = "[";
    for (const Sample& sample : samples) {
      json.raw(opening).raw("[").number(sample.seconds).raw(", ").number(sample.exchange).raw("]");
      opening = ", ";
    }
    json.raw("]");
    separator = ", ";
  }
  json.raw("}");
}

void write_row(Json& json, const Row& row) {
  json.raw("{");
  write_operation(json, Words(row.operation));
  json.key("ranks").integer(row.ranks).raw(", ").key("calls").integer(row.calls).raw(", ");
  json.key("samples").integer(row.samples).raw(", ").key("mean").measured(row.mean()).raw(", ");
  json.key("min").measured(row.shortest()).raw(", ").key("max").measured(row.longest()).raw(", ");
  json.key("bytes").number(row.mean_bytes()).raw(", ");
  json.key("exchanged_bytes").number(row.mean_exchanged_bytes()).raw(", ");
  json.key("exchange_share").measured(row.exchange_share()).raw(", ");
  json.key("bandwidth").measured(row.bandwidth()).raw(", ");
  json.key("exchange_bandwidth").measured(row.exchange_bandwidth()).raw(", ");
  write_samples(json, row);
  json.raw("}");
}

std::string to_json(const cudecompGridDesc& grid, const Summary& summary) {
  const ReportSettings& settings = grid.recorder->settings();
  Json json;
  json.raw("{").key("ranks").integer(grid.handle->nranks).raw(", ").key("gdims").integers(grid.config.gdims);
  json.raw(", ").key("pdims").integers(grid.config.pdims).raw(", ");
  json.key("transpose_comm_backend").string(transpose_backend(grid)).raw(", ");
  json.key("halo_comm_backend").string(halo_backend(grid)).raw(", ").key("latest").integer(settings.samples);
  json.raw(", ").key("warmups").integer(settings.warmups).raw(", ").key("unrecorded").integer(summary.unrecorded);
  json.raw(", ").key("text").string(table(grid, summary) + samples_text(summary)).raw(", ").key("operations").raw("[");
  const char* separator = "";
  for (const Row& row : summary.rows) {
    json.raw(separator);
    write_row(json, row);
    separator = ", ";
  }
  return json.raw("]}").text();
}

// CSV files, for tables.

/** What all files of a grid have in their names. */
std::string file_suffix(const cudecompGridDesc& grid) {
  const cudecompGridDescConfig_t& config = grid.config;
  std::string orders;
  for (const auto& order : grid.order) {
    for (int dim : order) orders += std::to_string(dim);
  }
  return format("tcomm_%d-hcomm_%d-pdims_%dx%d-gdims_%dx%dx%d-memorder_%s", config.transpose_comm_backend,
                config.halo_comm_backend, config.pdims[0], config.pdims[1], config.gdims[0], config.gdims[1],
                config.gdims[2], orders.c_str());
}

std::string heading(const cudecompGridDesc& grid) {
  const cudecompGridDescConfig_t& config = grid.config;
  return format("# cudecomp performance report\n# gdims: %d %d %d\n# pdims: %d %d\n# transpose backend: %s\n"
                "# halo backend: %s\n",
                config.gdims[0], config.gdims[1], config.gdims[2], config.pdims[0], config.pdims[1],
                transpose_backend(grid), halo_backend(grid));
}

constexpr const char* transpose_columns =
    "operation,dtype,in_place,input_halo_extents,output_halo_extents,input_padding,output_padding";
constexpr const char* halo_columns = "operation,dtype,dim,periodic,halo_extents,padding";

std::string operation_csv(const Words& words) {
  std::string text = format("%s,%s", words.name, words.type);
  if (words.halo) {
    return text + format(",%s,%d,%s,%s", axis_names[words.dim], words.flag, joined(words.extents[0], " ").c_str(),
                         joined(words.extents[2], " ").c_str());
  }
  text += format(",%d", words.flag);
  for (const auto& extents : words.extents) text += "," + joined(extents, " ");
  return text;
}

/** A number as a CSV field, empty where it is none. */
std::string field(double value) { return std::isfinite(value) ? format(",%.9g", value) : ","; }

std::string aggregated_csv(const Summary& summary, bool halo) {
  std::string text = format("%s,ranks,calls,samples,mean_s,min_s,max_s,bytes,exchanged_bytes,exchange_share,"
                            "bandwidth_bytes_per_s,exchange_bandwidth_bytes_per_s\n",
                            halo ? halo_columns : transpose_columns);
  for (const Row& row : summary.rows) {
    const Words words(row.operation);
    if (words.halo != halo) continue;
    text += operation_csv(words) +
            format(",%d,%lld,%lld", row.ranks, static_cast<long long>(row.calls), static_cast<long long>(row.samples));
    for (double value : {row.mean(), row.shortest(), row.longest(), row.mean_bytes(), row.mean_exchanged_bytes(),
                         row.exchange_share(), row.bandwidth(), row.exchange_bandwidth()}) {
      text += field(value);
    }
    text += "\n";
  }
  return text;
}

std::string samples_csv(const Summary& summary, bool halo) {
  std::string text = format("%s,rank,sample,seconds,exchange_s\n", halo ? halo_columns : transpose_columns);
  for (const Row& row : summary.rows) {
    const Words words(row.operation);
    if (words.halo != halo) continue;
    for (const auto& [rank, samples] : row.by_rank) {
      for (size_t k = 0; k < samples.size(); ++k) {
        text += operation_csv(words) + format(",%d,%zu", rank, k) + field(samples[k].seconds) +
                field(samples[k].exchange) + "\n";
      }
    }
  }
  return text;
}

/** A file that cannot be written is no reason for an operation to fail: it is told. */
void write_file(const cudecompGridDesc& grid, const char* kind, const std::string& text) {
  const std::string name = std::string("cudecomp-perf-report-") + kind + "-" + file_suffix(grid);
  // Grids of one handle that are alike must not overwrite each other's files.
  const int before = grid.handle->reports_written[name]++;
  const std::string path =
      grid.recorder->settings().folder + "/" + name + (before ? format("-%d", before + 1) : "") + ".csv";
  errno = 0;
  std::FILE* file = std::fopen(path.c_str(), "w");
  const std::string whole = heading(grid) + text;
  const bool written = file && std::fwrite(whole.data(), 1, whole.size(), file) == whole.size();
  if (!(file && std::fclose(file) == 0 && written))
    std::fprintf(stderr, "cudecomp: cannot write the performance report %s: %s\n", path.c_str(), std::strerror(errno));
}

void write_files(const cudecompGridDesc& grid, const Summary& summary) {
  for (bool halo : {false, true}) {
    write_file(grid, halo ? "halo-aggregated" : "transpose-aggregated", aggregated_csv(summary, halo));
    if (grid.recorder->settings().detail == 0) continue;
    write_file(grid, halo ? "halo-samples" : "transpose-samples", samples_csv(summary, halo));
  }
}

} // namespace

std::string report_json(const cudecompGridDesc& grid) {
  const Summary summary = summarize(grid.handle->comm, *grid.recorder);
  return text_from(*grid.handle, 0, grid.handle->rank == 0 ? to_json(grid, summary) : "");
}

void publish_report(const cudecompGridDesc& grid) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) return;
  const Summary summary = summarize(grid.handle->comm, *grid.recorder);
  if (grid.handle->rank != 0 || summary.rows.empty()) return;
  std::fputs((table(grid, summary) + samples_text(summary)).c_str(), stdout);
  std::fflush(stdout);
  if (!grid.recorder->settings().folder.empty()) write_files(grid, summary);
}

} // namespace cudecomp
