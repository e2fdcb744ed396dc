// A library, and its operator initialised for a signature.
#ifndef OPFORGE_WORKER_INSTANCE_H_
#define OPFORGE_WORKER_INSTANCE_H_

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bridge.h"
#include "memory.h"
#include "wire.h"

namespace worker {

// An open library with the functions of one operator; null where it has none. Never closed.
struct Library {
  // Throws std::runtime_error with the loader's message.
  Library(const char *path, const std::string &function);

  // Bits of Found.
  uint64_t found = 0;
  // What the library states; 0 if it states none.
  uint32_t version = 0;
  opforge_main *main;
  opforge_init *init;
  opforge_infer *infer;
  void *infer_shape;
  void *infer_type;
  opforge_last_error *last_error;
};

// The arrays that describe arguments, and the `extra` that goes with them. Points into the message that it was read from.
struct Signature {
  explicit Signature(Reader &reader);
  Signature(const Signature &) = delete;
  // Destroys the kernel data.
  ~Signature() { opforge_extra_delete(extra); }

  std::vector<int> ndims;
  std::vector<int64_t *> shapes;
  std::vector<const char *> dtypes;
  void *extra;

 private:
  std::vector<opforge_attribute> attributes_;
};

struct Instance {
  // Calls Init. `reader` reads `message`.
  Instance(const Library &library, Words message, Reader reader, opforge_outcome *outcome);

  // Maps the arguments, forgetting where they were before; equal pieces are one. Throws as Mapping does, or if their number is wrong.
  void Place(int region, const std::vector<Piece> &at);
  void Run(const Library &library, opforge_outcome *outcome);
  // Whether the arrays that describe the arguments, which are not the library's own, are not as they were after Init.
  bool HasChangedArrays() const;
  // What arguments that may be written hold, except for workspaces.
  std::vector<char> Results() const;

  Words message;
  Signature signature;
  // As Init asked for them, in bytes.
  std::vector<int64_t> workspaces;
  std::vector<std::shared_ptr<Mapping>> arguments;
  std::vector<Piece> pieces;
  std::vector<void *> params;

 private:
  // With what they point to.
  struct Arrays {
    Words message;
    std::vector<int> ndims;
    std::vector<int64_t *> shapes;
    std::vector<const char *> dtypes;
    std::vector<int64_t> workspaces;

    bool operator==(const Arrays &other) const {
      const auto all = [](const Arrays &of) { return std::tie(of.message, of.ndims, of.shapes, of.dtypes, of.workspaces); };
      return all(*this) == all(other);
    }
  };

  Arrays Copied() const { return {message, signature.ndims, signature.shapes, signature.dtypes, workspaces}; }

  Arrays given_;
};

}  // namespace worker

#endif  // OPFORGE_WORKER_INSTANCE_H_
