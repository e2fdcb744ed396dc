// Scratch memory of every call is never given back.
#include "../kernel.h"

OPFORGE_SCHEMA(Leak, "(Tensor x) -> Tensor");

extern "C" int Leak(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  float *squares = new float[count];
  for (int64_t i = 0; i < count; ++i) squares[i] = x[i] * x[i];
  for (int64_t i = 0; i < count; ++i) y[i] = squares[count - 1 - i];
  return 0;
}
