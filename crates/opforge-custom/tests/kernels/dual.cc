// A kernel for the classes that pass names and texts as vectors of characters.
#include "custom_aot_extra_dual_abi.h"

namespace {

struct Data : AotKernelDataDualABI {
  std::string text;
};

}  // namespace

extern "C" int DualInit(int *, int64_t **, const char **, AotExtraDualABI *extra) {
  if (!extra->HasAttr(std::string("text")) || extra->HasAttr(std::string("other"))) return 1;
  auto *data = new Data;
  data->text = extra->Attr<std::string>("text");
  extra->SetKernelData(data);
  extra->SetWorkSpace({16});
  return 0;
}

extern "C" std::vector<int64_t> DualInferShape(int *, int64_t **, AotExtraDualABI *extra) {
  return {extra->Attr<int64_t>("length")};
}

extern "C" int Dual(int nparam, void **params, int *, int64_t **shapes, const char **, void *, void *extra_void) {
  auto *extra = static_cast<AotExtraDualABI *>(extra_void);
  const auto *data = static_cast<Data *>(extra->KernelData());
  const std::vector<float> values = extra->Attr<std::vector<float>>("values");
  if (nparam != 3 || data->text != "größer als fünfzehn Zeichen" || static_cast<int64_t>(values.size()) != shapes[1][0]) return 1;
  float *out = static_cast<float *>(params[1]);
  for (float value : values) *out++ = value;
  return 0;
}
