// SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
// SPDX-License-Identifier: Apache-2.0

// Every shape that the generator knows besides those of line_07.h.
#ifndef SHAPES_H
#define SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

#define SHAPES_NUMBER 7 // no doc comment
#define SHAPES_NEGATIVE (-3)
#define SHAPES_WIDE INT64_C(0x100000000)
#define SHAPES_HUGE UINT64_C(0xffffffffffffffff)
#define SHAPES_SUM (SHAPES_NUMBER + 1)
#define SHAPES_NOTHING ((void*)0)
#define SHAPES_CALL(x) ((x) + 1)
#define SHAPES_TEXT "no number"
#define SHAPES_EMPTY

/** Constants without a type. */
enum { SHAPES_LOOSE = 11, SHAPES_LOOSER = -12 };

/** Named by its tag only. */
enum shapesColor { SHAPES_COLOR_RED = 1, SHAPES_COLOR_NONE = 0, SHAPES_COLOR_MINUS = -7 };

/** Tag and name. */
typedef enum shapesTagged { SHAPES_TAGGED_A, SHAPES_TAGGED_B = 5 } shapesTagged_t;

typedef struct shapesThing* shapesThing_t;

/**
 * Every kind of field.
 *
 * A second paragraph with `code` and a "quote".
 */
typedef struct shapesRecord {
  int8_t tiny;              ///< one byte
  uint16_t small;           ///< two bytes
  unsigned int plain;       ///< four bytes
  long wide;                ///< eight bytes
  float single;             ///< a float
  size_t count;             ///< a size
  bool flag;                ///< a flag
  enum shapesColor color;   ///< a color
  shapesTagged_t tagged[2]; ///< two enums
  float matrix[2][5];       ///< two rows
  bool flags[2][2];         ///< flags in rows
  uint64_t large[2];        ///< unsigned
  shapesThing_t thing;      ///< a handle
  void* memory;             ///< an address
  int32_t lambda;           ///< a name that Python reserves
  int32_t data;             ///< a name that the bindings use
} shapesRecord_t;

struct shapesTagOnly {
  int value;
};

/** A result that is no status. */
int shapesCount(shapesThing_t thing);
/** An unsigned result. */
uint64_t shapesBig(void);
/** Nothing comes back. */
void shapesReset(shapesThing_t thing);
/** A flag comes back. */
bool shapesIsOpen(shapesThing_t thing);
double shapesTime(double start, float scale);
enum shapesColor shapesColorOf(shapesThing_t thing);
shapesThing_t shapesOpen(const char* name);
/** Text comes back.
 * @return the name, empty for none */
const char* shapesName(shapesThing_t thing, enum shapesColor color);
/** Several out-parameters.
 * @param[out] count how many
 * @param[out] color which
 * @param[out] weight how heavy */
int shapesMeasure(shapesThing_t thing, int64_t* count, enum shapesColor* color, double* weight, bool* open);
/** An array comes back. */
void shapesCorners(shapesThing_t thing, int32_t corners[4]);
/** Arrays of a stated length go in. */
void shapesPlace(shapesThing_t thing, const double position[2], const bool wraps[]);
/** What shapesPlace() got. */
double shapesPlaced(void);
/** What shapesRead() got. */
int32_t shapesStatus(void);
void shapesFill(shapesRecord_t* record, struct shapesTagOnly* other);
void shapesRead(const shapesRecord_t* record, cudaStream_t stream, int32_t status);
/** A pointer comes back through a parameter. */
void shapesBuffer(shapesThing_t thing, void** buffer, int32_t values[]);

static inline void shapesOpenRead(const shapesRecord_t* record) { shapesRead(record, SHAPES_NOTHING, SHAPES_SUM | -2); }

#endif
