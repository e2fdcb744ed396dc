#include "confine.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace worker {

namespace {

std::string Because(const char *what) { return std::string(what) + ": " + std::strerror(errno); }

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

// Newer than the oldest headers that this may be built with.
#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
constexpr long kSeccomp = 317;
#else
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
constexpr long kSeccomp = 277;
#endif
constexpr unsigned kSetFilter = 1;

// A program of the kernel's packet filters, which judges system calls. See seccomp(2).
class Filter {
 public:
  Filter() {
    // Calls by the conventions of other machines, as 32-bit ones, are numbered differently: none is let through.
    Load(offsetof(seccomp_data, arch));
    Add(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0);
    Refuse(EPERM);
#if defined(__x86_64__)
    constexpr uint32_t kOtherNumbers = 0x40000000;
    Load(offsetof(seccomp_data, nr));
    Add(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 0, 1);
    Refuse(ENOSYS);
#endif
  }

  // The call always fails.
  void Forbid(long call, int error = EPERM) {
    Load(offsetof(seccomp_data, nr));
    Add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
    Refuse(error);
  }

  // The call fails unless the low half of the argument is one of these.
  void Confine(long call, int argument, const std::vector<uint32_t> &accepted) {
    Judge(call, argument, accepted, BPF_JEQ, true);
  }

  // The call fails if the low half of the argument is one of these.
  void Except(long call, int argument, const std::vector<uint32_t> &refused) { Judge(call, argument, refused, BPF_JEQ, false); }

  // The call fails if the argument has this bit.
  void ExceptBit(long call, int argument, uint32_t bit) { Judge(call, argument, {bit}, BPF_JSET, false); }

  // The call fails unless the argument, a pointer, is null.
  void OnlyNull(long call, int argument) {
    Confine(call, argument, {0});
    Judge(call, argument, {0}, BPF_JEQ, true, 4);
  }

  bool Install() {
    Add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    const sock_fprog program = {static_cast<unsigned short>(code_.size()), code_.data()};
    // Without this flag, older kernels slow down everything that the process computes.
    constexpr unsigned kFast = 1 << 2;
    return syscall(kSeccomp, kSetFilter, kFast, &program) == 0 ||
           syscall(kSeccomp, kSetFilter, 0, &program) == 0;
  }

 private:
  void Add(uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) { code_.push_back({code, if_true, if_false, value}); }
  void Load(size_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset), 0, 0); }
  void Refuse(int error) { Add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA), 0, 0); }

  // `half`: 0 for the low half of the argument, 4 for the high one, as machines with the lowest byte first have them.
  void Judge(long call, int argument, const std::vector<uint32_t> &values, uint16_t compare, bool accepts, size_t half = 0) {
    const auto count = static_cast<uint8_t>(values.size());
    Load(offsetof(seccomp_data, nr));
    // Jumps are counted from the next instruction. Another call jumps behind all of this.
    Add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, static_cast<uint8_t>(count + (accepts ? 2 : 3)));
    Load(offsetof(seccomp_data, args) + 8 * argument + half);
    // A match jumps behind the refusal, or over the jump that leads behind it.
    for (uint8_t i = 0; i < count; ++i) Add(BPF_JMP | compare | BPF_K, values[i], static_cast<uint8_t>(count - i), 0);
    if (!accepts) Add(BPF_JMP | BPF_JA, 1, 0, 0);
    Refuse(EPERM);
  }

  std::vector<sock_filter> code_;
};

bool FilterCalls() {
  const auto self = static_cast<uint32_t>(getpid()), parent = static_cast<uint32_t>(getppid());
  Filter filter;
  // 0 is the process's own group.
  filter.Confine(SYS_kill, 0, {self, 0, -self});
  for (const long call : {SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) filter.Confine(call, 0, {self});
  // Signals that the kernel sends: to the owner of a descriptor or of a terminal, by typing into it, when a child ends.
  constexpr uint32_t kSetOwner = 8, kSetSignal = 10, kSetOwnerEx = 15;
  filter.Except(SYS_fcntl, 1, {kSetOwner, kSetSignal, kSetOwnerEx});
  constexpr uint32_t kFileOwner = 0x8901, kSocketOwner = 0x8902, kForeground = 0x5410, kType = 0x5412, kConsole = 0x541c;
  filter.Except(SYS_ioctl, 1, {kFileOwner, kSocketOwner, kForeground, kType, kConsole});
  filter.ExceptBit(SYS_clone, 0, CLONE_PARENT);
#if defined(SYS_clone3)
  // Its flags are in memory, where a filter cannot look; the C library takes clone instead.
  filter.Forbid(SYS_clone3, ENOSYS);
#endif
  // Limits may be read.
  filter.OnlyNull(SYS_prlimit64, 2);
  for (const long call : {SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam}) filter.Except(call, 0, {parent});
  for (const long call : {SYS_tkill, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_setpgid, SYS_setsid, SYS_setrlimit,
                          SYS_setpriority, SYS_ioprio_set, SYS_migrate_pages, SYS_move_pages, SYS_perf_event_open}) {
    filter.Forbid(call);
  }
  // Newer than the oldest headers that this may be built with; these numbers are the same on all machines.
  constexpr long kPidfdSendSignal = 424, kPidfdGetfd = 438, kProcessMadvise = 440, kProcessMrelease = 448;
  for (const long call : {kPidfdSendSignal, kPidfdGetfd, kProcessMadvise, kProcessMrelease}) filter.Forbid(call);
  return filter.Install();
}

#else

bool FilterCalls() {
  errno = ENOSYS;
  return false;
}

#endif

#if defined(__linux__)

// A Landlock domain: its processes get at no memory of processes outside of it, by /proc either, and, from version 6 on, send them no signals. A domain
// must refuse something about files: here, making device files.
bool EnterDomain() {
  constexpr long kCreate = 444, kAddRule = 445, kRestrict = 446;
  constexpr uint64_t kMakeDevices = 1 << 6 | 1 << 11, kMove = 1 << 13, kSignals = 1 << 1;
  struct {
    uint64_t files, network, scopes;
  } rules = {kMakeDevices, 0, 0};
  struct __attribute__((packed)) {
    uint64_t allowed;
    int32_t folder;
  } everywhere = {kMove, -1};
  constexpr unsigned kAskVersion = 1;
  const long version = syscall(kCreate, nullptr, 0, kAskVersion);
  if (version < 0) return false;
  if (version >= 2) rules.files |= kMove;
  if (version >= 6) rules.scopes = kSignals;
  const size_t size = version >= 6 ? sizeof(rules) : sizeof(rules.files);
  const auto domain = static_cast<int>(syscall(kCreate, &rules, size, 0));
  if (domain < 0) return false;
  if (version >= 2) {
    // Otherwise no file could be moved from folder to folder.
    constexpr int kPathBeneath = 1;
    everywhere.folder = open("/", O_PATH | O_CLOEXEC);
    syscall(kAddRule, domain, kPathBeneath, &everywhere, 0);
    close(everywhere.folder);
  }
  const bool done = syscall(kRestrict, domain, 0) == 0;
  const int error = errno;
  close(domain);
  errno = error;
  return done;
}

#endif

}  // namespace

std::string Confine() {
#if defined(__linux__)
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Because("its privileges cannot be given up");
  std::string gaps;
  if (!EnterDomain()) gaps = Because("it can reach memory of other processes through /proc, for there is no Landlock");
  if (!FilterCalls()) gaps += (gaps.empty() ? "" : "; ") + Because("it can send signals to other processes, for system calls cannot be filtered");
  return gaps;
#else
  return "it can send signals to other processes: this system has no filter for that";
#endif
}

namespace {

// The folder that is kept open, with the slash at its end, and its descriptor.
std::string kept_folder;
int kept_descriptor = -1;

std::string Folder(const std::string &file) { return file.substr(0, file.rfind('/') + 1); }

}  // namespace

void KeepWithinReach(const std::string &file) {
  if (file.compare(0, 6, "/proc/") != 0) return;
  kept_folder = Folder(file);
#if defined(__linux__)
  kept_descriptor = open(kept_folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
#endif
}

std::string WithinReach(const std::string &file) {
  if (kept_descriptor < 0 || Folder(file) != kept_folder) return file;
  return "/proc/self/fd/" + std::to_string(kept_descriptor) + "/" + file.substr(kept_folder.size());
}

std::string LimitMemory(uint64_t bytes) {
  const rlimit limit = {static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  return setrlimit(RLIMIT_DATA, &limit) == 0 ? "" : Because("its memory is not limited");
}

}  // namespace worker
