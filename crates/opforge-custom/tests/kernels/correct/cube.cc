// The cube in float64, and its gradient as an operator of its own.
#include "../kernel.h"

OPFORGE_SCHEMA(Cube, "(Tensor x) -> Tensor");

extern "C" int Cube(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const auto *x = static_cast<const double *>(params[0]);
  auto *y = static_cast<double *>(params[1]);
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] * x[i] * x[i];
  return 0;
}

// Of the input, the output and the output's gradient.
extern "C" int CubeGradient(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const auto *x = static_cast<const double *>(params[0]), *grad = static_cast<const double *>(params[2]);
  auto *dx = static_cast<double *>(params[3]);
  for (int64_t i = 0; i < count; ++i) dx[i] = 3 * x[i] * x[i] * grad[i];
  return 0;
}
