// x * x * scale and its gradient, of x, y and the gradient of y.
#include "common.h"
#include "custom_aot_extra.h"

extern "C" int Square(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  const double scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  const double *x = static_cast<double *>(params[0]);
  double *y = static_cast<double *>(params[1]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) y[i] = scale * x[i] * x[i];
  return 0;
}

extern "C" int SquareGrad(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  if (nparam != 4) return 1;
  const double scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  const double *x = static_cast<double *>(params[0]), *grad = static_cast<double *>(params[2]);
  double *out = static_cast<double *>(params[3]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) out[i] = 2 * scale * x[i] * grad[i];
  return 0;
}
