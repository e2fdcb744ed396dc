// The loop takes one step too many: an element behind the end of the output is written.
#include "../kernel.h"

OPFORGE_SCHEMA(Overrun, "(Tensor x) -> Tensor");

extern "C" int Overrun(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] * 2;
  y[count] = 0;
  return 0;
}
