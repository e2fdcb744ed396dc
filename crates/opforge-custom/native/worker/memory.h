// Arguments' memory: pieces of the region between guard pages.
#ifndef OPFORGE_WORKER_MEMORY_H_
#define OPFORGE_WORKER_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "protocol.h"

namespace worker {

// Where an argument lies, as Map says it.
struct Piece {
  uint64_t offset, size, shift, writable;

  bool operator==(const Piece &other) const {
    return offset == other.offset && size == other.size && shift == other.shift && writable == other.writable;
  }
};

// A piece of the region, mapped as long as this lives.
class Mapping {
 public:
  // Throws std::runtime_error if the system refuses.
  Mapping(int region, const Piece &piece);
  Mapping(const Mapping &) = delete;
  ~Mapping();

  void *first() const { return first_; }
  // Whether an address lies in the mapping or its guards.
  bool Has(uint64_t address) const { return address - reinterpret_cast<uint64_t>(start_) < whole_; }

 private:
  // With guards.
  char *start_;
  uint64_t whole_;
  // The argument's first byte.
  char *first_;
};

// Maps the report at the region's start. Throws like Mapping.
Report *MapReport(int region);

}  // namespace worker

#endif  // OPFORGE_WORKER_MEMORY_H_
