// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

/** @file
 * Exported functions that make and end handles and grid descriptors.
 */

#include <cstdlib>
#include <system_error>

#include "api/checks.h"
#include "api/config.h"
#include "api/export.h"
#include "api/grid.h"
#include "autotune/autotune.h"
#include "common/error.h"
#include "report/report.h"

using namespace cudecomp;

namespace {

/** A number from the environment, `unset` where it is not set. */
int64_t number_from_environment(const char* name, int64_t least, int64_t unset, int64_t most = INT32_MAX) {
  const char* setting = std::getenv(name);
  if (!setting) return unset;
  char* end = nullptr;
  const long long number = std::strtoll(setting, &end, 10);
  if (end == setting || *end || number < least || number > most) {
    invalid_usage("%s is \"%s\", expected a number from %lld to %lld", name, setting, static_cast<long long>(least),
                  static_cast<long long>(most));
  }
  return number;
}

/** How ranks reach each other, and what is reported; alike on all ranks. */
struct Settings {
  int64_t message_limit = 0;  ///< elements of one MPI message, 0 for the default
  int64_t ranks_per_node = 0; ///< ranks taken to share memory: 0 for those of the node, 1 for none
  ReportSettings reporting;
  int64_t cpu_threads = 1; ///< that share the copies of a rank
};

constexpr const char* message_limit_variable = "CUDECOMP_BUILTIN_MAX_MESSAGE_ELEMENTS";
constexpr int64_t most_cpu_threads = 1024;
constexpr const char* cpu_threads_variable = "CUDECOMP_CPU_THREADS";
constexpr const char* ranks_per_node_variable = "CUDECOMP_BUILTIN_RANKS_PER_NODE";
constexpr const char* report_variables[] = {"CUDECOMP_ENABLE_PERFORMANCE_REPORT", "CUDECOMP_PERFORMANCE_REPORT_DETAIL",
                                            "CUDECOMP_PERFORMANCE_REPORT_SAMPLES",
                                            "CUDECOMP_PERFORMANCE_REPORT_WARMUP_SAMPLES"};

ReportSettings reporting_from_environment() {
  ReportSettings reporting;
  reporting.enabled = number_from_environment(report_variables[0], 0, 0, 1) != 0;
  reporting.detail = static_cast<int>(number_from_environment(report_variables[1], 0, reporting.detail, 2));
  reporting.samples = static_cast<int>(number_from_environment(report_variables[2], 1, reporting.samples));
  reporting.warmups = static_cast<int>(number_from_environment(report_variables[3], 0, reporting.warmups));
  const char* folder = std::getenv("CUDECOMP_PERFORMANCE_REPORT_WRITE_DIR");
  if (folder) reporting.folder = folder;
  return reporting;
}

Settings agreed_settings(const cudecompHandle& handle) {
  Settings settings;
  agree(handle, {}, [&] {
    settings.message_limit = number_from_environment(message_limit_variable, 1, 0);
    settings.ranks_per_node = number_from_environment(ranks_per_node_variable, 1, 0);
    settings.reporting = reporting_from_environment();
    settings.cpu_threads = number_from_environment(cpu_threads_variable, 1, 1, most_cpu_threads);
  });
  Fingerprint print;
  print.add(message_limit_variable, settings.message_limit);
  print.add(ranks_per_node_variable, settings.ranks_per_node);
  const ReportSettings& reporting = settings.reporting;
  print.add(report_variables[0], reporting.enabled);
  print.add(report_variables[1], reporting.detail);
  print.add(report_variables[2], reporting.samples);
  print.add(report_variables[3], reporting.warmups);
  print.add(cpu_threads_variable, settings.cpu_threads);
  agree(handle, print, [] {});
  return settings;
}

std::unique_ptr<Team> make_team(int threads) {
  try {
    return std::make_unique<Team>(threads);
  } catch (const std::system_error& error) {
    internal_error("cannot start the %d threads that %s asks for: %s", threads - 1, cpu_threads_variable, error.what());
  }
}

void check_mpi_runs() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) invalid_usage("MPI is not initialized: call MPI_Init first");
  MPI_Finalized(&finalized);
  if (finalized) invalid_usage("MPI has been finalized");
}

void init(cudecompHandle_t* handle, MPI_Comm mpi_comm) {
  check_not_null("handle", handle);
  check_mpi_runs();
  if (mpi_comm == MPI_COMM_NULL) invalid_usage("mpi_comm is MPI_COMM_NULL");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(mpi_comm, &inter), "MPI_Comm_test_inter");
  if (inter) invalid_usage("mpi_comm is an intercommunicator, expected an intracommunicator");

  auto created = std::make_unique<cudecompHandle>();
  created->comm = Comm::duplicate(mpi_comm);
  created->rank = created->comm.rank();
  created->nranks = created->comm.size();
  created->largest_message_bytes = int64_t{1} << 30;
  const Settings settings = agreed_settings(*created);
  created->largest_message_elements = settings.message_limit;
  created->reporting = settings.reporting;
  if (settings.cpu_threads > 1) {
    agree(*created, {}, [&] { created->team = make_team(static_cast<int>(settings.cpu_threads)); });
  }
  if (created->nranks > 1 && settings.ranks_per_node != 1) {
    created->node = Node::create(created->comm, static_cast<int>(settings.ranks_per_node));
  }
  *handle = created.release();
}

void create(cudecompHandle& handle, cudecompGridDesc_t* grid_desc, cudecompGridDescConfig_t& config,
            const cudecompGridDescAutotuneOptions_t* options) {
  agree(handle, fingerprint(config, options), [&] {
    check_config(config, handle.nranks, tuned(config, options));
    if (options) check_options(*options);
    if (pdims_unset(config) && !options) {
      invalid_usage("pdims is (0, 0) and there are no options: set pdims, or pass options to autotune it");
    }
  });
  cudecompGridDescConfig_t complete = config;
  std::string report = autotune(handle, complete, options);
  std::unique_ptr<cudecompGridDesc> grid = build_grid(handle, complete);
  grid->autotune_report = std::move(report);
  if (handle.reporting.enabled) grid->recorder = std::make_unique<Recorder>(handle.reporting);
  config = complete;
  ++handle.grids;
  *grid_desc = grid.release();
}

} // namespace

CUDECOMP_EXPORT cudecompResult_t cudecompInit(cudecompHandle_t* handle, MPI_Comm mpi_comm) {
  return guarded([&] { init(handle, mpi_comm); });
}

CUDECOMP_EXPORT cudecompResult_t cudecompInit_F(cudecompHandle_t* handle, MPI_Fint mpi_comm_f) {
  return guarded([&] {
    check_mpi_runs();
    init(handle, MPI_Comm_f2c(mpi_comm_f));
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompFinalize(cudecompHandle_t handle) {
  return guarded([&] {
    checked(handle);
    if (handle->grids > 0) {
      invalid_usage("%d grid descriptors of this handle are alive: destroy them first", handle->grids);
    }
    handle->tag = 0;
    delete handle;
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGridDescCreateVersioned(cudecompHandle_t handle, cudecompGridDesc_t* grid_desc,
                                                                 cudecompGridDescConfig_t* config,
                                                                 int64_t config_struct_size, int32_t config_version,
                                                                 const cudecompGridDescAutotuneOptions_t* options,
                                                                 int64_t options_struct_size, int32_t options_version) {
  return guarded([&] {
    checked(handle);
    check_not_null("grid_desc", grid_desc);
    check_not_null("config", config);
    check_struct("config", config_struct_size, sizeof *config, config_version, CUDECOMP_GRID_DESC_CONFIG_VERSION);
    if (config->magic != CUDECOMP_GRID_DESC_CONFIG_MAGIC || config->struct_size != sizeof *config) {
      invalid_usage("config is not initialized: call cudecompGridDescConfigSetDefaults first");
    }
    if (options) {
      check_struct("options", options_struct_size, sizeof *options, options_version,
                   CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_VERSION);
      if (options->magic != CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_MAGIC || options->struct_size != sizeof *options) {
        invalid_usage("options are not initialized: call cudecompGridDescAutotuneOptionsSetDefaults first");
      }
    }
    create(*handle, grid_desc, *config, options);
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGridDescDestroy(cudecompHandle_t handle, cudecompGridDesc_t grid_desc) {
  return guarded([&] {
    checked(handle, grid_desc);
    const std::unique_ptr<cudecompGridDesc> grid(grid_desc); // whatever becomes of the report
    grid->tag = 0;
    --handle->grids;
    if (grid->recorder) publish_report(*grid);
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompBuiltinGetPerformanceReport(cudecompHandle_t handle,
                                                                     cudecompGridDesc_t grid_desc, const char** json) {
  return guarded([&] {
    cudecompGridDesc& grid = checked(handle, grid_desc);
    check_not_null("json", json);
    if (!grid.recorder) {
      invalid_usage("nothing is recorded: set CUDECOMP_ENABLE_PERFORMANCE_REPORT=1 on all ranks before the handle is "
                    "made");
    }
    grid.performance_report = report_json(grid);
    *json = grid.performance_report.c_str();
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGridDescConfigSetDefaultsVersioned(cudecompGridDescConfig_t* config,
                                                                            int64_t struct_size, int32_t version) {
  return guarded([&] {
    check_not_null("config", config);
    check_struct("config", struct_size, sizeof *config, version, CUDECOMP_GRID_DESC_CONFIG_VERSION);
    *config = default_config();
  });
}

CUDECOMP_EXPORT cudecompResult_t cudecompGridDescAutotuneOptionsSetDefaultsVersioned(
    cudecompGridDescAutotuneOptions_t* options, int64_t struct_size, int32_t version) {
  return guarded([&] {
    check_not_null("options", options);
    check_struct("options", struct_size, sizeof *options, version, CUDECOMP_GRID_DESC_AUTOTUNE_OPTIONS_VERSION);
    *options = default_options();
  });
}
