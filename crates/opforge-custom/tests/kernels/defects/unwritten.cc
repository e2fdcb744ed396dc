// An unrolled loop without the rest: up to three elements at the end are never written.
#include "../kernel.h"

OPFORGE_SCHEMA(Unwritten, "(Tensor x) -> Tensor");

extern "C" int Unwritten(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1);
  for (int64_t i = 0; i + 4 <= count; i += 4) {
    for (int64_t j = i; j < i + 4; ++j) y[j] = -x[j];
  }
  return 0;
}
