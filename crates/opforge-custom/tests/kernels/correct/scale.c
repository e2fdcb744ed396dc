/* alpha * x + beta, in C. */
#include "opforge/kernel.h"

OPFORGE_SCHEMA(Scale, "(Tensor x, *, float alpha=2.0, float beta=0.5) -> Tensor");

int Scale(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  const opforge_extra_api *api = opforge_extra(extra);
  const float *x = params[0];
  float *y = params[1], alpha, beta;
  int64_t count = 1;
  (void)nparam, (void)dtypes, (void)stream;
  if (api == NULL || api->get_float(extra, "alpha", &alpha) || api->get_float(extra, "beta", &beta)) return 1;
  for (int i = 0; i < ndims[0]; ++i) count *= shapes[0][i];
  for (int64_t i = 0; i < count; ++i) y[i] = alpha * x[i] + beta;
  return 0;
}
