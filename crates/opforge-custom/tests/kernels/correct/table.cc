// Sines of whole degrees from a table that is made at first use.
#include <array>
#include <cmath>

#include "../kernel.h"

OPFORGE_SCHEMA(Sine, "(Tensor x) -> Tensor");

using Table = std::array<float, 360>;

// Threads that come first at once wait for one of them: so C++ initialises such statics.
static const Table &Sines() {
  static const Table table = [] {
    Table sines;
    for (int i = 0; i < 360; ++i) sines[i] = std::sin(static_cast<float>(i) * 0.017453292f);
    return sines;
  }();
  return table;
}

extern "C" int Sine(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const auto *degrees = static_cast<const int32_t *>(params[0]);
  for (int64_t i = 0; i < count; ++i) Floats(params, 1)[i] = Sines()[(degrees[i] % 360 + 360) % 360];
  return 0;
}
