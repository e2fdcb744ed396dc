/* scale * x^2, element by element, and its gradient. */
#include "opforge/kernel.h"

OPFORGE_SCHEMA($Name, "(Tensor x, *, float scale=1.0) -> Tensor");
OPFORGE_SCHEMA(${Name}Gradient, "(Tensor x, Tensor y, Tensor dy, *, float scale=1.0) -> Tensor");

static int64_t count_of(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; ++i) count *= shape[i];
  return count;
}

/* Declares an output like input 0; unknown lengths, which are -1, stay unknown. */
static int infer_like_first(const int *ndims, const int64_t *const *shapes, const char *const *dtypes, void *extra, void *outputs) {
  const opforge_extra_api *api = opforge_extra(extra);
  if (api == NULL) return 1;
  api->add_output(outputs, dtypes[0], ndims[0], shapes[0]);
  return 0;
}

static int get_scale(void *extra, float *scale) {
  const opforge_extra_api *api = opforge_extra(extra);
  return api == NULL || api->get_float(extra, "scale", scale);
}

int ${Name}Infer(int ninput, const int *ndims, const int64_t *const *shapes, const char *const *dtypes, void *extra, void *outputs) {
  return ninput != 1 || infer_like_first(ndims, shapes, dtypes, extra, outputs);
}

/* Arguments stand in the order inputs, outputs, workspaces. 0 is success; other numbers are errors for whoever called. */
int $Name(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  const float *x = params[0];
  float *y = params[1], scale;
  (void)dtypes, (void)stream;
  if (nparam != 2 || get_scale(extra, &scale)) return 1;
  for (int64_t i = 0, count = count_of(ndims[0], shapes[0]); i < count; ++i) y[i] = scale * x[i] * x[i];
  return 0;
}

/* The gradient is an operator of the inputs, the outputs and the outputs' gradients. */
int ${Name}GradientInfer(int ninput, const int *ndims, const int64_t *const *shapes, const char *const *dtypes, void *extra, void *outputs) {
  return ninput != 3 || infer_like_first(ndims, shapes, dtypes, extra, outputs);
}

int ${Name}Gradient(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  const float *x = params[0], *dy = params[2];
  float *dx = params[3], scale;
  (void)dtypes, (void)stream;
  if (nparam != 4 || get_scale(extra, &scale)) return 1;
  for (int64_t i = 0, count = count_of(ndims[0], shapes[0]); i < count; ++i) dx[i] = 2 * scale * x[i] * dy[i];
  return 0;
}
