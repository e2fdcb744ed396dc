// What the kernels share: shapes and counts.
#pragma once
#include <cstdint>
#include <vector>

inline int64_t Count(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= shape[i];
  return count;
}

inline std::vector<int64_t> Shape(int *ndims, int64_t **shapes, int i) { return {shapes[i], shapes[i] + ndims[i]}; }
