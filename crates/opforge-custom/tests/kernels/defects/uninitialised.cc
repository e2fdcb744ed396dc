// Adds up in a workspace that it does not clear first.
#include "../kernel.h"

OPFORGE_SCHEMA(Uninitialised, "(Tensor x) -> Tensor");

extern "C" int UninitialisedInit(int *, int64_t **, const char **, AotExtra *extra) {
  extra->SetWorkSpace({sizeof(float)});
  return 0;
}

extern "C" int Uninitialised(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1), *total = Floats(params, 2);
  for (int64_t i = 0; i < count; ++i) *total += x[i];
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] - *total / static_cast<float>(count);
  return 0;
}
