// Kernels of one input and one output of float32 that copy, and then do what the attribute `how` says, in the function that `where` names.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "custom_aot_extra.h"

namespace {

int zero_itself = 0;
volatile int &zero = zero_itself;

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

// Writes to all of it, so that it is there.
void *Touched(void *memory, size_t bytes) { return std::memset(memory, 1, bytes); }

void TakeMemory(const std::string &how) {
  constexpr size_t kMuch = size_t{1} << 31, kSome = size_t{1} << 24;
  if (how == "malloc") Touched(std::malloc(kMuch), kMuch);
  if (how == "new") Touched(new char[kMuch], kMuch);
  if (how == "leak") {
    for (size_t i = 0; i < 1000; ++i) Touched(new char[kSome], kSome);
  }
  if (how == "calloc") Touched(std::calloc(kMuch, 1), kMuch);
  if (how == "fall back") {
    void *much = std::malloc(kMuch);
    if (much == nullptr) much = Touched(std::malloc(1000), 1000);
    std::free(much);
  }
}

// Tries to harm the parent; says by its error what was possible. Linux's own calls, too, which the C library has no functions for.
void Attack(const std::string &how) {
#if defined(__linux__)
  const pid_t parent = getppid();
  long done = -1;
  errno = 0;
  if (how == "kill") done = kill(parent, SIGUSR1);
  if (how == "kill group") done = kill(-getpgid(parent), SIGUSR1);
  if (how == "kill all") done = kill(-1, SIGCONT);
  if (how == "tgkill") done = syscall(SYS_tgkill, parent, parent, SIGUSR1);
  if (how == "tkill") done = syscall(SYS_tkill, parent, SIGUSR1);
  if (how == "sigqueue") done = sigqueue(parent, SIGUSR1, sigval{});
  if (how == "pidfd") done = syscall(424, syscall(434, parent, 0), SIGUSR1, nullptr, 0);
  if (how == "ptrace") done = ptrace(PTRACE_ATTACH, parent, nullptr, nullptr);
  if (how == "vm") {
    char byte = 0;
    iovec here = {&byte, 1}, there = {&zero_itself, 1};
    done = process_vm_writev(parent, &here, 1, &there, 1, 0);
  }
  if (how == "proc") done = open(("/proc/" + std::to_string(parent) + "/mem").c_str(), O_RDWR);
  if (how == "owner") done = fcntl(STDERR_FILENO, F_SETOWN, parent);
  if (how == "group") done = setpgid(0, getpgid(parent));
  if (how == "limits") {
    const rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
    done = setrlimit(RLIMIT_DATA, &more);
  }
  if (how == "sibling") {
    char stack[8192];
    done = syscall(SYS_clone, CLONE_PARENT | SIGUSR1, stack + sizeof(stack), nullptr, nullptr, 0);
    if (done == 0) _exit(0);
  }
  if (how == "affinity") {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    done = sched_setaffinity(parent, sizeof(one), &one);
  }
  if (how == "from a child") {
    const pid_t child = fork();
    if (child == 0) _exit(kill(parent, SIGUSR1) == 0 ? 0 : errno);
    int status = 0;
    waitpid(child, &status, 0);
    done = WEXITSTATUS(status) == 0 ? 0 : -1;
    errno = WEXITSTATUS(status);
  }
  throw std::runtime_error(done == -1 ? std::strerror(errno) : "done");
#endif
}

void Misbehave(const std::string &how) {
  if (how.compare(0, 7, "attack ") == 0) Attack(how.substr(7));
  if (how.compare(0, 5, "take ") == 0) TakeMemory(how.substr(5));
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
