// The square, and a gradient that forgets its factor 2.
#include "../kernel.h"

OPFORGE_SCHEMA(Square, "(Tensor x) -> Tensor");

extern "C" int Square(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) Floats(params, 1)[i] = Floats(params, 0)[i] * Floats(params, 0)[i];
  return 0;
}

// Of the input, the output and the output's gradient.
extern "C" int SquareGradient(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) Floats(params, 3)[i] = Floats(params, 0)[i] * Floats(params, 2)[i];
  return 0;
}
