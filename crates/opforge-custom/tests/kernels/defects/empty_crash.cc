// Subtracts the first element from all, without a look at whether there is one.
#include "../kernel.h"

OPFORGE_SCHEMA(EmptyCrash, "(Tensor x) -> Tensor");

extern "C" int EmptyCrash(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  const float first = x[0];
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] - first;
  return first == 12345;
}
