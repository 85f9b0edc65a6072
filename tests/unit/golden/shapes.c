// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// A library behind the bindings of shapes.h: every result depends on the arguments, so that a test sees them arrive.

#include "shapes.h"

int shapesCount(shapesThing_t thing) { return -(int)(intptr_t)thing; }

uint64_t shapesBig(void) { return UINT64_MAX; }

static int resets = 0;

void shapesReset(shapesThing_t thing) { resets += (int)(intptr_t)thing; }

bool shapesIsOpen(shapesThing_t thing) { return thing != NULL; }

double shapesTime(double start, float scale) { return start * scale; }

enum shapesColor shapesColorOf(shapesThing_t thing) { return (enum shapesColor)(intptr_t)thing; }

shapesThing_t shapesOpen(const char* name) { return (shapesThing_t)(intptr_t)name[0]; }

const char* shapesName(shapesThing_t thing, enum shapesColor color) {
  return thing && color == SHAPES_COLOR_MINUS ? "minus" : NULL;
}

int shapesMeasure(shapesThing_t thing, int64_t* count, enum shapesColor* color, double* weight, bool* open) {
  *count = INT64_C(1) << 40;
  *color = SHAPES_COLOR_MINUS;
  *weight = 2.5;
  *open = true;
  return resets;
}

void shapesCorners(shapesThing_t thing, int32_t corners[4]) {
  for (int i = 0; i < 4; ++i) {
    corners[i] = i - 1;
  }
}

static double place = 0;

void shapesPlace(shapesThing_t thing, const double position[2], const bool wraps[]) {
  place = (position ? position[0] + position[1] : 0) + (wraps ? 10 * wraps[0] + 100 * wraps[2] : 0);
}

double shapesPlaced(void) { return place; }

void shapesFill(shapesRecord_t* record, struct shapesTagOnly* other) {
  record->matrix[1][4] = 1.5f;
  record->thing = (shapesThing_t)0x10;
  other->value = record->tiny;
}

static int32_t read_status = 0;

void shapesRead(const shapesRecord_t* record, cudaStream_t stream, int32_t status) {
  read_status = status + (record ? record->tagged[1] : 1000) + (int32_t)(intptr_t)stream;
}

void shapesBuffer(shapesThing_t thing, void** buffer, int32_t values[]) { *buffer = values ? (void*)values : thing; }

int32_t shapesStatus(void) { return read_status; }
