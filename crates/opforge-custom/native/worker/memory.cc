#include "memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace worker {

namespace {

void *Map(void *at, uint64_t size, int protection, int flags, int file, uint64_t offset) {
  void *mapped = mmap(at, size, protection, flags, file, static_cast<off_t>(offset));
  if (mapped != MAP_FAILED) return mapped;
  throw std::runtime_error("cannot map " + std::to_string(size) + " bytes: " + std::strerror(errno));
}

}  // namespace

Mapping::Mapping(int region, const Piece &piece) {
  const uint64_t page = sysconf(_SC_PAGESIZE);
  const uint64_t pages = (piece.shift + piece.size + page - 1) / page * page;
  whole_ = pages + 2 * kGuard;
  start_ = static_cast<char *>(Map(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  first_ = start_ + kGuard + piece.shift;
  if (pages == 0) return;
  try {
    const int protection = piece.writable ? PROT_READ | PROT_WRITE : PROT_READ;
    Map(start_ + kGuard, pages, protection, MAP_SHARED | MAP_FIXED, region, piece.offset);
  } catch (...) {
    munmap(start_, whole_);
    throw;
  }
}

Mapping::~Mapping() { munmap(start_, whole_); }

Report *MapReport(int region) {
  return static_cast<Report *>(Map(nullptr, kReportSize, PROT_READ | PROT_WRITE, MAP_SHARED, region, 0));
}

}  // namespace worker
