// Signals that end the worker, reported before they do.
#ifndef OPFORGE_WORKER_FAULT_H_
#define OPFORGE_WORKER_FAULT_H_

#include <map>
#include <memory>

#include "instance.h"

namespace worker {

using Instances = std::map<uint64_t, std::unique_ptr<Instance>>;

// From now on, what crashes is reported. `instances` is only changed outside of library code.
void ReportFaults(Report *report, const Instances *instances);

// A stack for the calling thread's signals, so that an overflow of its own is reported too.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack &) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace worker

#endif  // OPFORGE_WORKER_FAULT_H_
