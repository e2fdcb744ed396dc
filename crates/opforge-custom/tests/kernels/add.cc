// The sum of two tensors of float32.
#include <cstdint>
#include <cstring>

extern "C" int Add(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *) {
  if (nparam != 3) return 1;
  for (int i = 0; i < nparam; ++i) {
    if (std::strcmp(dtypes[i], "float32") != 0) return 2;
  }
  int64_t count = 1;
  for (int i = 0; i < ndims[2]; ++i) count *= shapes[2][i];
  const auto *x = static_cast<const float *>(params[0]);
  const auto *y = static_cast<const float *>(params[1]);
  auto *sum = static_cast<float *>(params[2]);
  for (int64_t i = 0; i < count; ++i) sum[i] = x[i] + y[i];
  return 0;
}
