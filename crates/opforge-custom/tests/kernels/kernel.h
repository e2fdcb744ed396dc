// What the kernels of these folders share.
#ifndef TESTS_KERNEL_H_
#define TESTS_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "custom_aot_extra.h"

// A main function's parameters.
#define KERNEL_PARAMETERS int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra

inline int64_t Count(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= shape[i];
  return count;
}

// Argument `i` as an array of floats.
inline float *Floats(void **params, int i) { return static_cast<float *>(params[i]); }

#endif  // TESTS_KERNEL_H_
