#include "wire.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace worker {

namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kQuietly = MSG_NOSIGNAL;
#else
constexpr int kQuietly = 0;
#endif

constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kHeader = 2 * kWord;

// What one system call usually receives whole, in bytes.
constexpr size_t kChunk = 4096;

// Receives at least `least` bytes and at most `most`; 0 when there are no more.
size_t ReceiveSome(int socket, char *to, size_t least, size_t most) {
  size_t received = 0;
  while (received < least) {
    const ssize_t n = recv(socket, to + received, most - received, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    received += n;
  }
  return received;
}

}  // namespace

uint64_t *Reader::Take(uint64_t count) {
  if (count > static_cast<uint64_t>(end_ - at_)) throw std::out_of_range("a message ends too early");
  uint64_t *taken = at_;
  at_ += count;
  return taken;
}

std::string_view Reader::Text() {
  const uint64_t length = Number();
  return {reinterpret_cast<const char *>(Take(length / kWord + 1)), length};
}

void Writer::Text(std::string_view text) {
  Number(text.size());
  const size_t start = words_.size();
  words_.resize(start + text.size() / kWord + 1, 0);
  std::memcpy(words_.data() + start, text.data(), text.size());
}

void Writer::Outcome(Status status, int64_t code, std::string_view text) {
  Number(static_cast<uint64_t>(status));
  Number(code);
  Text(text);
}

void Writer::Outcome(const opforge_outcome &outcome) {
  const bool threw = outcome.status == opforge_outcome::Threw;
  Outcome(threw ? Status::Threw : Status::Returned, threw ? 0 : outcome.code, outcome.text);
}

const Words &Writer::Finish() {
  words_[1] = (words_.size() - 2) * kWord;
  return words_;
}

bool Channel::Receive(Kind *kind, Words *body) {
  uint64_t chunk[kChunk / kWord];
  const size_t received = ReceiveSome(socket_, reinterpret_cast<char *>(chunk), kHeader, kChunk);
  if (received == 0) return false;
  *kind = static_cast<Kind>(chunk[0]);
  const size_t length = chunk[1], have = std::min(received - kHeader, length);
  body->resize((length + kWord - 1) / kWord);
  auto *to = reinterpret_cast<char *>(body->data());
  std::memcpy(to, chunk + 2, have);
  return have == length || ReceiveSome(socket_, to + have, length - have, length - have) != 0;
}

bool Channel::Send(const Words &message) {
  const auto *from = reinterpret_cast<const char *>(message.data());
  size_t left = message.size() * kWord;
  while (left > 0) {
    const ssize_t n = send(socket_, from, left, kQuietly);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    left -= n;
  }
  return true;
}

}  // namespace worker
