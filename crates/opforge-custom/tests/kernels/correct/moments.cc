// Three outputs of one pass over each row: sum, least and largest element.
#include <algorithm>
#include <limits>
#include <vector>

#include "../kernel.h"

OPFORGE_SCHEMA(Moments, "(Tensor x) -> (Tensor, Tensor, Tensor)");

extern "C" std::vector<std::vector<int64_t>> MomentsInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  std::vector<int64_t> rows(shapes[0], shapes[0] + ndims[0]);
  if (rows.empty()) throw "a row at least";
  if (rows[0] != -2) rows.pop_back();
  return {rows, rows, rows};
}

extern "C" int Moments(KERNEL_PARAMETERS) {
  const int64_t rows = Count(ndims[1], shapes[1]), columns = shapes[0][ndims[0] - 1];
  const float *x = Floats(params, 0);
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0, least = std::numeric_limits<float>::infinity(), largest = -least;
    for (const float *at = x + i * columns; at < x + (i + 1) * columns; ++at) {
      sum += *at;
      least = std::min(least, *at);
      largest = std::max(largest, *at);
    }
    Floats(params, 1)[i] = sum;
    Floats(params, 2)[i] = least;
    Floats(params, 3)[i] = largest;
  }
  return 0;
}
