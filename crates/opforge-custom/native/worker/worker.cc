// The process in which a library's functions run apart; see protocol.h.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "allocate.h"
#include "confine.h"
#include "fault.h"
#include "memory.h"
#include "server.h"
#include "wire.h"

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

namespace worker {

namespace {

// Ends this process, and those that it has started, when the parent has ended or has closed the socket, even if a function of the library never
// returns.
void Watch(int socket, int parent) {
  constexpr int kPatience = 1;
  pollfd events[] = {{socket, 0, 0}, {parent, POLLIN, 0}};
  while (poll(events, 2, -1) < 0) {
  }
  sleep(kPatience);
  kill(0, SIGKILL);
}

// A descriptor for the parent, readable when that has ended; -1 where there is no such thing. False if it has ended already.
bool FindParent(pid_t expected, int *parent) {
  *parent = -1;
#if defined(__linux__) && defined(SYS_pidfd_open)
  *parent = static_cast<int>(syscall(SYS_pidfd_open, expected, 0));
#endif
  return getppid() == expected;
}

int inherited[2];

// Processes that the library forks keep neither the socket nor the region open.
void CloseInForks(int socket, int region) {
  inherited[0] = socket;
  inherited[1] = region;
  pthread_atfork(nullptr, nullptr, [] {
    for (const int descriptor : inherited) close(descriptor);
  });
}

// Takes the descriptors that the parent gave over and closes all others; what the library prints goes where errors go.
void TakeDescriptors(int *socket, int *region) {
  long closed = -1;
#if defined(__linux__) && defined(SYS_close_range)
  closed = syscall(SYS_close_range, 3, ~0u, 0);
#endif
  // Older systems lack the call; what has a higher number than this stays open if the parent did not mark it for being closed.
  constexpr int kMost = 1 << 16;
  for (int i = 3; closed != 0 && i < kMost; ++i) close(i);
  *socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  *region = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  close(nothing);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setvbuf(stdout, nullptr, _IOLBF, 0);
}

void Serve(int socket, Server server) {
  Channel channel(socket);
  Kind kind;
  for (Words body; channel.Receive(&kind, &body);) {
    Writer writer;
    try {
      server.Answer(kind, std::move(body), &writer);
    } catch (const std::exception &error) {
      writer = Writer();
      writer.Refuse(error.what());
    }
    if (!channel.Send(writer.Finish())) return;
  }
}

}  // namespace

}  // namespace worker

// Arguments: the parent's process number; `bare`, with which signals are left alone, or `guarded`; how many bytes may be allocated, 0 if as many as
// there are; the library's path.
int main(int argc, char **argv) {
  int socket, region, parent;
  worker::TakeDescriptors(&socket, &region);
  if (argc != 5 || !worker::FindParent(std::atoi(argv[1]), &parent)) return EXIT_FAILURE;
  const bool bare = std::strcmp(argv[2], "bare") == 0;
  const uint64_t memory = std::strtoull(argv[3], nullptr, 10);
#if defined(__linux__)
  prctl(PR_SET_NAME, "opforge-worker");
#endif
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  worker::CloseInForks(socket, region);
  worker::KeepWithinReach(argv[4]);
  std::string gaps = memory == 0 ? "" : worker::LimitMemory(memory);
  const std::string confined = worker::Confine();
  gaps += (gaps.empty() || confined.empty() ? "" : "; ") + confined;
  std::thread(worker::Watch, socket, parent).detach();

  // Never destroyed: libraries may end the process at any time.
  auto *instances = new worker::Instances;
  const worker::SignalStack stack;
  worker::Report *report = worker::MapReport(region);
  if (memory != 0) worker::NoteRefusals(&report->refused);
  if (!bare) worker::ReportFaults(report, instances);
  worker::Serve(socket, worker::Server(region, report, instances, gaps));
  while (!instances->empty()) instances->extract(instances->begin());
  std::fflush(nullptr);
  _exit(EXIT_SUCCESS);
}
