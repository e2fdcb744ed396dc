#include "fault.h"

#include <signal.h>
#include <ucontext.h>

#include <atomic>

namespace worker {

namespace {

constexpr size_t kSignalStack = 64 << 10;

// How far from the stack pointer a fault is taken for an overflow of the stack, in bytes.
constexpr uint64_t kStackReach = 256 << 10;

Report *report;
const Instances *instances;

struct Machine {
  uint64_t stack_pointer;
  Report::Access access;
};

Machine Inspect(const siginfo_t &info, const void *context) {
  const auto &machine = static_cast<const ucontext_t *>(context)->uc_mcontext;
  const bool is_access = info.si_signo == SIGSEGV || info.si_signo == SIGBUS;
#if defined(__linux__) && defined(__x86_64__)
  constexpr uint64_t kWrote = 2;
  const bool wrote = machine.gregs[REG_ERR] & kWrote;
  return {static_cast<uint64_t>(machine.gregs[REG_RSP]), !is_access ? Report::UnknownAccess : wrote ? Report::Write : Report::Read};
#elif defined(__linux__) && defined(__aarch64__)
  (void)is_access;
  return {machine.sp, Report::UnknownAccess};
#else
  (void)machine, (void)is_access;
  return {0, Report::UnknownAccess};
#endif
}

// Finds the argument that an address belongs to, by its guards too.
bool FindArgument(uint64_t address) {
  for (const auto &[number, instance] : *instances) {
    for (size_t i = 0; i < instance->arguments.size(); ++i) {
      const Mapping &argument = *instance->arguments[i];
      if (!argument.Has(address)) continue;
      report->instance = number;
      report->argument = i;
      report->byte = static_cast<int64_t>(address - reinterpret_cast<uint64_t>(argument.first()));
      return true;
    }
  }
  return false;
}

// Runs on the signal stack of whichever thread failed; may only do what is safe in a signal handler. When it returns, the signal strikes again
// and ends the process.
void OnSignal(int signal, siginfo_t *info, void *context) {
  static std::atomic_flag reported = ATOMIC_FLAG_INIT;
  // What a process sends has no address; it does not strike again by itself either.
  const bool sent = info->si_code <= 0;
  if (!reported.test_and_set()) {
    const Machine machine = Inspect(*info, context);
    const auto address = sent ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
    report->signal = signal;
    report->code = info->si_code;
    report->address = address;
    report->access = sent ? Report::UnknownAccess : machine.access;
    if (!sent && FindArgument(address)) {
      report->where = Report::Argument;
    } else if (!sent && address - machine.stack_pointer + kStackReach < 2 * kStackReach) {
      report->where = Report::Stack;
    }
  }
  if (sent) raise(signal);
}

}  // namespace

void ReportFaults(Report *to, const Instances *of) {
  report = to;
  instances = of;
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

SignalStack::SignalStack() : memory_(new char[kSignalStack]) {
  stack_t stack = {};
  stack.ss_sp = memory_.get();
  stack.ss_size = kSignalStack;
  sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace worker
