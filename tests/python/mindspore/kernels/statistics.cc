// The least, the greatest and the sum of each row: three outputs.
#include "custom_aot_extra.h"

extern "C" std::vector<std::vector<int64_t>> StatisticsInferShape(int *, int64_t **shapes, AotExtra *) {
  const std::vector<int64_t> rows{shapes[0][0]};
  return {rows, rows, rows};
}

extern "C" int Statistics(int nparam, void **params, int *, int64_t **shapes, const char **, void *, void *) {
  if (nparam != 4) return 1;
  const auto *x = static_cast<const float *>(params[0]);
  float *out[] = {static_cast<float *>(params[1]), static_cast<float *>(params[2]), static_cast<float *>(params[3])};
  const int64_t rows = shapes[0][0], columns = shapes[0][1];
  for (int64_t i = 0; i < rows; i++) {
    const float *row = x + i * columns;
    float least = row[0], greatest = row[0], sum = 0;
    for (int64_t j = 0; j < columns; j++) {
      least = row[j] < least ? row[j] : least;
      greatest = row[j] > greatest ? row[j] : greatest;
      sum += row[j];
    }
    out[0][i] = least;
    out[1][i] = greatest;
    out[2][i] = sum;
  }
  return 0;
}
