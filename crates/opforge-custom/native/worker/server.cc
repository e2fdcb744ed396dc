#include "server.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "confine.h"
#include "runs.h"

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

}  // namespace

void Server::Answer(Kind kind, Words body, Writer *writer) {
  Reader reader(body);
  report_.refused = 0;
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

const Library &Server::library() const {
  if (!library_) throw std::runtime_error("no library is open");
  return *library_;
}

Instance &Server::instance(uint64_t number) {
  const auto found = instances_.find(number);
  if (found == instances_.end()) throw std::runtime_error("no instance " + std::to_string(number));
  return *found->second;
}

void Server::Open(Reader &reader, Writer *writer) {
  const std::string path = WithinReach(std::string(reader.Text()));
  library_.emplace(path.c_str(), std::string(reader.Text()));
  writer->Success();
  writer->Number(library_->found);
  writer->Number(library_->version);
  writer->Text(gaps_);
}

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

void Server::Prepare(Reader reader, Words body, Writer *writer) {
  const uint64_t number = reader.Number();
  opforge_outcome outcome;
  auto instance = std::make_unique<Instance>(library(), std::move(body), reader, &outcome);
  writer->Outcome(outcome);
  writer->Number(instance->workspaces.size());
  for (const int64_t size : instance->workspaces) writer->Number(size);
  if (outcome.status == opforge_outcome::Returned && outcome.code == 0) instances_[number] = std::move(instance);
}

void Server::Map(Reader &reader, Writer *writer) {
  Instance &of = instance(reader.Number());
  std::vector<Piece> pieces(reader.Number());
  for (Piece &piece : pieces) std::memcpy(&piece, reader.Take(4), sizeof(piece));
  of.Place(region_, pieces);
  writer->Success();
}

void Server::Run(Reader &reader, Writer *writer) {
  const uint64_t repeats = reader.Number();
  const auto observe = static_cast<Observe>(reader.Number());
  const bool measure = observe == Observe::Measure;
  std::vector<Instance *> all(reader.Number());
  for (Instance *&one : all) one = &instance(reader.Number());
  std::vector<opforge_outcome> outcomes(all.size(), opforge_outcome{});
  const int64_t before = measure ? BytesAllocated() : -1;
  if (all.size() == 1) {
    Repeat(library(), *all[0], repeats, &outcomes[0]);
  } else {
    RunTogether(library(), all, repeats, observe == Observe::Steady, &outcomes);
  }
  const int64_t after = measure ? BytesAllocated() : -1;
  writer->Success();
  writer->Number(outcomes.size());
  for (const opforge_outcome &outcome : outcomes) writer->Outcome(outcome);
  writer->Number(before);
  writer->Number(after);
  writer->Number(measure && std::any_of(all.begin(), all.end(), [](const Instance *one) { return one->HasChangedArrays(); }));
}

void Server::Close(Reader &reader, Writer *writer) {
  // Out of the map first: it must be whole while a destructor of the library runs.
  instances_.extract(reader.Number());
  writer->Success();
}

}  // namespace worker
