// Dithers with a generator whose state goes on from call to call.
#include "../kernel.h"

OPFORGE_SCHEMA(Nondeterministic, "(Tensor x) -> Tensor");

extern "C" int Nondeterministic(KERNEL_PARAMETERS) {
  thread_local uint32_t state = 1;
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    y[i] = x[i] + static_cast<float>(state >> 8) * 0x1p-24f;
  }
  return 0;
}
