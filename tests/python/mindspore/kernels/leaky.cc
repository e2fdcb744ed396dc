// y = x where x > 0, else slope * x; and its gradient, dx = dy * (x > 0 ? 1 : slope), as an operator of x, y and dy.
#include "custom_aot_extra.h"

namespace {

struct Slope : public AotKernelData {
  float value = 0;
};

int Prepare(AotExtra *extra) {
  auto *slope = new Slope;
  slope->value = extra->Attr<float>("slope");
  extra->SetKernelData(slope);
  return 0;
}

float Of(void *extra) { return static_cast<const Slope *>(static_cast<AotExtra *>(extra)->KernelData())->value; }

int64_t Count(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; i++) count *= shape[i];
  return count;
}

}  // namespace

extern "C" int LeakyInit(int *, int64_t **, const char **, AotExtra *extra) { return Prepare(extra); }

extern "C" int Leaky(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  const float slope = Of(extra);
  const auto *x = static_cast<const float *>(params[0]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); i++) static_cast<float *>(params[1])[i] = x[i] > 0 ? x[i] : slope * x[i];
  return 0;
}

extern "C" int LeakyGradInit(int *, int64_t **, const char **, AotExtra *extra) { return Prepare(extra); }

extern "C" int LeakyGrad(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  const float slope = Of(extra);
  const auto *x = static_cast<const float *>(params[0]);
  const auto *dy = static_cast<const float *>(params[2]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); i++) static_cast<float *>(params[3])[i] = x[i] > 0 ? dy[i] : slope * dy[i];
  return 0;
}
