// The sum of all elements, of rank 0.
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(Total, "(Tensor x) -> Tensor");

extern "C" std::vector<int64_t> TotalInferShape(int *, int64_t **, AotExtra *) { return {}; }

extern "C" int Total(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  double total = 0;
  for (int64_t i = 0; i < count; ++i) total += x[i];
  *Floats(params, 1) = static_cast<float>(total);
  return 0;
}
