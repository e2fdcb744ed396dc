// Kernels of one input and one output of float32 that do what `mode` says, and one that counts how often it ran at the same time.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "custom_aot_extra.h"

namespace {

enum Mode : int64_t { Copy, WritePastEnd, WriteBeforeStart, WriteInput, ReadPastEnd, Leak, Print, HeapOverflow, HarmfulEnd };

struct Data : AotKernelData {
  int64_t mode;
  ~Data() override {
    if (mode == HarmfulEnd) *reinterpret_cast<volatile int *>(8) = 1;
  }
};

std::atomic<int> running;

}  // namespace

extern "C" int GuardedInit(int *, int64_t **, const char **, AotExtra *extra) {
  auto *data = new Data;
  data->mode = extra->Attr<int64_t>("mode");
  extra->SetKernelData(data);
  extra->SetWorkSpace({100});
  return 0;
}

extern "C" int Guarded(int nparam, void **params, int *, int64_t **shapes, const char **, void *, void *extra) {
  if (nparam != 3 || shapes[2][0] != 100) return 1;
  volatile float *x = static_cast<float *>(params[0]), *y = static_cast<float *>(params[1]);
  const int64_t count = shapes[1][0];
  for (int64_t i = 0; i < count; ++i) y[i] = x[i];
  switch (static_cast<Data *>(static_cast<AotExtra *>(extra)->KernelData())->mode) {
    case WritePastEnd: y[count] = 1; break;
    case WriteBeforeStart: y[-1] = 1; break;
    case WriteInput: x[1] = 1; break;
    case ReadPastEnd: y[0] = x[count]; break;
    case Leak: *static_cast<volatile char *>(std::malloc(1000)) = 1; break;
    case Print: std::printf("printed by the kernel\n"); break;
    case HeapOverflow: (new volatile float[4])[static_cast<int>(x[3])] = 1; break;
    default: break;
  }
  return 0;
}

// Writes how many ran at once, waiting a while for others.
extern "C" int Together(int, void **params, int *, int64_t **, const char **, void *, void *) {
  ++running;
  auto *most = static_cast<float *>(params[0]);
  *most = 0;
  for (int i = 0; i < 1000 && *most < 4; ++i) {
    if (running > *most) *most = running;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}
