// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "api/checks.h"

#include <algorithm>
#include <climits>

#include "common/error.h"

namespace cudecomp {

namespace {

thread_local std::string last_error_text;

} // namespace

cudecompResult_t result_of_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    last_error_text = error.what();
    return error.result();
  } catch (const std::bad_alloc&) {
    last_error_text = "out of memory";
    return CUDECOMP_RESULT_INTERNAL_ERROR;
  } catch (const std::exception& error) {
    last_error_text = error.what();
    return CUDECOMP_RESULT_INTERNAL_ERROR;
  }
}

const char* last_error() { return last_error_text.c_str(); }

cudecompHandle& checked(cudecompHandle_t handle) {
  if (!handle || handle->tag != handle_tag) invalid_usage("handle is null or was finalized");
  return *handle;
}

cudecompGridDesc& checked(cudecompHandle_t handle, cudecompGridDesc_t grid) {
  checked(handle);
  if (!grid || grid->tag != grid_tag) invalid_usage("grid descriptor is null or was destroyed");
  if (grid->handle != handle) invalid_usage("grid descriptor belongs to another handle");
  return *grid;
}

int checked_axis(const char* name, int32_t axis) {
  if (axis < 0 || axis > 2) invalid_usage("%s is %d, expected 0 (X), 1 (Y) or 2 (Z)", name, axis);
  return axis;
}

int item_size(int dtype) {
  switch (dtype) {
  case CUDECOMP_FLOAT: return 4;
  case CUDECOMP_DOUBLE:
  case CUDECOMP_FLOAT_COMPLEX: return 8;
  case CUDECOMP_DOUBLE_COMPLEX: return 16;
  default:
    invalid_usage("dtype is %d, expected CUDECOMP_FLOAT, DOUBLE, FLOAT_COMPLEX or DOUBLE_COMPLEX (-1 to -4)", dtype);
  }
}

Triple checked_extents(const char* name, const int32_t extents[]) {
  Triple out{};
  if (!extents) return out;
  for (int dim = 0; dim < 3; ++dim) {
    if (extents[dim] < 0) invalid_usage("%s[%d] is %d, expected 0 or more", name, dim, extents[dim]);
    out[dim] = extents[dim];
  }
  return out;
}

Layout checked_layout(const cudecompGridDesc& grid, int axis, const Triple& halo, const Triple& padding) {
  const Layout layout = grid.layout(axis, halo, padding);
  for (int dim = 0; dim < 3; ++dim) {
    // From the whole axis rather than the local part, so that all ranks refuse alike.
    const int64_t extent = grid.decomposition->gdims()[dim] + 2 * halo[dim] + padding[dim];
    if (extent > INT32_MAX) {
      invalid_usage("the %s extent with halo and padding is %lld, expected at most 2147483647", axis_names[dim],
                    static_cast<long long>(extent));
    }
  }
  return layout;
}

void check_not_null(const char* name, const void* pointer) {
  if (!pointer) invalid_usage("%s is null", name);
}

void check_struct(const char* name, int64_t size, int64_t expected_size, int32_t version, int32_t expected_version) {
  if (version != expected_version) {
    invalid_usage("%s has layout version %d, this library knows version %d", name, version, expected_version);
  }
  if (size != expected_size) {
    invalid_usage("%s has %lld bytes, layout version %d has %lld", name, static_cast<long long>(size), version,
                  static_cast<long long>(expected_size));
  }
}

std::string text_from(const cudecompHandle& handle, int rank, std::string text) {
  int length = static_cast<int>(text.size());
  check_mpi(MPI_Bcast(&length, 1, MPI_INT, rank, handle.comm.get()), "MPI_Bcast");
  text.resize(static_cast<size_t>(length));
  check_mpi(MPI_Bcast(text.data(), length, MPI_CHAR, rank, handle.comm.get()), "MPI_Bcast");
  return text;
}

void agree(const cudecompHandle& handle, const Fingerprint& fingerprint, const std::function<void()>& local_check) {
  int result = CUDECOMP_RESULT_SUCCESS;
  std::string text;
  try {
    local_check();
  } catch (const Error& error) {
    result = error.result();
    text = error.what();
  }

  // The first difference to rank 0, or the count of values where there is none; an error counts as -1.
  const int same = static_cast<int>(fingerprint.values.size());
  std::vector<int64_t> reference = fingerprint.values;
  check_mpi(MPI_Bcast(reference.data(), same, MPI_INT64_T, 0, handle.comm.get()), "MPI_Bcast");
  struct {
    int key, rank;
  } mine, first;
  mine.key = static_cast<int>(std::mismatch(reference.begin(), reference.end(), fingerprint.values.begin()).first -
                              reference.begin());
  if (result != CUDECOMP_RESULT_SUCCESS) mine.key = -1;
  mine.rank = handle.rank;
  check_mpi(MPI_Allreduce(&mine, &first, 1, MPI_2INT, MPI_MINLOC, handle.comm.get()), "MPI_Allreduce");
  if (first.key == same) return;

  if (first.key < 0) {
    int failed = result != CUDECOMP_RESULT_SUCCESS, everywhere = 0;
    check_mpi(MPI_Allreduce(&failed, &everywhere, 1, MPI_INT, MPI_LAND, handle.comm.get()), "MPI_Allreduce");
    check_mpi(MPI_Bcast(&result, 1, MPI_INT, first.rank, handle.comm.get()), "MPI_Bcast");
    text = text_from(handle, first.rank, text);
    if (!everywhere) text = format("on rank %d: %s", first.rank, text.c_str());
    throw Error(static_cast<cudecompResult_t>(result), text);
  }
  int64_t theirs = fingerprint.values[first.key];
  check_mpi(MPI_Bcast(&theirs, 1, MPI_INT64_T, first.rank, handle.comm.get()), "MPI_Bcast");
  invalid_usage("%s differs between ranks: rank 0 has %lld, rank %d has %lld; all ranks must pass the same values",
                fingerprint.names[first.key].c_str(), static_cast<long long>(reference[first.key]), first.rank,
                static_cast<long long>(theirs));
}

} // namespace cudecomp
