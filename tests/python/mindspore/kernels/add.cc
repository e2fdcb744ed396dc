// z = x + y, for float32 of one shape.
#include <cstdint>
#include <cstring>

extern "C" int Add(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *) {
  if (nparam != 3) return 1;
  for (int i = 0; i < nparam; i++) {
    if (std::strcmp(dtypes[i], "float32") != 0) return 2;
  }
  const auto *x = static_cast<const float *>(params[0]);
  const auto *y = static_cast<const float *>(params[1]);
  auto *z = static_cast<float *>(params[2]);
  int64_t size = 1;
  for (int i = 0; i < ndims[2]; i++) size *= shapes[2][i];
  for (int64_t i = 0; i < size; i++) z[i] = x[i] + y[i];
  return 0;
}

// Always fails.
extern "C" int Fail(int, void **, int *, int64_t **, const char **, void *, void *) { return 7; }
