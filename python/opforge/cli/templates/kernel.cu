// scale * x^2, element by element, and its gradient, on NVIDIA GPUs.
#include <cstdint>
#include <vector>

#include "custom_aot_extra.h"

OPFORGE_SCHEMA($Name, "(Tensor x, *, float scale=1.0) -> Tensor");
OPFORGE_SCHEMA(${Name}Gradient, "(Tensor x, Tensor y, Tensor dy, *, float scale=1.0) -> Tensor");

static constexpr int kThreads = 256;

static int64_t Count(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= shape[i];
  return count;
}

static __global__ void Run(int64_t count, float scale, const float *x, float *y) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) y[i] = scale * x[i] * x[i];
}

static __global__ void RunGradient(int64_t count, float scale, const float *x, const float *dy, float *dx) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) dx[i] = 2 * scale * x[i] * dy[i];
}

// The output's shape; unknown lengths, which are -1, stay unknown.
extern "C" std::vector<int64_t> ${Name}InferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return std::vector<int64_t>(shapes[0], shapes[0] + ndims[0]);
}

// Arguments stand in the order inputs, outputs, workspaces, all in the GPU's memory. 0 is success; other numbers are errors for whoever called.
extern "C" int $Name(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *stream, void *extra) {
  if (nparam != 2) return 1;
  const int64_t count = Count(ndims[0], shapes[0]);
  if (count == 0) return 0;
  const float scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  Run<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(count, scale, static_cast<const float *>(params[0]),
                                                                  static_cast<float *>(params[1]));
  return cudaGetLastError();
}

// The gradient is an operator of the inputs, the outputs and the outputs' gradients.
extern "C" std::vector<int64_t> ${Name}GradientInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return std::vector<int64_t>(shapes[0], shapes[0] + ndims[0]);
}

extern "C" int ${Name}Gradient(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *stream, void *extra) {
  if (nparam != 4) return 1;
  const int64_t count = Count(ndims[0], shapes[0]);
  if (count == 0) return 0;
  const float scale = static_cast<AotExtra *>(extra)->Attr<float>("scale");
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  RunGradient<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      count, scale, static_cast<const float *>(params[0]), static_cast<const float *>(params[2]), static_cast<float *>(params[3]));
  return cudaGetLastError();
}
