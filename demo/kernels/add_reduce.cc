// Adds two tensors of float32 and sums over one axis: attributes, a workspace, kernel data, shape inference.
#include <algorithm>

#include "custom_aot_extra.h"

namespace {

// The shape around the axis: `outer` x `length` x `inner` elements.
struct Plan : AotKernelData {
  int64_t outer = 1, length = 1, inner = 1;
};

int64_t Axis(int ndim, AotExtra *extra) {
  const int64_t axis = extra->Attr<int64_t>("axis");
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace

extern "C" std::vector<int64_t> AddReduceInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {
  constexpr int64_t kUnknownRank = -2;
  std::vector<int64_t> shape(shapes[0], shapes[0] + ndims[0]);
  if (!shape.empty() && shape[0] == kUnknownRank) return shape;
  const auto axis = shape.begin() + Axis(ndims[0], extra);
  if (extra->Attr<bool>("keep_dim")) {
    *axis = 1;
  } else {
    shape.erase(axis);
  }
  return shape;
}

extern "C" int AddReduceInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
  const int64_t axis = Axis(ndims[0], extra);
  if (axis < 0 || axis >= ndims[0] || !std::equal(shapes[0], shapes[0] + ndims[0], shapes[1], shapes[1] + ndims[1])) return 1;
  auto *plan = new Plan;
  for (int i = 0; i < ndims[0]; ++i) (i < axis ? plan->outer : i > axis ? plan->inner : plan->length) *= shapes[0][i];
  extra->SetKernelData(plan);
  // A row of sums.
  extra->SetWorkSpace({plan->inner * sizeof(float)});
  return 0;
}

extern "C" int AddReduce(int, void **params, int *, int64_t **, const char **, void *, void *extra) {
  const auto *plan = static_cast<const Plan *>(static_cast<AotExtra *>(extra)->KernelData());
  const auto *x = static_cast<const float *>(params[0]);
  const auto *y = static_cast<const float *>(params[1]);
  auto *out = static_cast<float *>(params[2]);
  auto *sums = static_cast<float *>(params[3]);
  const int64_t inner = plan->inner;
  for (int64_t o = 0; o < plan->outer; ++o) {
    std::fill_n(sums, inner, 0.0f);
    for (int64_t k = 0; k < plan->length; ++k, x += inner, y += inner) {
      for (int64_t i = 0; i < inner; ++i) sums[i] += x[i] + y[i];
    }
    out = std::copy_n(sums, inner, out);
  }
  return 0;
}
