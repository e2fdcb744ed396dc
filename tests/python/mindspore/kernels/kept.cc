// How many sets of kernel data there are: `Keep` has one for each of its preparations, `Alive` counts them.
#include <atomic>

#include "custom_aot_extra.h"

namespace {

std::atomic<int64_t> alive{0};

struct Counted : public AotKernelData {
  Counted() { alive++; }
  ~Counted() override { alive--; }
};

}  // namespace

extern "C" int KeepInit(int *, int64_t **, const char **, AotExtra *extra) {
  extra->SetKernelData(new Counted);
  return 0;
}

extern "C" int Keep(int, void **params, int *, int64_t **, const char **, void *, void *extra) {
  *static_cast<int64_t *>(params[1]) = static_cast<AotExtra *>(extra)->KernelData() != nullptr;
  return 0;
}

extern "C" int Alive(int, void **params, int *, int64_t **, const char **, void *, void *) {
  *static_cast<int64_t *>(params[1]) = alive;
  return 0;
}
