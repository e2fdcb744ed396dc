// The process in which a library's functions run apart; see protocol.h.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <thread>

#include "fault.h"
#include "instance.h"
#include "memory.h"
#include "wire.h"

namespace worker {

namespace {

// What C++ kernels have been given and have not given back, in bytes; -1 where that is not known.
int64_t BytesAllocated() {
#if defined(__GLIBC__)
  struct Info {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
  };
  // Newer than the oldest C library that this may be built with.
  static const auto mallinfo2 = reinterpret_cast<Info (*)()>(dlsym(RTLD_DEFAULT, "mallinfo2"));
  if (mallinfo2 != nullptr) {
    const Info info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
#endif
  return -1;
}

class Server {
 public:
  Server(int region, Instances *instances) : region_(region), instances_(*instances) {}

  void Answer(Kind kind, Words body, Writer *writer) {
    Reader reader(body);
    switch (kind) {
      case Kind::Open: return Open(reader, writer);
      case Kind::Infer: return Infer(reader, writer);
      case Kind::Prepare: return Prepare(reader, std::move(body), writer);
      case Kind::Map: return Map(reader, writer);
      case Kind::Run: return Run(reader, writer);
      case Kind::Close: return Close(reader, writer);
      case Kind::Answer: break;
    }
    throw std::runtime_error("a request of an unknown kind");
  }

 private:
  void Open(Reader &reader, Writer *writer) {
    const char *path = reader.Text().data();
    library_.emplace(path, std::string(reader.Text()));
    writer->Success();
    writer->Number(library_->found);
    writer->Number(library_->version);
  }

  void Infer(Reader &reader, Writer *writer);

  void Prepare(Reader reader, Words body, Writer *writer) {
    const uint64_t number = reader.Number();
    opforge_outcome outcome;
    auto instance = std::make_unique<Instance>(library(), std::move(body), reader, &outcome);
    writer->Outcome(outcome);
    writer->Number(instance->workspaces.size());
    for (const int64_t size : instance->workspaces) writer->Number(size);
    if (outcome.status == opforge_outcome::Returned && outcome.code == 0) instances_[number] = std::move(instance);
  }

  void Map(Reader &reader, Writer *writer) {
    Instance &of = instance(reader.Number());
    std::vector<Piece> pieces(reader.Number());
    for (Piece &piece : pieces) std::memcpy(&piece, reader.Take(4), sizeof(piece));
    of.Place(region_, pieces);
    writer->Success();
  }

  void Run(Reader &reader, Writer *writer);

  void Close(Reader &reader, Writer *writer) {
    instances_.erase(reader.Number());
    writer->Success();
  }

  const Library &library() const {
    if (!library_) throw std::runtime_error("no library is open");
    return *library_;
  }

  Instance &instance(uint64_t number) {
    const auto found = instances_.find(number);
    if (found == instances_.end()) throw std::runtime_error("no instance " + std::to_string(number));
    return *found->second;
  }

  int region_;
  std::optional<Library> library_;
  Instances &instances_;
};

void Server::Infer(Reader &reader, Writer *writer) {
  const auto form = static_cast<Form>(reader.Number());
  const bool several = reader.Number() != 0;
  Signature signature(reader);
  std::vector<int32_t> inputs(reader.Number());
  for (int32_t &type : inputs) type = static_cast<int32_t>(reader.Number());

  Writer found;
  uint64_t count = 0;
  struct Context {
    Writer *found;
    uint64_t *count;
  } context{&found, &count};
  const auto sink = [](void *to, const char *dtype, int rank, const int64_t *shape) {
    const auto *into = static_cast<Context *>(to);
    ++*into->count;
    into->found->Number(dtype != nullptr);
    into->found->Text(dtype == nullptr ? "" : dtype);
    const bool stated = rank == 0 || (rank > 0 && shape != nullptr);
    into->found->Number(stated ? rank : -1);
    for (int i = 0; stated && i < rank; ++i) into->found->Number(shape[i]);
  };

  const Library &from = library();
  opforge_outcome outcome;
  int32_t types[64];
  switch (form) {
    case Form::Infer:
      opforge_call_infer(from.infer, from.last_error, static_cast<int>(signature.ndims.size()), signature.ndims.data(),
                         signature.shapes.data(), signature.dtypes.data(), signature.extra, sink, &context, &outcome);
      break;
    case Form::InferShape:
      opforge_call_infer_shape(from.infer_shape, several, signature.ndims.data(), signature.shapes.data(), signature.extra, sink,
                               &context, &outcome);
      break;
    case Form::InferType:
      count = opforge_call_infer_type(from.infer_type, several, inputs.data(), inputs.size(), signature.extra, types, 64, &outcome);
      count = std::min<uint64_t>(count, 64);
      for (uint64_t i = 0; i < count; ++i) found.Number(types[i]);
      break;
  }
  writer->Outcome(outcome);
  writer->Number(count);
  writer->Append(found);
}

// Runs the instance until it fails.
void Repeat(const Library &library, Instance &instance, uint64_t repeats, opforge_outcome *outcome) {
  for (; repeats > 0; --repeats) {
    instance.Run(library, outcome);
    if (outcome->status != opforge_outcome::Returned || outcome->code != 0) return;
  }
}

// Runs each instance on a thread of its own; all begin at once.
void RunTogether(const Library &library, const std::vector<Instance *> &instances, uint64_t repeats,
                 std::vector<opforge_outcome> *outcomes) {
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  const auto finish = [&] {
    go = true;
    for (std::thread &thread : threads) thread.join();
  };
  try {
    for (size_t i = 0; i < instances.size(); ++i) {
      threads.emplace_back([&, i] {
        const SignalStack stack;
        while (!go) std::this_thread::yield();
        Repeat(library, *instances[i], repeats, &(*outcomes)[i]);
      });
    }
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

void Server::Run(Reader &reader, Writer *writer) {
  const uint64_t repeats = reader.Number();
  const bool measure = reader.Number() != 0;
  std::vector<Instance *> all(reader.Number());
  for (Instance *&one : all) one = &instance(reader.Number());
  std::vector<opforge_outcome> outcomes(all.size(), opforge_outcome{});
  const int64_t before = measure ? BytesAllocated() : -1;
  if (all.size() == 1) {
    Repeat(library(), *all[0], repeats, &outcomes[0]);
  } else {
    RunTogether(library(), all, repeats, &outcomes);
  }
  const int64_t after = measure ? BytesAllocated() : -1;
  writer->Success();
  writer->Number(outcomes.size());
  for (const opforge_outcome &outcome : outcomes) writer->Outcome(outcome);
  writer->Number(before);
  writer->Number(after);
  writer->Number(measure && std::any_of(all.begin(), all.end(), [](const Instance *one) { return one->HasChangedArrays(); }));
}

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
#if defined(__linux__) && defined(SYS_close_range)
  syscall(SYS_close_range, 3, ~0u, 0);
#endif
  *socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  *region = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  close(nothing);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setvbuf(stdout, nullptr, _IOLBF, 0);
}

void Serve(int socket, int region, Instances *instances) {
  Channel channel(socket);
  Server server(region, instances);
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

// Arguments: the parent's process number, and optionally `bare`, with which signals are left alone.
int main(int argc, char **argv) {
  int socket, region, parent;
  worker::TakeDescriptors(&socket, &region);
  if (argc < 2 || !worker::FindParent(std::atoi(argv[1]), &parent)) return EXIT_FAILURE;
#if defined(__linux__)
  prctl(PR_SET_NAME, "opforge-worker");
#endif
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  worker::CloseInForks(socket, region);
  std::thread(worker::Watch, socket, parent).detach();

  // Never destroyed: libraries may end the process at any time.
  auto *instances = new worker::Instances;
  const worker::SignalStack stack;
  if (argc < 3 || std::strcmp(argv[2], "bare") != 0) worker::ReportFaults(worker::MapReport(region), instances);
  worker::Serve(socket, region, instances);
  instances->clear();
  std::fflush(nullptr);
  _exit(EXIT_SUCCESS);
}
