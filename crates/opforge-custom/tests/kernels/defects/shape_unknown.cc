// Infers the shape of a flattened tensor by a product in which an unknown length, -1, is a factor like any other.
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(ShapeUnknown, "(Tensor x) -> Tensor");

extern "C" std::vector<int64_t> ShapeUnknownInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return {Count(ndims[0], shapes[0])};
}

extern "C" int ShapeUnknown(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) Floats(params, 1)[i] = Floats(params, 0)[i];
  return 0;
}
