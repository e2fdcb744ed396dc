// One number made of each of the eight types of attributes.
#include "common.h"
#include "custom_aot_extra.h"

extern "C" int Digest(int nparam, void **params, int *, int64_t **shapes, const char **, void *, void *extra_void) {
  auto *extra = static_cast<AotExtra *>(extra_void);
  if (nparam != 2 || shapes[1][0] != 8) return 1;
  auto *digest = static_cast<double *>(params[1]);
  digest[0] = extra->Attr<bool>("flag");
  digest[1] = static_cast<double>(extra->Attr<int64_t>("int"));
  digest[2] = extra->Attr<float>("float");
  digest[3] = static_cast<double>(extra->Attr<std::string>("text").size());
  digest[4] = digest[5] = digest[6] = digest[7] = 0;
  for (int64_t value : extra->Attr<std::vector<int64_t>>("ints")) digest[4] = 10 * digest[4] + static_cast<double>(value);
  for (float value : extra->Attr<std::vector<float>>("floats")) digest[5] += value;
  for (const auto &row : extra->Attr<std::vector<std::vector<int64_t>>>("int_rows")) {
    digest[6] = 10 * digest[6] + static_cast<double>(row.size());
  }
  for (const auto &row : extra->Attr<std::vector<std::vector<float>>>("float_rows")) {
    for (float value : row) digest[7] += value;
  }
  return 0;
}

// Whether there is an attribute of the name that the attribute `name` tells.
extern "C" int Has(int, void **params, int *, int64_t **, const char **, void *, void *extra_void) {
  auto *extra = static_cast<AotExtra *>(extra_void);
  *static_cast<bool *>(params[1]) = extra->HasAttr(extra->Attr<std::string>("name"));
  return 0;
}
