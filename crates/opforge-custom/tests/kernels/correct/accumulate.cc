// total += x, in place: the output is the second input.
#include "../kernel.h"

OPFORGE_SCHEMA(Accumulate, "(Tensor x, Tensor(a!) total) -> Tensor(a!)");

extern "C" int Accumulate(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *total = Floats(params, 2);
  for (int64_t i = 0; i < count; ++i) total[i] += x[i];
  return 0;
}
