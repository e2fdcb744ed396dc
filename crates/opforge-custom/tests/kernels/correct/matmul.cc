// The product of two matrices; everything else is refused in words.
#include <algorithm>
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(Matmul, "(Tensor x, Tensor y) -> Tensor");

extern "C" std::vector<int64_t> MatmulInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  if (shapes[0][0] == -2 || shapes[1][0] == -2) return {-1, -1};
  if (ndims[0] != 2 || ndims[1] != 2) throw "takes matrices";
  const int64_t left = shapes[0][1], right = shapes[1][0];
  if (left != right && left != -1 && right != -1) throw "the inner lengths differ";
  return {shapes[0][0], shapes[1][1]};
}

extern "C" int Matmul(KERNEL_PARAMETERS) {
  const int64_t m = shapes[2][0], n = shapes[2][1], k = shapes[0][1];
  const float *x = Floats(params, 0), *y = Floats(params, 1);
  float *product = Floats(params, 2);
  std::fill_n(product, m * n, 0.0f);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t l = 0; l < k; ++l) {
      for (int64_t j = 0; j < n; ++j) product[i * n + j] += x[i * k + l] * y[l * n + j];
    }
  }
  return 0;
}
