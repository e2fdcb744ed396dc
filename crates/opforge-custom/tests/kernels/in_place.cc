// Kernels that change an input.
#include "common.h"

// The input, which is the output too, plus one.
extern "C" int Increment(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  if (nparam != 2 || params[0] != params[1]) return 1;
  float *x = static_cast<float *>(params[0]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) x[i] += 1;
  return 0;
}

// Adds the second input to the first, which is no output; the output is the old sum of the first.
extern "C" int Accumulate(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  if (nparam != 3) return 1;
  float *total = static_cast<float *>(params[0]), *before = static_cast<float *>(params[2]);
  const float *x = static_cast<float *>(params[1]);
  *before = 0;
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) {
    *before += total[i];
    total[i] += x[i];
  }
  return 0;
}
