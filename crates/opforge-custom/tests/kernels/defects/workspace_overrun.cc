// Asks for as many bytes of workspace as it then writes floats.
#include "../kernel.h"

OPFORGE_SCHEMA(WorkspaceOverrun, "(Tensor x) -> Tensor");

extern "C" int WorkspaceOverrunInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
  extra->SetWorkSpace({static_cast<size_t>(Count(ndims[0], shapes[0]))});
  return 0;
}

extern "C" int WorkspaceOverrun(KERNEL_PARAMETERS) {
  const int64_t count = Count(ndims[0], shapes[0]);
  const float *x = Floats(params, 0);
  float *y = Floats(params, 1), *reversed = Floats(params, 2);
  for (int64_t i = 0; i < count; ++i) reversed[i] = x[count - 1 - i];
  for (int64_t i = 0; i < count; ++i) y[i] = reversed[i];
  return 0;
}
