// Writes into a file when data is made and destroyed, and when the library is closed.
#include <fstream>

#include "common.h"
#include "custom_aot_extra.h"

namespace {

std::string diary;

void Note(const char *what) { std::ofstream(diary, std::ios::app) << what << '\n'; }

struct Closing {
  ~Closing() {
    if (!diary.empty()) Note("closed");
  }
} closing;

struct Data : AotKernelData {
  Data() { Note("made"); }
  ~Data() override { Note("destroyed"); }
};

}  // namespace

extern "C" int LivingInit(int *, int64_t **, const char **, AotExtra *extra) {
  diary = extra->Attr<std::string>("diary");
  extra->SetKernelData(new Data);
  return 0;
}

extern "C" int Living(int, void **params, int *, int64_t **, const char **, void *, void *extra) {
  *static_cast<float *>(params[1]) = dynamic_cast<Data *>(static_cast<AotExtra *>(extra)->KernelData()) != nullptr;
  return 0;
}
