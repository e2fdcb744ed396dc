// A running sum that keeps its start in the element before the output's first.
#include "../kernel.h"

OPFORGE_SCHEMA(Underrun, "(Tensor x) -> Tensor");

extern "C" int Underrun(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *sums = Floats(params, 1);
  if (count == 0) return 0;
  sums[-1] = 0;
  for (int64_t i = 0; i < count; ++i) sums[i] = sums[i - 1] + x[i];
  return 0;
}
