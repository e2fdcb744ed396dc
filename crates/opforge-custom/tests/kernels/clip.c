/* Kernels in C: attributes through accessors, shapes and dtypes in one function, a workspace, data, texts of errors. */
#include <opforge/kernel.h>
#include <stdlib.h>
#include <string.h>

struct limits {
  float low, high;
};

/* Like the first input, with a count of the clipped elements beside it. */
int ClipInfer(int ninput, const int *ndims, const int64_t *const *shapes, const char *const *dtypes, void *extra, void *outputs) {
  const opforge_extra_api *api = opforge_extra(extra);
  if (api == NULL || ninput != 1) return 1;
  if (strcmp(dtypes[0], "float32") != 0) {
    api->set_error(extra, "Clip takes float32");
    return 2;
  }
  api->add_output(outputs, dtypes[0], ndims[0], shapes[0]);
  api->add_output(outputs, "int64", 0, NULL);
  return 0;
}

int ClipInit(int *ndims, int64_t **shapes, const char **dtypes, void *extra) {
  const opforge_extra_api *api = opforge_extra(extra);
  int inputs, outputs;
  const float *range;
  size_t count;
  api->counts(extra, &inputs, &outputs);
  if (inputs != 1 || outputs != 2 || ndims[2] != 0 || strcmp(dtypes[2], "int64") != 0 || shapes[2] == NULL) return 1;
  if (api->get_floats(extra, "range", &range, &count) != 0) return 2;
  if (count != 2) {
    api->set_error(extra, "range must be two numbers");
    return 3;
  }
  struct limits *limits = malloc(sizeof(*limits));
  limits->low = range[0];
  limits->high = range[1];
  const size_t workspace = 64;
  api->set_kernel_data(extra, limits, free);
  api->set_workspaces(extra, &workspace, 1);
  return 0;
}

int Clip(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  const struct limits *limits = opforge_extra(extra)->kernel_data(extra);
  const float *x = params[0];
  float *y = params[1];
  int64_t *clipped = params[2], count = 1;
  if (nparam != 4 || stream != NULL || strcmp(dtypes[3], "uint8") != 0 || ndims[3] != 1 || shapes[3][0] != 64) return 1;
  for (int i = 0; i < ndims[0]; ++i) count *= shapes[0][i];
  *clipped = 0;
  for (int64_t i = 0; i < count; ++i) {
    y[i] = x[i] < limits->low ? limits->low : x[i] > limits->high ? limits->high : x[i];
    *clipped += y[i] != x[i];
  }
  memset(params[3], 0xff, 64);
  return 0;
}
