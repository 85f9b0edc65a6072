// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "exchange/comm.h"

#include <algorithm>
#include <string>

#include "common/error.h"

namespace cudecomp {

namespace {

bool mpi_has_ended() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended != 0;
}

} // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(CUDECOMP_RESULT_MPI_ERROR, format("%s failed: %s", call, text));
}

Comm& Comm::operator=(Comm&& other) noexcept {
  std::swap(comm_, other.comm_);
  return *this;
}

Comm::~Comm() {
  if (comm_ != MPI_COMM_NULL && !mpi_has_ended()) MPI_Comm_free(&comm_);
}

Comm Comm::duplicate(MPI_Comm comm) {
  Comm copy;
  check_mpi(MPI_Comm_dup(comm, &copy.comm_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy.comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

Comm Comm::split(int color, int key) const {
  Comm part;
  check_mpi(MPI_Comm_split(comm_, color, key, &part.comm_), "MPI_Comm_split");
  check_mpi(MPI_Comm_set_errhandler(part.comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return part;
}

Comm Comm::split_node(int key) const {
  Comm part;
  check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &part.comm_), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_set_errhandler(part.comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return part;
}

int Comm::rank() const {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
  return rank;
}

int Comm::size() const {
  int size = 0;
  check_mpi(MPI_Comm_size(comm_, &size), "MPI_Comm_size");
  return size;
}

ItemTypes::ItemTypes() {
  for (int k = 0; k < 3; ++k) {
    check_mpi(MPI_Type_contiguous(4 << k, MPI_BYTE, &types_[k]), "MPI_Type_contiguous");
    check_mpi(MPI_Type_commit(&types_[k]), "MPI_Type_commit");
  }
}

ItemTypes::~ItemTypes() {
  if (mpi_has_ended()) return;
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
}

void Messages::send(const void* data, int64_t count, int to, int tag, std::vector<MPI_Request>& requests) const {
  const char* bytes = static_cast<const char*>(data);
  for (int64_t at = 0; at < count; at += largest_) {
    const int piece = static_cast<int>(std::min(largest_, count - at));
    requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Isend(bytes + at * item_, piece, type_, to, tag, comm_, &requests.back()), "MPI_Isend");
  }
}

void Messages::receive(void* data, int64_t count, int from, int tag, std::vector<MPI_Request>& requests) const {
  char* bytes = static_cast<char*>(data);
  for (int64_t at = 0; at < count; at += largest_) {
    const int piece = static_cast<int>(std::min(largest_, count - at));
    requests.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Irecv(bytes + at * item_, piece, type_, from, tag, comm_, &requests.back()), "MPI_Irecv");
  }
}

void Messages::wait(std::vector<MPI_Request>& requests) {
  if (!requests.empty()) {
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }
  requests.clear();
}

void Messages::progress(std::vector<MPI_Request>& requests) const {
  int done = 0;
  if (requests.empty()) {
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &done, MPI_STATUS_IGNORE), "MPI_Iprobe");
  } else {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
  }
}

} // namespace cudecomp
