// Attributes of all eight types, each as a number: y = [flag, count, ratio, length of text, sums of the lists and of the lists of lists].
#include <numeric>

#include "custom_aot_extra.h"

namespace {

struct Digest : public AotKernelData {
  std::vector<float> values;
};

template <typename T>
float Sum(const std::vector<T> &items) {
  return static_cast<float>(std::accumulate(items.begin(), items.end(), T(0)));
}

template <typename T>
float Sum(const std::vector<std::vector<T>> &rows) {
  float sum = 0;
  for (const auto &row : rows) sum = 10 * sum + Sum(row);
  return sum;
}

}  // namespace

extern "C" int AttributesInit(int *, int64_t **, const char **, AotExtra *extra) {
  auto *digest = new Digest;
  digest->values = {
      extra->Attr<bool>("flag") ? 1.0f : 0.0f,
      static_cast<float>(extra->Attr<int64_t>("count")),
      extra->Attr<float>("ratio"),
      static_cast<float>(extra->Attr<std::string>("text").size()),
      Sum(extra->Attr<std::vector<int64_t>>("ints")),
      Sum(extra->Attr<std::vector<float>>("floats")),
      Sum(extra->Attr<std::vector<std::vector<int64_t>>>("int_rows")),
      Sum(extra->Attr<std::vector<std::vector<float>>>("float_rows")),
  };
  extra->SetKernelData(digest);
  return 0;
}

extern "C" int Attributes(int nparam, void **params, int *, int64_t **shapes, const char **, void *, void *extra) {
  const auto *digest = static_cast<const Digest *>(static_cast<AotExtra *>(extra)->KernelData());
  if (nparam != 2 || shapes[1][0] != static_cast<int64_t>(digest->values.size())) return 1;
  for (size_t i = 0; i < digest->values.size(); i++) static_cast<float *>(params[1])[i] = digest->values[i];
  return 0;
}

// y = x * factor, without a factor 1. The attribute is looked for in every run.
extern "C" int Scale(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra_void) {
  auto *extra = static_cast<AotExtra *>(extra_void);
  const float factor = extra->HasAttr("factor") ? extra->Attr<float>("factor") : 1.0f;
  int64_t size = 1;
  for (int i = 0; i < ndims[0]; i++) size *= shapes[0][i];
  for (int64_t i = 0; i < size; i++) static_cast<float *>(params[1])[i] = factor * static_cast<const float *>(params[0])[i];
  return 0;
}
