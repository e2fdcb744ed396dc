// A library that cannot even be opened without harm.
#include <cstdint>
#include <cstdlib>

namespace {

const struct Harm {
  Harm() { std::abort(); }
} harm;

}  // namespace

extern "C" int Harmful(int, void **, int *, int64_t **, const char **, void *, void *) { return 0; }
