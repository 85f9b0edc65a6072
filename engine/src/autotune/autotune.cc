// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/autotune.h"

#include <limits>
#include <memory>

#include "api/checks.h"
#include "api/config.h"
#include "api/grid.h"
#include "autotune/candidates.h"
#include "autotune/measure.h"
#include "autotune/report.h"
#include "autotune/trials.h"
#include "common/error.h"

namespace cudecomp {

namespace {

void set_backend(Kind kind, int backend, cudecompGridDescConfig_t& config) {
  if (kind == Kind::transpose) {
    config.transpose_comm_backend = static_cast<cudecompTransposeCommBackend_t>(backend);
  } else {
    config.halo_comm_backend = static_cast<cudecompHaloCommBackend_t>(backend);
  }
}

/** Runs a check that comes out the same on all ranks; its error text, empty if it passes. */
template <typename Check> std::string refusal(Check&& check) {
  try {
    check();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/** Runs the phases of one autotuning: candidates of one kind each. */
class Tuner {
public:
  Tuner(cudecompHandle& handle, const cudecompGridDescConfig_t& config, const Options& options);

  /** Measures and decides; afterwards config() is complete. */
  void run();

  const cudecompGridDescConfig_t& config() const { return config_; }
  const Report& report() const { return report_; }

private:
  std::vector<int> backends_of(Kind kind) const;
  void choose(Kind kind, const std::vector<ProcessGrid>& grids);
  void try_grid(Kind kind, const ProcessGrid& process_grid);
  std::string why_not(Kind kind, const cudecompGridDesc& grid) const;
  Candidate measured(Kind kind, cudecompGridDesc& grid, int backend, double best) const;
  int best_of(Kind kind) const;
  std::string reasons_of(Kind kind) const;
  void progress(const char* text) const;

  cudecompHandle& handle_;
  cudecompGridDescConfig_t config_;
  const Options& options_;
  Report report_;
  std::vector<int> transpose_backends_, halo_backends_;
  Arrays arrays_;
  int total_ = 0; ///< candidates of all phases
};

/** Environments of other ranks are found before anything is decided by one. */
void agree_on_filters(const cudecompHandle& handle, const Filters& filters) {
  std::string mine;
  for (const auto& [variable, value] : filters) mine += variable + " is \"" + value + "\"\n";
  const std::string reference = text_from(handle, 0, mine);
  agree(handle, {}, [&] {
    if (mine == reference) return;
    const auto shown = [](const std::string& text) {
      return text.empty() ? std::string("nothing") : text.substr(0, text.find_last_not_of('\n') + 1);
    };
    invalid_usage("CUDECOMP_AUTOTUNE_… variables differ between ranks: rank 0 has %s, rank %d has %s; set them alike",
                  shown(reference).c_str(), handle.rank, shown(mine).c_str());
  });
}

Tuner::Tuner(cudecompHandle& handle, const cudecompGridDescConfig_t& config, const Options& options)
    : handle_(handle), config_(config), options_(options) {
  report_.tuned = tuned(config, &options);
  report_.filters = read_filters(report_.tuned);
  report_.ranks = handle.nranks;
  agree_on_filters(handle, report_.filters);
  transpose_backends_ = backends_of(Kind::transpose);
  halo_backends_ = backends_of(Kind::halo);
}

/** What is tried of a kind: the user's backend, unless it is to be chosen. */
std::vector<int> Tuner::backends_of(Kind kind) const {
  if (report_.tuned.backend(kind)) return backends(kind, options_, report_.filters);
  return {kind == Kind::transpose ? int{config_.transpose_comm_backend} : int{config_.halo_comm_backend}};
}

void Tuner::run() {
  const double start = MPI_Wtime();
  const Tuned& open = report_.tuned;
  const Kind first = open.grid && options_.grid_mode == CUDECOMP_AUTOTUNE_GRID_HALO ? Kind::halo : Kind::transpose;
  const Kind second = first == Kind::halo ? Kind::transpose : Kind::halo;
  std::vector<ProcessGrid> grids = {{config_.pdims[0], config_.pdims[1]}};
  if (open.grid) grids = process_grids(handle_.nranks, report_.filters);
  const auto count = [&](Kind kind) {
    return static_cast<int>((kind == Kind::transpose ? transpose_backends_ : halo_backends_).size());
  };
  const bool first_runs = open.grid || open.backend(first), second_runs = open.backend(second);
  total_ = (first_runs ? count(first) * static_cast<int>(grids.size()) : 0) + (second_runs ? count(second) : 0);

  if (first_runs) choose(first, grids);
  if (second_runs) // on the grid that the first has decided, or the user's
    choose(second, {{config_.pdims[0], config_.pdims[1]}});
  report_.seconds = MPI_Wtime() - start;
  // Reports are equal on all ranks.
  check_mpi(MPI_Bcast(&report_.seconds, 1, MPI_DOUBLE, 0, handle_.comm.get()), "MPI_Bcast");
  progress("");
}

void Tuner::choose(Kind kind, const std::vector<ProcessGrid>& grids) {
  for (const ProcessGrid& grid : grids) try_grid(kind, grid);
  const int best = best_of(kind);
  if (best < 0) not_supported("no valid candidate to autotune %ss with: %s", kind_name(kind), reasons_of(kind).c_str());
  Candidate& chosen = report_.candidates[best];
  chosen.chosen = true;
  config_.pdims[0] = chosen.grid[0];
  config_.pdims[1] = chosen.grid[1];
  set_backend(kind, chosen.backend, config_);
}

/** Why the candidates of a kind were skipped, each reason once. */
std::string Tuner::reasons_of(Kind kind) const {
  std::string reasons;
  for (const Candidate& candidate : report_.candidates) {
    const std::string reason =
        format("pdims (%d, %d): ", candidate.grid[0], candidate.grid[1]) + candidate.measured.skipped;
    if (candidate.kind == kind && reasons.find(reason) == std::string::npos)
      reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return reasons;
}

/** All backends on one process grid. The descriptor, with its communicators, is made once for them. */
void Tuner::try_grid(Kind kind, const ProcessGrid& process_grid) {
  const std::vector<int>& backends = kind == Kind::transpose ? transpose_backends_ : halo_backends_;
  cudecompGridDescConfig_t config = config_;
  config.pdims[0] = process_grid[0];
  config.pdims[1] = process_grid[1];
  const std::unique_ptr<cudecompGridDesc> grid = build_grid(handle_, config);
  std::string skipped = why_not(kind, *grid);
  if (skipped.empty()) skipped = refusal([&] { make_arrays(handle_, array_sizes(kind, *grid, options_), arrays_); });
  for (int backend : backends) {
    progress(format("%d x %d %s", process_grid[0], process_grid[1], backend_name(kind, backend)).c_str());
    if (!skipped.empty()) {
      Candidate candidate{kind, process_grid, backend, {}, {}, {}};
      candidate.measured.skipped = skipped;
      report_.candidates.push_back(candidate);
      continue;
    }
    const int best = best_of(kind);
    report_.candidates.push_back(
        measured(kind, *grid, backend,
                 best < 0 ? std::numeric_limits<double>::infinity() : report_.candidates[best].measured.total));
  }
}

/** Why nothing of a kind can run on a grid, alike on all ranks; empty if it can. */
std::string Tuner::why_not(Kind kind, const cudecompGridDesc& grid) const {
  if (report_.tuned.grid && !options_.allow_uneven_decompositions) {
    const Triple dims = distributed_dims(config_);
    const int rows = grid.config.pdims[0], cols = grid.config.pdims[1];
    if (dims[0] % rows || dims[1] % rows || dims[1] % cols || dims[2] % cols)
      return "the points split unevenly, and allow_uneven_decompositions is false";
  }
  std::string why = refusal([&] { array_sizes(kind, grid, options_); });
  const Kind other = kind == Kind::transpose ? Kind::halo : Kind::transpose;
  // The second phase must not find itself on a grid where it cannot run.
  if (why.empty() && report_.tuned.grid && report_.tuned.backend(other))
    why = refusal([&] { array_sizes(other, grid, options_); });
  return why;
}

Candidate Tuner::measured(Kind kind, cudecompGridDesc& grid, int backend, double best) const {
  Candidate candidate{kind, {grid.config.pdims[0], grid.config.pdims[1]}, backend, {}, {}, {}};
  set_backend(kind, backend, grid.config);
  const std::vector<Operation> operations = trial_operations(kind, grid, options_, arrays_);
  for (const Operation& operation : operations) {
    candidate.operations.push_back(operation.name);
    candidate.weights.push_back(operation.weight);
  }
  candidate.measured =
      measure(handle_, operations, {options_.n_warmup_trials, options_.n_trials, options_.skip_threshold}, best);
  // Plans belong to the backend they were made with.
  grid.transposes.clear();
  grid.halos.clear();
  return candidate;
}

/** The fastest candidate of a kind, the first of several; -1 while there is none. */
int Tuner::best_of(Kind kind) const {
  int best = -1;
  for (int k = 0; k < static_cast<int>(report_.candidates.size()); ++k) {
    const Candidate& candidate = report_.candidates[k];
    if (candidate.kind != kind || !candidate.measured.skipped.empty()) continue;
    if (best < 0 || candidate.measured.total < report_.candidates[best].measured.total) best = k;
  }
  return best;
}

/** Tells the caller's display what is tried next. */
void Tuner::progress(const char* text) const {
  if (handle_.progress)
    handle_.progress(static_cast<int32_t>(report_.candidates.size()), total_, text, handle_.progress_context);
}

} // namespace

std::string autotune(cudecompHandle& handle, cudecompGridDescConfig_t& config, const Options* options) {
  if (!tuned(config, options).any()) return "null";
  const size_t workspace_before = handle.workspace.bytes();
  struct Restore {
    cudecompHandle& handle;
    size_t bytes;
    ~Restore() { handle.workspace.shrink_to(bytes); }
  } restore{handle, workspace_before};

  Tuner tuner(handle, config, *options);
  tuner.run();
  config.pdims[0] = tuner.config().pdims[0];
  config.pdims[1] = tuner.config().pdims[1];
  config.transpose_comm_backend = tuner.config().transpose_comm_backend;
  config.halo_comm_backend = tuner.config().halo_comm_backend;
  return to_json(tuner.report(), config);
}

} // namespace cudecomp
