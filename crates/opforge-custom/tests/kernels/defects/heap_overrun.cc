// One element too many in a buffer of the kernel's own, where the allocator leaves some room.
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(HeapOverrun, "(Tensor x) -> Tensor");

extern "C" int HeapOverrun(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  std::vector<float> sums(count + (count + 1) % 2);
  float *first = sums.data();
  for (int64_t i = 0; i < count; ++i) first[i] = x[i];
  first[sums.size()] = 0;
  for (int64_t i = 0; i < count; ++i) Floats(params, 1)[i] = first[i] + x[0];
  return 0;
}
