// x * y + shift, for tensors of equal shape, of float32 or float64.
#include <cstring>

#include "custom_aot_extra.h"

namespace {

template <typename T>
void Compute(void **params, int64_t count, float shift) {
  const auto *x = static_cast<const T *>(params[0]);
  const auto *y = static_cast<const T *>(params[1]);
  auto *out = static_cast<T *>(params[2]);
  for (int64_t i = 0; i < count; ++i) out[i] = x[i] * y[i] + static_cast<T>(shift);
}

}  // namespace

extern "C" std::vector<int64_t> MulAddInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return std::vector<int64_t>(shapes[0], shapes[0] + ndims[0]);
}

extern "C" int MulAdd(int, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *extra) {
  if (std::strcmp(dtypes[0], dtypes[1]) != 0) return 1;
  if (ndims[0] != ndims[1]) return 2;
  int64_t count = 1;
  for (int i = 0; i < ndims[0]; ++i) {
    if (shapes[0][i] != shapes[1][i]) return 2;
    count *= shapes[0][i];
  }
  const float shift = static_cast<AotExtra *>(extra)->Attr<float>("shift");
  if (std::strcmp(dtypes[0], "float32") == 0) {
    Compute<float>(params, count, shift);
  } else if (std::strcmp(dtypes[0], "float64") == 0) {
    Compute<double>(params, count, shift);
  } else {
    return 3;
  }
  return 0;
}
