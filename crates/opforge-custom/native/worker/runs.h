// Calls of main functions, alone and at once.
#ifndef OPFORGE_WORKER_RUNS_H_
#define OPFORGE_WORKER_RUNS_H_

#include <vector>

#include "instance.h"

namespace worker {

// Runs the instance `repeats` times or until it fails. False once it has failed.
bool Repeat(const Library &library, Instance &instance, uint64_t repeats, opforge_outcome *outcome);

// Does that with each instance on a thread of its own. All begin at once, and each is paused again and again in the midst of its work, so that
// others run meanwhile on a busy or single processor too. `steady` ends the runs of an instance whose results are not what they were before the
// first. Throws std::system_error if there are no more threads.
void RunTogether(const Library &library, const std::vector<Instance *> &instances, uint64_t repeats, bool steady,
                 std::vector<opforge_outcome> *outcomes);

}  // namespace worker

#endif  // OPFORGE_WORKER_RUNS_H_
