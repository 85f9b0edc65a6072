// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// A CUDA driver without a GPU, as far as cudecomp calls it: device memory is host memory that has been announced,
// streams are numbers, and what happens to events is written down.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int Result;
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, CAPTURE_IMPLICIT = 906 };

#define MAX_RANGES 4096
static struct {
  uintptr_t start, end;
  int device;
} ranges[MAX_RANGES];
static int current = 0; // device, -1 for none
static uintptr_t captured = 0;
static char record[4096];
static int synchronized_count = 0;
static int shared_gpu = 0;
static int pushed[8], depth = 0; // devices that others were made current over
static int synchronized_device = -1;
static int fail_identity = 0, fail_synchronize = 0;

// --- for tests

void fake_announce(void* start, size_t bytes, int device) {
  for (int i = 0; i < MAX_RANGES; ++i) {
    if (ranges[i].start == 0 || ranges[i].start == (uintptr_t)start) {
      ranges[i].start = (uintptr_t)start;
      ranges[i].end = (uintptr_t)start + bytes;
      ranges[i].device = device;
      return;
    }
  }
}

void fake_forget(void* start) {
  for (int i = 0; i < MAX_RANGES; ++i) {
    if (ranges[i].start == (uintptr_t)start) ranges[i].start = ranges[i].end = 0;
  }
}

void fake_set_current(int device) { current = device; }
void fake_set_captured(uintptr_t stream) { captured = stream; }
void fake_share_gpu(int shared) { shared_gpu = shared; }
void fake_fail_identity(int fail) { fail_identity = fail; }
void fake_fail_synchronize(int fail) { fail_synchronize = fail; }
int fake_current(void) { return current; }
int fake_synchronized(void) { return synchronized_count; }
int fake_synchronized_device(void) { return synchronized_device; } // the last one

// What has been recorded since the last call.
const char* fake_record(void) {
  static char copy[sizeof(record)];
  memcpy(copy, record, sizeof(record));
  record[0] = 0;
  return copy;
}

static void note(const char* what, uintptr_t stream) {
  size_t used = strlen(record);
  snprintf(record + used, sizeof(record) - used, "%s %lu;", what, (unsigned long)stream);
}

// --- the driver's interface

Result cuCtxGetCurrent(void** context) {
  *context = current < 0 ? NULL : (void*)(uintptr_t)(0x1000 + current);
  return SUCCESS;
}

Result cuCtxPushCurrent_v2(void* context) {
  pushed[depth++] = current;
  current = (int)((uintptr_t)context - 0x1000);
  return SUCCESS;
}

Result cuCtxPopCurrent_v2(void** context) {
  cuCtxGetCurrent(context);
  current = pushed[--depth];
  return SUCCESS;
}

Result cuCtxGetDevice(int* device) {
  *device = current;
  return SUCCESS;
}

Result cuCtxSynchronize(void) {
  if (current < 0) return INVALID_CONTEXT;
  if (fail_synchronize) return INVALID_VALUE;
  ++synchronized_count;
  synchronized_device = current;
  return SUCCESS;
}

Result cuPointerGetAttributes(unsigned count, const int* attributes, void** data, uintptr_t pointer) {
  int device = -2, kind = 0; // for memory that the driver does not know
  for (int i = 0; i < MAX_RANGES; ++i) {
    if (ranges[i].start <= pointer && pointer < ranges[i].end) {
      device = ranges[i].device;
      kind = 2; // a device's
    }
  }
  for (unsigned i = 0; i < count; ++i) *(int*)data[i] = attributes[i] == 9 ? device : kind;
  return SUCCESS;
}

Result cuStreamIsCapturing(void* stream, int* status) {
  if (captured && (uintptr_t)stream <= 1) return CAPTURE_IMPLICIT;
  *status = captured && (uintptr_t)stream == captured;
  return SUCCESS;
}

Result cuEventCreate(void** event, unsigned flags) {
  static uintptr_t next = 0x5000;
  (void)flags;
  *event = (void*)next++;
  return SUCCESS;
}

Result cuEventDestroy_v2(void* event) {
  (void)event;
  return SUCCESS;
}

Result cuEventRecord(void* event, void* stream) {
  (void)event;
  note("record", (uintptr_t)stream);
  return SUCCESS;
}

Result cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  (void)event;
  (void)flags;
  note("wait", (uintptr_t)stream);
  return SUCCESS;
}

Result cuGetErrorName(int error, const char** name) {
  *name = error == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_UNKNOWN";
  return SUCCESS;
}

Result cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  if (fail_identity) return INVALID_VALUE;
  memset(uuid, 0, 16);
  uuid[0] = (unsigned char)device;
  int pid = shared_gpu ? 0 : (int)getpid();
  memcpy(uuid + 4, &pid, sizeof(pid));
  return SUCCESS;
}
