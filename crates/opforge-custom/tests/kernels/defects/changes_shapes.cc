// Uses the framework's array of lengths as its own.
#include "../kernel.h"

OPFORGE_SCHEMA(ChangesShapes, "(Tensor x) -> Tensor");

extern "C" int ChangesShapes(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) Floats(params, 1)[i] = Floats(params, 0)[i];
  if (ndims[0] > 0) shapes[0][0] = count;
  ndims[0] = 1;
  return 0;
}
