// The sum over one dimension, added up in a workspace of float64. Attributes: axis, from the end where it is negative, and keep_dim.
#include <algorithm>
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(ReduceSum, "(Tensor x, *, int axis, bool keep_dim=False) -> Tensor");

// Negative for an axis that there is not.
static int64_t Axis(int ndim, const AotExtra *extra) {
  const int64_t axis = extra->Attr<int64_t>("axis");
  return axis >= ndim ? -1 : axis < 0 ? axis + ndim : axis;
}

extern "C" std::vector<int64_t> ReduceSumInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {
  std::vector<int64_t> shape(shapes[0], shapes[0] + ndims[0]);
  if (shape == std::vector<int64_t>{-2}) return shape;
  const int64_t axis = Axis(ndims[0], extra);
  if (axis < 0) throw "there is no such axis";
  if (extra->Attr<bool>("keep_dim")) {
    shape[axis] = 1;
  } else {
    shape.erase(shape.begin() + axis);
  }
  return shape;
}

extern "C" int ReduceSumInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
  const int64_t axis = Axis(ndims[0], extra);
  if (axis < 0) return 1;
  extra->SetWorkSpace({Count(ndims[0] - axis - 1, shapes[0] + axis + 1) * sizeof(double)});
  return 0;
}

extern "C" int ReduceSum(KERNEL_PARAMETERS) {
  const int64_t axis = Axis(ndims[0], static_cast<AotExtra *>(extra));
  const int64_t outer = Count(axis, shapes[0]), length = shapes[0][axis];
  const int64_t inner = Count(ndims[0] - axis - 1, shapes[0] + axis + 1);
  const float *x = Floats(params, 0);
  float *sums = Floats(params, 1);
  double *totals = static_cast<double *>(params[2]);
  for (int64_t i = 0; i < outer; ++i) {
    std::fill_n(totals, inner, 0.0);
    for (int64_t j = 0; j < length * inner; ++j) totals[j % inner] += x[i * length * inner + j];
    std::transform(totals, totals + inner, sums + i * inner, [](double total) { return static_cast<float>(total); });
  }
  return 0;
}
