// The weights that FInit makes for every signature hang on kernel data that does not free them.
#include "../kernel.h"

OPFORGE_SCHEMA(DataLeak, "(Tensor x) -> Tensor");

class Weights : public AotKernelData {
 public:
  float *values = nullptr;
};

extern "C" int DataLeakInit(int *ndims, int64_t **shapes, const char **, AotExtra *extra) {
  auto *weights = new Weights;
  const int64_t count = Count(ndims[0], shapes[0]);
  weights->values = new float[count + 1];
  for (int64_t i = 0; i < count; ++i) weights->values[i] = 1 / static_cast<float>(i + 1);
  extra->SetKernelData(weights);
  return 0;
}

extern "C" int DataLeak(KERNEL_PARAMETERS) {
  const auto *weights = static_cast<Weights *>(static_cast<AotExtra *>(extra)->KernelData());
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) Floats(params, 1)[i] = Floats(params, 0)[i] * weights->values[i];
  return 0;
}
