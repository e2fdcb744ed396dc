// Kernels that read everything that a kernel can be told.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "custom_aot_extra.h"

// Two outputs: the sum over the rows of x by way of a workspace, and the attributes as one vector.
namespace {

std::vector<float> Everything(const AotExtra &extra) {
  std::vector<float> all{static_cast<float>(extra.Attr<bool>("bool")), static_cast<float>(extra.Attr<int64_t>("int")),
                         extra.Attr<float>("float")};
  const auto append = [&](const auto &values) { all.insert(all.end(), values.begin(), values.end()); };
  append(extra.Attr<std::string>("text"));
  append(extra.Attr<std::vector<int64_t>>("ints"));
  append(extra.Attr<std::vector<float>>("floats"));
  for (const auto &row : extra.Attr<std::vector<std::vector<int64_t>>>("int_rows")) append(row);
  for (const auto &row : extra.Attr<std::vector<std::vector<float>>>("float_rows")) append(row);
  return all;
}

struct Data : AotKernelData {
  std::vector<float> all;
};

}  // namespace

extern "C" std::vector<std::vector<int64_t>> ReadsInferShape(int *, int64_t **shapes, AotExtra *extra) {
  return {{shapes[0][0]}, {static_cast<int64_t>(Everything(*extra).size())}};
}

extern "C" int ReadsInit(int *, int64_t **shapes, const char **, AotExtra *extra) {
  auto *data = new Data;
  data->all = Everything(*extra);
  extra->SetKernelData(data);
  extra->SetWorkSpace({shapes[0][0] * sizeof(double), 16});
  return 0;
}

extern "C" int Reads(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *extra) {
  if (nparam != 5 || ndims[3] != 1 || shapes[3][0] != shapes[0][0] * 8 || std::strcmp(dtypes[4], "uint8") != 0) return 1;
  const auto *x = static_cast<const float *>(params[0]);
  auto *sums = static_cast<float *>(params[1]), *all = static_cast<float *>(params[2]);
  auto *work = static_cast<double *>(params[3]);
  const int64_t rows = shapes[0][0], columns = shapes[0][1];
  for (int64_t i = 0; i < rows; ++i) work[i] = std::accumulate(x + i * columns, x + (i + 1) * columns, 0.0);
  std::copy(work, work + rows, sums);
  const auto &data = static_cast<Data *>(static_cast<AotExtra *>(extra)->KernelData())->all;
  std::copy(data.begin(), data.end(), all);
  return 0;
}

// In C: the lengths of x as int64, of any rank; inferred by the form for C, which is told the counts.
extern "C" int LengthsInfer(int ninput, const int *ndims, const int64_t *const *, const char *const *, void *extra, void *outputs) {
  const opforge_extra_api *api = opforge_extra(extra);
  if (ninput != 1) {
    api->set_error(extra, "takes one tensor");
    return 1;
  }
  const int64_t rank = ndims[0];
  api->add_output(outputs, "int64", 1, &rank);
  return 0;
}

extern "C" int Lengths(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  std::copy(shapes[0], shapes[0] + ndims[0], static_cast<int64_t *>(params[1]));
  return 0;
}

// Changes its input in place: adds one, to each element of x, and gives how many there were.
extern "C" int Increment(int, void **params, int *, int64_t **shapes, const char **, void *, void *) {
  auto *x = static_cast<float *>(params[0]);
  for (int64_t i = 0; i < shapes[0][0]; ++i) x[i] += 1;
  *static_cast<float *>(params[1]) = static_cast<float>(shapes[0][0]);
  return 0;
}

// Changes its input, which is its output too.
extern "C" int Double(int, void **params, int *, int64_t **shapes, const char **, void *, void *) {
  if (params[0] != params[1]) return 1;
  auto *x = static_cast<float *>(params[1]);
  for (int64_t i = 0; i < shapes[0][0]; ++i) x[i] *= 2;
  return 0;
}
