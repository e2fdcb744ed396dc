// The sum of two tensors, reduced over an axis: attributes, a workspace for the sum, data for the loops, and shape inference.
#include <stdexcept>

#include "common.h"
#include "custom_aot_extra.h"

namespace {

struct Loops : AotKernelData {
  int64_t outer = 1, length = 1, inner = 1;
};

int64_t Axis(AotExtra *extra, int ndim) {
  const int64_t axis = extra->Attr<int64_t>("axis");
  if (axis < -ndim || axis >= ndim) throw std::out_of_range("axis " + std::to_string(axis) + " of " + std::to_string(ndim));
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace

extern "C" std::vector<int64_t> AddReduceInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {
  std::vector<int64_t> shape = Shape(ndims, shapes, 0);
  if (shape == std::vector<int64_t>{-2}) return shape;
  const auto at = shape.begin() + Axis(extra, ndims[0]);
  if (extra->Attr<bool>("keep_dim")) {
    *at = 1;
  } else {
    shape.erase(at);
  }
  return shape;
}

extern "C" int AddReduceInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
  auto *loops = new Loops;
  const int64_t axis = Axis(extra, ndims[0]);
  for (int i = 0; i < ndims[0]; ++i) (i < axis ? loops->outer : i == axis ? loops->length : loops->inner) *= shapes[0][i];
  extra->SetKernelData(loops);
  extra->SetWorkSpace({static_cast<size_t>(Count(ndims[0], shapes[0])) * sizeof(float)});
  return 0;
}

extern "C" int AddReduce(int nparam, void **params, int *, int64_t **, const char **, void *, void *extra) {
  if (nparam != 4) return 1;
  const auto *loops = static_cast<Loops *>(static_cast<AotExtra *>(extra)->KernelData());
  const float *x = static_cast<float *>(params[0]), *y = static_cast<float *>(params[1]);
  float *out = static_cast<float *>(params[2]), *sum = static_cast<float *>(params[3]);
  for (int64_t i = 0; i < loops->outer * loops->length * loops->inner; ++i) sum[i] = x[i] + y[i];
  for (int64_t i = 0; i < loops->outer; ++i) {
    for (int64_t k = 0; k < loops->inner; ++k) {
      float total = 0;
      for (int64_t j = 0; j < loops->length; ++j) total += sum[(i * loops->length + j) * loops->inner + k];
      out[i * loops->inner + k] = total;
    }
  }
  return 0;
}
