// The allocating functions of C, which note that there was no memory. A program's own functions come before those of the C library for all libraries that
// it opens, and before those of a sanitizer that is loaded before all others; the work is done by whichever comes next.
#include "allocate.h"

#include <dlfcn.h>
#include <errno.h>

#include <atomic>
#include <cstddef>

namespace worker {

namespace {

std::atomic<uint64_t *> note{nullptr};

void *Noted(void *memory, size_t bytes) {
  if (memory != nullptr || bytes == 0) return memory;
  if (uint64_t *to = note) *to = bytes;
  return memory;
}

size_t Product(size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

// The function of this name that comes next. Null while it is being looked for, should that ask for memory: the loader does without.
template <typename Function>
Function *Next(std::atomic<Function *> &known, const char *name) {
  static thread_local bool looking = false;
  Function *found = known;
  if (found != nullptr || looking) return found;
  looking = true;
  found = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
  looking = false;
  known = found;
  return found;
}

}  // namespace

void NoteRefusals(uint64_t *at) { note = at; }

}  // namespace worker

#if defined(__GLIBC__)

using worker::Next;
using worker::Noted;

extern "C" {

void *malloc(size_t bytes) {
  static std::atomic<void *(*)(size_t)> known;
  const auto next = Next(known, "malloc");
  return next == nullptr ? nullptr : Noted(next(bytes), bytes);
}

void *calloc(size_t count, size_t size) {
  static std::atomic<void *(*)(size_t, size_t)> known;
  const auto next = Next(known, "calloc");
  return next == nullptr ? nullptr : Noted(next(count, size), worker::Product(count, size));
}

void *realloc(void *memory, size_t bytes) {
  static std::atomic<void *(*)(void *, size_t)> known;
  const auto next = Next(known, "realloc");
  return next == nullptr ? nullptr : Noted(next(memory, bytes), bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  static std::atomic<void *(*)(size_t, size_t)> known;
  const auto next = Next(known, "memalign");
  return next == nullptr ? nullptr : Noted(next(alignment, bytes), bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  static std::atomic<void *(*)(size_t, size_t)> known;
  const auto next = Next(known, "aligned_alloc");
  return next == nullptr ? nullptr : Noted(next(alignment, bytes), bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  static std::atomic<int (*)(void **, size_t, size_t)> known;
  const auto next = Next(known, "posix_memalign");
  const int error = next == nullptr ? ENOMEM : next(memory, alignment, bytes);
  if (error == ENOMEM) Noted(nullptr, bytes);
  return error;
}

}  // extern "C"

#endif
