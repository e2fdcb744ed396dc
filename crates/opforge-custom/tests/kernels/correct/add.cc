// The sum of two tensors, of float32 or float64.
#include <cstring>

#include "../kernel.h"

OPFORGE_SCHEMA(Add, "(Tensor x, Tensor y) -> Tensor");

template <typename T>
static int Sum(void **params, int64_t count) {
  const T *x = static_cast<const T *>(params[0]), *y = static_cast<const T *>(params[1]);
  T *sum = static_cast<T *>(params[2]);
  for (int64_t i = 0; i < count; ++i) sum[i] = x[i] + y[i];
  return 0;
}

extern "C" int Add(KERNEL_PARAMETERS) {
  if (nparam != 3 || std::strcmp(dtypes[0], dtypes[1]) != 0) return 1;
  const int64_t count = Count(ndims[2], shapes[2]);
  if (std::strcmp(dtypes[0], "float32") == 0) return Sum<float>(params, count);
  if (std::strcmp(dtypes[0], "float64") == 0) return Sum<double>(params, count);
  return 2;
}
