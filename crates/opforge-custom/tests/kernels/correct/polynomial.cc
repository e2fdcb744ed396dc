// A polynomial, whose coefficients become kernel data once for each signature.
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(Polynomial, "(Tensor x, *, float[] coefficients) -> Tensor");

class Coefficients : public AotKernelData {
 public:
  std::vector<float> values;
};

extern "C" int PolynomialInit(int *, int64_t **, const char **, AotExtra *extra) {
  auto *data = new Coefficients;
  data->values = extra->Attr<std::vector<float>>("coefficients");
  extra->SetKernelData(data);
  return 0;
}

extern "C" int Polynomial(KERNEL_PARAMETERS) {
  const auto &values = static_cast<Coefficients *>(static_cast<AotExtra *>(extra)->KernelData())->values;
  const int64_t count = Count(ndims[0], shapes[0]);
  for (int64_t i = 0; i < count; ++i) {
    float y = 0;
    for (const float value : values) y = y * Floats(params, 0)[i] + value;
    Floats(params, 1)[i] = y;
  }
  return 0;
}
