/* A library for a version of the interface that is not known yet. */
#include <stdint.h>

uint32_t opforge_kernel_abi = 99;

int Newer(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {
  (void)nparam, (void)params, (void)ndims, (void)shapes, (void)dtypes, (void)stream, (void)extra;
  return 0;
}
