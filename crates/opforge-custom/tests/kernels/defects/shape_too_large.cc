// Differences of neighbours, of which there is one less than there are elements; the inferred shape forgets that.
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(ShapeTooLarge, "(Tensor x) -> Tensor");

extern "C" std::vector<int64_t> ShapeTooLargeInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  if (ndims[0] != 1) throw "takes vectors";
  return {shapes[0][0]};
}

extern "C" int ShapeTooLarge(KERNEL_PARAMETERS) {
  const float *x = Floats(params, 0);
  for (int64_t i = 0; i + 1 < shapes[0][0]; ++i) Floats(params, 1)[i] = x[i + 1] - x[i];
  return 0;
}
