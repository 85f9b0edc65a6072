// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

#include "api/objects.h"

#include <sys/mman.h>

namespace cudecomp {

void* Workspace::at_least(size_t bytes) {
  if (bytes <= bytes_)
    return data_;
  release();
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw std::bad_alloc();
  madvise(pages, bytes, MADV_HUGEPAGE); // a wish: where the system refuses, small pages do
  data_ = pages;
  bytes_ = bytes;
  return data_;
}

void Workspace::release() {
  if (data_)
    munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

} // namespace cudecomp
