// Rows of float32 with mean 0 and variance 1; and the gradient, an operator of its own.
#include <cmath>

#include "custom_aot_extra.h"

namespace {

struct Rows {
  int64_t count, length;
};

// A tensor as rows of its last dimension.
Rows RowsOf(int ndim, const int64_t *shape) {
  Rows rows{1, ndim == 0 ? 1 : shape[ndim - 1]};
  for (int i = 0; i + 1 < ndim; ++i) rows.count *= shape[i];
  return rows;
}

}  // namespace

// (x) -> normalized, of x's shape; mean and 1 / standard deviation of each row.
extern "C" std::vector<std::vector<int64_t>> NormalizeInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  const std::vector<int64_t> whole(shapes[0], shapes[0] + ndims[0]);
  const std::vector<int64_t> rows(whole.begin(), whole.end() - (whole.empty() || whole[0] == -2 ? 0 : 1));
  return {whole, rows, rows};
}

extern "C" int Normalize(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *extra) {
  if (nparam != 4) return 1;
  const Rows rows = RowsOf(ndims[0], shapes[0]);
  const double epsilon = static_cast<AotExtra *>(extra)->Attr<float>("epsilon");
  const auto *x = static_cast<const float *>(params[0]);
  auto *y = static_cast<float *>(params[1]);
  auto *means = static_cast<float *>(params[2]);
  auto *scales = static_cast<float *>(params[3]);
  for (int64_t r = 0; r < rows.count; ++r, x += rows.length, y += rows.length) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < rows.length; ++i) sum += x[i];
    const double mean = sum / rows.length;
    for (int64_t i = 0; i < rows.length; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / std::sqrt(squares / rows.length + epsilon);
    for (int64_t i = 0; i < rows.length; ++i) y[i] = static_cast<float>((x[i] - mean) * scale);
    means[r] = static_cast<float>(mean);
    scales[r] = static_cast<float>(scale);
  }
  return 0;
}

// (x, normalized, mean, scale, gradients of these three) -> the gradient of x, with y the normalized row of n elements:
// dx = scale * (g_y - mean(g_y) - y * mean(g_y * y)) + g_mean / n - g_scale * scale^2 * y / n.
extern "C" std::vector<int64_t> NormalizeGradInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return std::vector<int64_t>(shapes[0], shapes[0] + ndims[0]);
}

extern "C" int NormalizeGrad(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  if (nparam != 8) return 1;
  const Rows rows = RowsOf(ndims[0], shapes[0]);
  const auto *y = static_cast<const float *>(params[1]);
  const auto *scales = static_cast<const float *>(params[3]);
  const auto *g = static_cast<const float *>(params[4]);
  const auto *g_means = static_cast<const float *>(params[5]);
  const auto *g_scales = static_cast<const float *>(params[6]);
  auto *dx = static_cast<float *>(params[7]);
  for (int64_t r = 0; r < rows.count; ++r, y += rows.length, g += rows.length, dx += rows.length) {
    double sum = 0, product = 0;
    for (int64_t i = 0; i < rows.length; ++i) {
      sum += g[i];
      product += static_cast<double>(g[i]) * y[i];
    }
    const double n = static_cast<double>(rows.length), scale = scales[r];
    const double slope = scale * product / n + scale * scale * g_scales[r] / n, offset = (g_means[r] - scale * sum) / n;
    for (int64_t i = 0; i < rows.length; ++i) dx[i] = static_cast<float>(scale * g[i] - y[i] * slope + offset);
  }
  return 0;
}
