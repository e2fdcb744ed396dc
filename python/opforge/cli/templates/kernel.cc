// scale * x^2, element by element, and its gradient.
#include <cstdint>
#include <vector>

#include "custom_aot_extra.h"

OPFORGE_SCHEMA($Name, "(Tensor x, *, float scale=1.0) -> Tensor");
OPFORGE_SCHEMA(${Name}Gradient, "(Tensor x, Tensor y, Tensor dy, *, float scale=1.0) -> Tensor");

static int64_t Count(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= shape[i];
  return count;
}

// The output's shape; unknown lengths, which are -1, stay unknown.
extern "C" std::vector<int64_t> ${Name}InferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return std::vector<int64_t>(shapes[0], shapes[0] + ndims[0]);
}

// Arguments stand in the order inputs, outputs, workspaces. 0 is success; other numbers, and exceptions, are errors for whoever called.
extern "C" int $Name(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  if (nparam != 2) return 1;
  const float scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  const auto *x = static_cast<const float *>(params[0]);
  auto *y = static_cast<float *>(params[1]);
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) y[i] = scale * x[i] * x[i];
  return 0;
}

// The gradient is an operator of the inputs, the outputs and the outputs' gradients.
extern "C" std::vector<int64_t> ${Name}GradientInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return std::vector<int64_t>(shapes[0], shapes[0] + ndims[0]);
}

extern "C" int ${Name}Gradient(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  if (nparam != 4) return 1;
  const float scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  const auto *x = static_cast<const float *>(params[0]), *dy = static_cast<const float *>(params[2]);
  auto *dx = static_cast<float *>(params[3]);
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) dx[i] = 2 * scale * x[i] * dy[i];
  return 0;
}
