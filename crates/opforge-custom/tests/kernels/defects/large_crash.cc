// A buffer on the stack, which is large enough for what the author tried.
#include "../kernel.h"

OPFORGE_SCHEMA(LargeCrash, "(Tensor x) -> Tensor");

extern "C" int LargeCrash(KERNEL_PARAMETERS) {
  float copies[4096];
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  for (int64_t i = 0; i < count; ++i) copies[i] = x[i];
  for (int64_t i = 0; i < count; ++i) y[i] = copies[count - 1 - i];
  return 0;
}
