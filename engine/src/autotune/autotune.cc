// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "autotune/autotune.h"

#include <algorithm>
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

/** A candidate in the running. It shares the descriptor of its process grid, with the communicators, but not plans. */
struct Contender {
  size_t candidate; ///< place in the report
  int backend;
  cudecompGridDesc* grid;
  std::vector<Operation> operations;
  std::vector<double> seconds; ///< this rank's, by trial, then by operation
  bool running;                ///< whether trials are still to come
  decltype(cudecompGridDesc::transposes) transposes;
  decltype(cudecompGridDesc::halos) halos;
};

/** Puts a contender's backend and plans into the descriptor for as long as it runs. */
class Turn {
public:
  Turn(Kind kind, Contender& contender) : contender_(contender) {
    set_backend(kind, contender.backend, contender.grid->config);
    swap_plans();
  }
  ~Turn() { swap_plans(); }

private:
  void swap_plans() {
    contender_.grid->transposes.swap(contender_.transposes);
    contender_.grid->halos.swap(contender_.halos);
  }
  Contender& contender_;
};

/** Runs the phases of one autotuning: candidates of one kind each. */
class Tuner {
public:
  Tuner(cudecompHandle& handle, const cudecompGridDescConfig_t& config, const Options& options);

  /** Measures and decides; afterwards config() is complete. */
  void run();

  const cudecompGridDescConfig_t& config() const { return config_; }
  const Report& report() const { return report_; }

private:
  using Grids = std::vector<std::unique_ptr<cudecompGridDesc>>;

  std::vector<int> backends_of(Kind kind) const;
  void choose(Kind kind, const std::vector<ProcessGrid>& process_grids);
  std::vector<Contender> enter(Kind kind, const Grids& grids);
  std::string why_not(Kind kind, const cudecompGridDesc& grid) const;
  std::string make_room(Kind kind, const cudecompGridDesc& grid);
  void run_trials(Kind kind, std::vector<Contender>& contenders);
  void prepare(Kind kind, std::vector<Contender>& contenders);
  void take_turns(Kind kind, std::vector<Contender>& contenders);
  void drop_slow(std::vector<Contender>& contenders);
  void sum_up(std::vector<Contender>& contenders);
  bool is_given_up(const Contender& contender, double& best);
  int best_of(Kind kind) const;
  std::string reasons_of(Kind kind) const;
  void progress(const Candidate& candidate);
  /** Of a candidate: a preparation, its trials, and as many once more. */
  int steps() const { return 1 + 2 * options_.n_trials; }

  cudecompHandle& handle_;
  cudecompGridDescConfig_t config_;
  const Options& options_;
  Report report_;
  std::vector<int> transpose_backends_, halo_backends_;
  Arrays arrays_;
  ArraySizes sizes_; ///< that the arrays have at least
  int done_ = 0;     ///< steps that are behind: preparations and trials of candidates
  int total_ = 0;    ///< steps in all
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
  const int candidates =
      (first_runs ? count(first) * static_cast<int>(grids.size()) : 0) + (second_runs ? count(second) : 0);
  total_ = candidates * steps();

  if (first_runs) choose(first, grids);
  if (second_runs) // on the grid that the first has decided, or the user's
    choose(second, {{config_.pdims[0], config_.pdims[1]}});
  report_.seconds = MPI_Wtime() - start;
  // Reports are equal on all ranks.
  check_mpi(MPI_Bcast(&report_.seconds, 1, MPI_DOUBLE, 0, handle_.comm.get()), "MPI_Bcast");
  if (handle_.progress) handle_.progress(total_, total_, "", handle_.progress_context);
}

void Tuner::choose(Kind kind, const std::vector<ProcessGrid>& process_grids) {
  Grids grids;
  for (const ProcessGrid& process_grid : process_grids) {
    cudecompGridDescConfig_t config = config_;
    config.pdims[0] = process_grid[0];
    config.pdims[1] = process_grid[1];
    grids.push_back(build_grid(handle_, config));
  }
  std::vector<Contender> contenders = enter(kind, grids);
  run_trials(kind, contenders);

  const int best = best_of(kind);
  if (best < 0) not_supported("no valid candidate to autotune %ss with: %s", kind_name(kind), reasons_of(kind).c_str());
  Candidate& chosen = report_.candidates[best];
  chosen.chosen = true;
  config_.pdims[0] = chosen.grid[0];
  config_.pdims[1] = chosen.grid[1];
  set_backend(kind, chosen.backend, config_);
}

/** Lists the candidates of a kind in the report, and returns those that can run. */
std::vector<Contender> Tuner::enter(Kind kind, const Grids& grids) {
  std::vector<Contender> contenders;
  for (const auto& grid : grids) {
    std::string skipped = why_not(kind, *grid);
    if (skipped.empty()) skipped = make_room(kind, *grid);
    for (int backend : kind == Kind::transpose ? transpose_backends_ : halo_backends_) {
      Candidate candidate{kind, {grid->config.pdims[0], grid->config.pdims[1]}, backend, {}, {}, {}};
      candidate.measured.skipped = skipped;
      if (skipped.empty()) {
        contenders.push_back({report_.candidates.size(), backend, grid.get(), {}, {}, true, {}, {}});
      } else {
        done_ += steps();
      }
      report_.candidates.push_back(candidate);
    }
  }
  // The arrays do not move any more.
  touch_arrays(arrays_);
  for (Contender& contender : contenders) {
    contender.operations = trial_operations(kind, *contender.grid, options_, arrays_);
    for (const Operation& operation : contender.operations) {
      report_.candidates[contender.candidate].operations.push_back(operation.name);
      report_.candidates[contender.candidate].weights.push_back(operation.weight);
    }
  }
  return contenders;
}

/** Collective: lets the arrays grow to what a grid needs. Why they cannot, alike on all ranks; empty if they can. */
std::string Tuner::make_room(Kind kind, const cudecompGridDesc& grid) {
  const ArraySizes needed = array_sizes(kind, grid, options_);
  const ArraySizes wanted{std::max(needed.first, sizes_.first), std::max(needed.second, sizes_.second)};
  std::string why = refusal([&] { make_arrays(handle_, wanted, arrays_); });
  if (why.empty()) {
    sizes_ = wanted;
  } else {
    make_arrays(handle_, sizes_, arrays_); // an array that cannot grow is gone
  }
  return why;
}

/** Trials of all contenders, and then of those that may be the best as many again. */
void Tuner::run_trials(Kind kind, std::vector<Contender>& contenders) {
  prepare(kind, contenders);
  take_turns(kind, contenders);
  drop_slow(contenders);
  take_turns(kind, contenders);
  sum_up(contenders);
}

/** Runs each once before the warm-ups, so that plans, workspace and first touches are never timed. */
void Tuner::prepare(Kind kind, std::vector<Contender>& contenders) {
  for (Contender& contender : contenders) {
    progress(report_.candidates[contender.candidate]);
    const Turn turn(kind, contender);
    for (int trial = 0; trial < 1 + options_.n_warmup_trials; ++trial) {
      for (const Operation& operation : contender.operations) operation.run();
    }
    ++done_;
  }
}

/** Trials in turns, forth and back: what disturbs the machine for a while disturbs all alike, and nobody always runs
 * after the same one, which leaves the caches better for some than for others. */
void Tuner::take_turns(Kind kind, std::vector<Contender>& contenders) {
  double best = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < options_.n_trials; ++trial) {
    for (size_t turn = 0; turn < contenders.size(); ++turn) {
      Contender& contender = contenders[trial % 2 ? contenders.size() - 1 - turn : turn];
      if (!contender.running) continue;
      progress(report_.candidates[contender.candidate]);
      const bool first = contender.seconds.empty();
      const Turn in_place(kind, contender);
      const std::vector<double> seconds = run_timed(handle_, contender.operations);
      contender.seconds.insert(contender.seconds.end(), seconds.begin(), seconds.end());
      contender.running = !(first && is_given_up(contender, best));
      done_ += contender.running ? 1 : 2 * options_.n_trials;
    }
  }
}

/** Ends the trials of those that are behind by more than disturbances explain. */
void Tuner::drop_slow(std::vector<Contender>& contenders) {
  constexpr double behind = 1.5;
  sum_up(contenders);
  double best = std::numeric_limits<double>::infinity();
  for (const Contender& contender : contenders) {
    if (contender.running) best = std::min(best, report_.candidates[contender.candidate].measured.total);
  }
  for (Contender& contender : contenders) {
    if (!contender.running || report_.candidates[contender.candidate].measured.total <= behind * best) continue;
    contender.running = false;
    done_ += options_.n_trials;
  }
}

/** What the trials of each contender have come to so far. */
void Tuner::sum_up(std::vector<Contender>& contenders) {
  for (Contender& contender : contenders) {
    Measurement& measured = report_.candidates[contender.candidate].measured;
    if (measured.skipped.empty()) measured = summary(handle_, contender.operations, contender.seconds);
  }
}

/** After a first trial: whether the skip threshold ends it there. `best` is the time of the best first trial so far. */
bool Tuner::is_given_up(const Contender& contender, double& best) {
  if (options_.skip_threshold == 0) return false;
  const double total = trial_total(handle_, contender.operations, contender.seconds);
  const bool slow = options_.skip_threshold * total > best;
  if (slow) {
    report_.candidates[contender.candidate].measured.skipped =
        format("the first trial took %.6g s, and skip_threshold %g times that is above the best so far, %.6g s", total,
               options_.skip_threshold, best);
  }
  best = std::min(best, total);
  return slow;
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

/** Tells the caller's display what runs next. */
void Tuner::progress(const Candidate& candidate) {
  if (!handle_.progress) return;
  const std::string text =
      format("%d x %d %s", candidate.grid[0], candidate.grid[1], backend_name(candidate.kind, candidate.backend));
  handle_.progress(done_, total_, text.c_str(), handle_.progress_context);
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
