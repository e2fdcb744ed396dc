// Messages, as protocol.h describes them.
#ifndef OPFORGE_WORKER_WIRE_H_
#define OPFORGE_WORKER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bridge.h"
#include "protocol.h"

namespace worker {

using Words = std::vector<uint64_t>;

// Reads a message in place. Throws std::out_of_range where it ends too early.
class Reader {
 public:
  explicit Reader(Words &words) : at_(words.data()), end_(at_ + words.size()) {}

  uint64_t Number() { return *Take(1); }
  // The next `count` words.
  uint64_t *Take(uint64_t count);
  // Ends with a zero.
  std::string_view Text();

 private:
  uint64_t *at_, *end_;
};

class Writer {
 public:
  Writer() : words_{0, 0} {}

  void Number(uint64_t number) { words_.push_back(number); }
  void Text(std::string_view text);
  void Append(const Writer &other) { words_.insert(words_.end(), other.words_.begin() + 2, other.words_.end()); }
  void Outcome(const opforge_outcome &outcome);
  void Success() { Outcome(Status::Returned, 0, ""); }
  void Refuse(std::string_view why) { Outcome(Status::Refused, 0, why); }

  // The message, ready to be sent.
  const Words &Finish();

 private:
  void Outcome(Status status, int64_t code, std::string_view text);

  Words words_;
};

// The socket to the parent.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}

  // Waits for a request. False when the parent has closed the socket.
  bool Receive(Kind *kind, Words *body);
  bool Send(const Words &message);

 private:
  int socket_;
};

}  // namespace worker

#endif  // OPFORGE_WORKER_WIRE_H_
