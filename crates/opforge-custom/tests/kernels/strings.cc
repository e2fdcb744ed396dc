// A kernel that exchanges texts and data with the framework; compiled against either header and for either ABI of std::string.
#include "custom_aot_extra.h"

namespace {

struct Data : AotKernelData {
  explicit Data(std::string text) : text(std::move(text)) {}
  std::string text;
};

}  // namespace

extern "C" int TextsInit(int *, int64_t **, const char **, AotExtra *extra) {
  if (!extra->HasAttr("long_name_that_no_short_string_holds") || extra->HasAttr("other")) return 1;
  extra->SetKernelData(new Data(extra->Attr<std::string>("long_name_that_no_short_string_holds")));
  extra->SetWorkSpace({32});
  return extra->WorkSpace() == std::vector<size_t>{32} ? 0 : 2;
}

extern "C" std::vector<int64_t> TextsInferShape(int *, int64_t **, AotExtra *extra) {
  return {static_cast<int64_t>(extra->Attr<std::string>("long_name_that_no_short_string_holds").size())};
}

// The characters' numbers.
extern "C" int Texts(int nparam, void **params, int *, int64_t **, const char **, void *, void *extra_void) {
  auto *extra = static_cast<AotExtra *>(extra_void);
  if (nparam != 3 || extra->Attr<std::vector<std::vector<int64_t>>>("rows") != std::vector<std::vector<int64_t>>{{1}, {2, 3}}) return 1;
  float *out = static_cast<float *>(params[1]);
  for (char c : static_cast<Data *>(extra->KernelData())->text) *out++ = static_cast<float>(c);
  return 0;
}

extern "C" int StringSize(int, void **params, int *, int64_t **, const char **, void *, void *) {
  *static_cast<float *>(params[1]) = sizeof(std::string);
  return 0;
}
