/* Zeros around a vector, in C: shape and dtype are inferred by PadInfer. Attribute: around, how many before and behind. */
#include <string.h>

#include "opforge/kernel.h"

OPFORGE_SCHEMA(Pad, "(Tensor x, *, int[] around) -> Tensor");

static int Read(void *extra, const int64_t **around) {
  const opforge_extra_api *api = opforge_extra(extra);
  size_t count;
  if (api == NULL || api->get_ints(extra, "around", around, &count)) return 1;
  if (count == 2 && (*around)[0] >= 0 && (*around)[1] >= 0) return 0;
  api->set_error(extra, "around: two lengths, not negative");
  return 2;
}

int PadInfer(int ninput, const int *ndims, const int64_t *const *shapes, const char *const *dtypes, void *extra, void *outputs) {
  const int64_t *around;
  if (ninput != 1 || Read(extra, &around)) return 1;
  if (ndims[0] != 1) {
    opforge_extra(extra)->set_error(extra, "x: a vector");
    return 2;
  }
  const int64_t known = shapes[0][0] < 0 ? -1 : shapes[0][0] + around[0] + around[1];
  opforge_extra(extra)->add_output(outputs, dtypes[0], 1, &known);
  return 0;
}

int Pad(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  const int64_t *around;
  float *y = params[1];
  (void)nparam, (void)ndims, (void)dtypes, (void)stream;
  if (Read(extra, &around)) return 1;
  memset(y, 0, shapes[1][0] * sizeof(float));
  if (shapes[0][0] > 0) memcpy(y + around[0], params[0], shapes[0][0] * sizeof(float));
  return 0;
}
