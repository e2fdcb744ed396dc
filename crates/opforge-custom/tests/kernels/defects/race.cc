// All threads share one scratch buffer.
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(Race, "(Tensor x) -> Tensor");

extern "C" int Race(KERNEL_PARAMETERS) {
  static std::vector<float> scratch(1 << 20);
  const int64_t count = Count(ndims[0], shapes[0]);
  if (count > static_cast<int64_t>(scratch.size())) return 1;
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  for (int64_t i = 0; i < count; ++i) scratch[i] = x[i] * x[i];
  for (int64_t i = 0; i < count; ++i) y[i] = scratch[i] + scratch[count - 1 - i];
  return 0;
}
