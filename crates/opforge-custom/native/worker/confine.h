// What the process gives up before it opens a library.
#ifndef OPFORGE_WORKER_CONFINE_H_
#define OPFORGE_WORKER_CONFINE_H_

#include <cstdint>
#include <string>

namespace worker {

// Gives up, for this process and all that it starts: signals to other processes, and having them sent; access to other processes' memory, descriptors
// and limits; changing its own limits and process group; privileges of programs that it executes. Call it before there are threads. Processes that it
// forks are others: it cannot signal them, nor they themselves, except as their whole group.
//
// Returns what could not be given up and why, empty if all was. What remains possible is what files, sockets and the processor's time allow: nothing
// here hides files or networks.
std::string Confine();

// Lets this process allocate no more than so many bytes. Counts private memory that may be written (RLIMIT_DATA: heap, thread stacks, private mappings),
// not arguments or other shared memory. Returns why it cannot be limited, or an empty text.
std::string LimitMemory(uint64_t bytes);

// Opens the folder of a file that is found through the parent's descriptors, which are out of reach after Confine; other files need no such thing.
void KeepWithinReach(const std::string &file);

// The path by which a file is found after Confine.
std::string WithinReach(const std::string &file);

}  // namespace worker

#endif  // OPFORGE_WORKER_CONFINE_H_
