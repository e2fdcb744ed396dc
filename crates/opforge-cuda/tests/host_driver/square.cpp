// A library as nvcc makes one, for the host driver's devices: a section of code for GPUs, and a function that computes where the device's memory is.
#include <cstdint>

#include "opforge/kernel.h"

__attribute__((section(".nv_fatbin"), used)) static const char code[] = "code";

static float *host(void *address) { return reinterpret_cast<float *>(reinterpret_cast<uint64_t>(address) - (uint64_t(1) << 62)); }

static int64_t count(int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= shape[i];
    return n;
}

// y = x * x, by way of a workspace as large as x.
extern "C" int SquareInit(int *ndims, int64_t **shapes, const char **, void *extra) {
    const size_t bytes = count(ndims[0], shapes[0]) * sizeof(float);
    opforge_extra(extra)->set_workspaces(extra, &bytes, 1);
    return 0;
}

extern "C" int Square(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *stream, void *) {
    if (nparam != 3 || !stream) return 1;
    const int64_t n = count(ndims[0], shapes[0]);
    const float *x = host(params[0]);
    float *y = host(params[1]), *between = host(params[2]);
    for (int64_t i = 0; i < n; ++i) between[i] = x[i] * x[i];
    for (int64_t i = 0; i < n; ++i) y[i] = between[i];
    return 0;
}

// x += 1, in place.
extern "C" int Increase(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *stream, void *) {
    if (nparam != 2 || !stream || params[0] != params[1]) return 1;
    for (int64_t i = 0, n = count(ndims[0], shapes[0]); i < n; ++i) host(params[1])[i] += 1;
    return 0;
}

extern "C" int Fails(int, void **, int *, int64_t **, const char **, void *, void *) { return 7; }
