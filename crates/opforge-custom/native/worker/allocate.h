// What the library was refused of the memory that it asked for.
#ifndef OPFORGE_WORKER_ALLOCATE_H_
#define OPFORGE_WORKER_ALLOCATE_H_

#include <cstdint>

namespace worker {

// From now on, the size in bytes of each allocation that fails is written there.
void NoteRefusals(uint64_t *at);

}  // namespace worker

#endif  // OPFORGE_WORKER_ALLOCATE_H_
