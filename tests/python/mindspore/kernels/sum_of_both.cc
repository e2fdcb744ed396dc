// z = (x + y) summed over one axis of any number of dimensions; the sum of both is kept in a workspace.
#include "custom_aot_extra.h"

namespace {

constexpr int64_t kUnknownRank = -2;

struct Options : public AotKernelData {
  int64_t axis = 0;
};

int64_t Axis(AotExtra *extra, int ndim) {
  const int64_t axis = extra->Attr<int64_t>("axis");
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace

extern "C" std::vector<int64_t> SumOfBothInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {
  if (ndims[0] > 0 && shapes[0][0] == kUnknownRank) return {kUnknownRank};
  std::vector<int64_t> shape(shapes[0], shapes[0] + ndims[0]);
  const auto axis = shape.begin() + Axis(extra, ndims[0]);
  if (extra->Attr<bool>("keep_dims")) {
    *axis = 1;
  } else {
    shape.erase(axis);
  }
  return shape;
}

extern "C" int SumOfBothInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
  auto *options = new Options;
  options->axis = Axis(extra, ndims[0]);
  extra->SetKernelData(options);
  size_t bytes = sizeof(float);
  for (int i = 0; i < ndims[0]; i++) bytes *= shapes[0][i];
  extra->SetWorkSpace({bytes});
  return 0;
}

extern "C" int SumOfBoth(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  if (nparam != 4) return 1;
  const auto *options = static_cast<const Options *>(static_cast<AotExtra *>(extra)->KernelData());
  int64_t outer = 1, length = 1, inner = 1;
  for (int64_t i = 0; i < ndims[0]; i++) (i < options->axis ? outer : i == options->axis ? length : inner) *= shapes[0][i];
  const auto *x = static_cast<const float *>(params[0]);
  const auto *y = static_cast<const float *>(params[1]);
  auto *z = static_cast<float *>(params[2]);
  auto *both = static_cast<float *>(params[3]);
  for (int64_t i = 0; i < outer * length * inner; i++) both[i] = x[i] + y[i];
  for (int64_t i = 0; i < outer; i++) {
    for (int64_t k = 0; k < inner; k++) {
      float sum = 0;
      for (int64_t j = 0; j < length; j++) sum += both[(i * length + j) * inner + k];
      z[i * inner + k] = sum;
    }
  }
  return 0;
}
