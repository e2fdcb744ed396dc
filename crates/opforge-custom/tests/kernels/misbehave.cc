// Kernels of one input and one output of float32 that copy, and then do what the attribute `how` says, in the function that `where` names.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "custom_aot_extra.h"

namespace {

volatile int zero = 0;

__attribute__((noinline)) int Descend(volatile char *above) {
  volatile char frame[4096];
  frame[0] = *above;
  return Descend(frame) + frame[0];
}

pid_t StartSleeper() {
  const pid_t process = fork();
  if (process != 0) return process;
  sleep(1000);
  _exit(0);
}

void Misbehave(const std::string &how) {
  if (how == "segfault") *reinterpret_cast<volatile int *>(8) = 1;
  if (how == "jump") reinterpret_cast<void (*)()>(16)();
  if (how == "abort") std::abort();
  if (how == "exit") std::exit(3);
  if (how == "loop") {
    while (zero == 0) {
    }
  }
  if (how == "stack") {
    char top = 0;
    Descend(&top);
  }
  if (how == "divide") zero = 100 / zero;
  if (how == "trap") __builtin_trap();
  if (how == "throw") throw std::runtime_error("thrown on purpose");
  if (how == "throw int") throw 7;
  if (how == "fork") {
    StartSleeper();
    std::abort();
  }
  if (how == "scribble") {
    const std::string text(4096, 'x');
    for (int descriptor = 3; descriptor < 20; ++descriptor) {
      if (write(descriptor, text.data(), text.size()) > 0) zero = 0;
    }
  }
  if (how == "close") {
    for (int descriptor = 3; descriptor < 20; ++descriptor) close(descriptor);
  }
}

std::string HowIn(void *extra, const char *where) {
  auto *attributes = static_cast<AotExtra *>(extra);
  return attributes->HasAttr("where") && attributes->Attr<std::string>("where") == where ? attributes->Attr<std::string>("how") : "";
}

struct Data : AotKernelData {
  std::string how;
  ~Data() override { Misbehave(how); }
};

}  // namespace

extern "C" std::vector<int64_t> MisbehaveInferShape(int *ndims, int64_t **shapes, AotExtra *extra) {
  Misbehave(HowIn(extra, "InferShape"));
  return {shapes[0], shapes[0] + ndims[0]};
}

extern "C" int MisbehaveInit(int *, int64_t **, const char **, AotExtra *extra) {
  Misbehave(HowIn(extra, "Init"));
  auto *data = new Data;
  data->how = HowIn(extra, "destructor");
  extra->SetKernelData(data);
  return HowIn(extra, "Init") == "fail" ? 5 : 0;
}

extern "C" int Misbehave(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  volatile float *x = static_cast<float *>(params[0]), *y = static_cast<float *>(params[1]);
  int64_t count = 1;
  for (int i = 0; i < ndims[0]; ++i) count *= shapes[0][i];
  for (int64_t i = 0; i < count; ++i) y[i] = x[i];
  const std::string how = HowIn(extra, "");
  if (how == "past the end") y[count] = 1;
  if (how == "far past the end") y[count + 1000] = 1;
  if (how == "before the start") y[-1] = 1;
  if (how == "into the input") x[1] = 1;
  if (how == "fail") return 42;
  Misbehave(how);
  return 0;
}

extern "C" const char *MisbehaveLastError() { return "failed on purpose"; }

// Writes the number of the process.
extern "C" int Process(int, void **params, int *, int64_t **, const char **, void *, void *) {
  *static_cast<int64_t *>(params[1]) = getpid();
  return 0;
}

// Prints the number of the process, where errors go, and never ends.
extern "C" int Forever(int, void **, int *, int64_t **, const char **, void *, void *) {
  std::printf("process %d\n", getpid());
  Misbehave("loop");
  return 0;
}

// Writes the number of a process that would outlive this one.
extern "C" int Starts(int, void **params, int *, int64_t **, const char **, void *, void *) {
  *static_cast<int64_t *>(params[1]) = StartSleeper();
  return 0;
}
