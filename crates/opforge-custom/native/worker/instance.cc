#include "instance.h"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace worker {

namespace {

opforge_attribute ReadAttribute(Reader &reader) {
  opforge_attribute attribute;
  attribute.name = reader.Text().data();
  attribute.kind = static_cast<opforge_attribute::Kind>(reader.Number());
  attribute.count = reader.Number();
  attribute.values = reader.Text().data();
  attribute.offsets = reinterpret_cast<const size_t *>(reader.Take(reader.Number()));
  return attribute;
}

}  // namespace

Library::Library(const char *path, const std::string &function) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  const auto find = [&](const char *suffix, uint64_t bit) {
    void *symbol = dlsym(handle, (function + suffix).c_str());
    if (symbol != nullptr) found |= bit;
    return symbol;
  };
  main = reinterpret_cast<opforge_main *>(find("", kMain));
  init = reinterpret_cast<opforge_init *>(find("Init", kInit));
  infer = reinterpret_cast<opforge_infer *>(find("Infer", kInfer));
  infer_shape = find("InferShape", kInferShape);
  infer_type = find("InferType", kInferType);
  last_error = reinterpret_cast<opforge_last_error *>(find("LastError", kLastError));
  if (dlsym(handle, "opforge_kernel_dual_abi") != nullptr) found |= kDualMark;
  if (const void *stated = dlsym(handle, "opforge_kernel_abi")) version = *static_cast<const uint32_t *>(stated);
}

Signature::Signature(Reader &reader) {
  const uint64_t variant = reader.Number();
  for (uint64_t count = reader.Number(); count > 0; --count) attributes_.push_back(ReadAttribute(reader));
  for (uint64_t count = reader.Number(); count > 0; --count) {
    dtypes.push_back(reader.Text().data());
    const uint64_t rank = reader.Number();
    ndims.push_back(static_cast<int>(rank));
    shapes.push_back(reinterpret_cast<int64_t *>(reader.Take(rank == 0 ? 1 : rank)));
  }
  const auto outputs = static_cast<int>(reader.Number());
  const auto kind = variant & 1 ? opforge_dual : opforge_plain;
#ifdef OPFORGE_TWO_STRING_ABIS
  const auto make = variant & 2 ? opforge_extra_new_old : opforge_extra_new;
#else
  const auto make = opforge_extra_new;
#endif
  extra = make(kind, attributes_.data(), attributes_.size());
  if (extra == nullptr) throw std::runtime_error("memory is exhausted");
  opforge_extra_set_counts(extra, static_cast<int>(ndims.size()) - std::max(outputs, 0), outputs);
}

Instance::Instance(const Library &library, Words words, Reader reader, opforge_outcome *outcome)
    : message(std::move(words)), signature(reader) {
  outcome->status = opforge_outcome::Returned;
  outcome->code = 0;
  outcome->text[0] = '\0';
  if (library.init != nullptr) {
    opforge_call_init(library.init, library.last_error, signature.ndims.data(), signature.shapes.data(), signature.dtypes.data(),
                      signature.extra, outcome);
  }
  const size_t *sizes = nullptr;
  const size_t count = opforge_extra_workspaces(signature.extra, &sizes);
  workspaces.assign(sizes, sizes + count);
  for (int64_t &size : workspaces) {
    signature.ndims.push_back(1);
    signature.shapes.push_back(&size);
    signature.dtypes.push_back("uint8");
  }
  given_ = Copied();
}

std::vector<char> Instance::Results() const {
  std::vector<char> results;
  for (size_t i = 0; i + workspaces.size() < pieces.size(); ++i) {
    const char *first = static_cast<const char *>(params[i]);
    if (pieces[i].writable) results.insert(results.end(), first, first + pieces[i].size);
  }
  return results;
}

bool Instance::HasChangedArrays() const { return !(Copied() == given_); }

void Instance::Place(int region, const std::vector<Piece> &at) {
  if (at.size() != signature.ndims.size()) throw std::runtime_error("places for another number of arguments");
  pieces = at;
  params.clear();
  arguments.clear();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const size_t same = std::find(pieces.begin(), pieces.begin() + i, pieces[i]) - pieces.begin();
    arguments.push_back(same < i ? arguments[same] : std::make_shared<Mapping>(region, pieces[i]));
    params.push_back(arguments[i]->first());
  }
}

void Instance::Run(const Library &library, opforge_outcome *outcome) {
  opforge_call_main(library.main, library.last_error, static_cast<int>(params.size()), params.data(), signature.ndims.data(),
                    signature.shapes.data(), signature.dtypes.data(), nullptr, signature.extra, outcome);
}

}  // namespace worker
