#include "runs.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <thread>

#include "fault.h"

namespace worker {

namespace {

// Sent to threads to pause them; otherwise ignored by whoever gets it.
constexpr int kPause = SIGURG;

// How long threads are paused, and the time between pauses, in nanoseconds.
constexpr timespec kMoment = {0, 50'000};

void Pause(int) {
  const int saved = errno;
  nanosleep(&kMoment, nullptr);
  errno = saved;
}

// Pauses one thread after the other until none works any more.
void Jolt(std::vector<std::thread> &threads, const std::atomic<size_t> &working) {
  for (size_t i = 0; working > 0; i = (i + 1) % threads.size()) {
    pthread_kill(threads[i].native_handle(), kPause);
    nanosleep(&kMoment, nullptr);
  }
}

// As Repeat, or until results change.
void RepeatSteadily(const Library &library, Instance &instance, uint64_t repeats, opforge_outcome *outcome) {
  const std::vector<char> expected = instance.Results();
  while (repeats-- > 0 && Repeat(library, instance, 1, outcome) && instance.Results() == expected) {
  }
}

}  // namespace

bool Repeat(const Library &library, Instance &instance, uint64_t repeats, opforge_outcome *outcome) {
  for (; repeats > 0; --repeats) {
    instance.Run(library, outcome);
    if (outcome->status != opforge_outcome::Returned || outcome->code != 0) return false;
  }
  return true;
}

void RunTogether(const Library &library, const std::vector<Instance *> &instances, uint64_t repeats, bool steady,
                 std::vector<opforge_outcome> *outcomes) {
  struct sigaction action = {};
  action.sa_handler = Pause;
  action.sa_flags = SA_RESTART;
  sigaction(kPause, &action, nullptr);

  std::atomic<bool> go{false};
  std::atomic<size_t> working{0};
  std::vector<std::thread> threads;
  const auto finish = [&] {
    go = true;
    Jolt(threads, working);
    for (std::thread &thread : threads) thread.join();
  };
  try {
    for (size_t i = 0; i < instances.size(); ++i) {
      threads.emplace_back([&, i] {
        const SignalStack stack;
        while (!go) std::this_thread::yield();
        steady ? RepeatSteadily(library, *instances[i], repeats, &(*outcomes)[i])
               : void(Repeat(library, *instances[i], repeats, &(*outcomes)[i]));
        --working;
      });
      ++working;
    }
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

}  // namespace worker
