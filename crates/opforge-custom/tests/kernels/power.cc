// base + sum(x ^ exponent) as the attributes say, with the name of a rounding: attributes as calls give them.
#include <cmath>
#include <stdexcept>

#include "common.h"
#include "custom_aot_extra.h"

extern "C" int Power(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra_void) {
  auto *extra = static_cast<AotExtra *>(extra_void);
  const int64_t exponent = extra->Attr<int64_t>("exponent");
  const float base = extra->Attr<float>("base");
  const std::string rounding = extra->Attr<std::string>("rounding");
  const float *x = static_cast<float *>(params[0]);
  float *y = static_cast<float *>(params[1]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) {
    const float value = base + std::pow(x[i], static_cast<float>(exponent));
    y[i] = rounding == "none" ? value : rounding == "floor" ? std::floor(value) : throw std::invalid_argument(rounding);
  }
  return 0;
}
