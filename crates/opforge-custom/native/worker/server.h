// Answers requests.
#ifndef OPFORGE_WORKER_SERVER_H_
#define OPFORGE_WORKER_SERVER_H_

#include <optional>
#include <string>

#include "fault.h"
#include "instance.h"
#include "wire.h"

namespace worker {

class Server {
 public:
  // `gaps` is what the process could not give up.
  Server(int region, Report *report, Instances *instances, std::string gaps)
      : region_(region), report_(*report), instances_(*instances), gaps_(std::move(gaps)) {}

  // Writes the answer to a request; it is refused if this throws.
  void Answer(Kind kind, Words body, Writer *writer);

 private:
  void Open(Reader &reader, Writer *writer);
  void Infer(Reader &reader, Writer *writer);
  void Prepare(Reader reader, Words body, Writer *writer);
  void Map(Reader &reader, Writer *writer);
  void Run(Reader &reader, Writer *writer);
  void Close(Reader &reader, Writer *writer);

  const Library &library() const;
  Instance &instance(uint64_t number);

  int region_;
  Report &report_;
  std::optional<Library> library_;
  Instances &instances_;
  const std::string gaps_;
};

}  // namespace worker

#endif  // OPFORGE_WORKER_SERVER_H_
