// Elements of two bytes, whatever they mean, in reverse order.
#include <algorithm>

#include "../kernel.h"

OPFORGE_SCHEMA(Flip, "(Tensor x) -> Tensor");

extern "C" int Flip(KERNEL_PARAMETERS) {
  const auto *x = static_cast<const uint16_t *>(params[0]);
  std::reverse_copy(x, x + Count(ndims[0], shapes[0]), static_cast<uint16_t *>(params[1]));
  return 0;
}
