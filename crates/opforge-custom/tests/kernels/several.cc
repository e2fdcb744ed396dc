// Sum, product and quotient in one kernel; with a shape function of the form for several outputs, with none, and with one of the wrong form.
#include "common.h"
#include "custom_aot_extra.h"

namespace {

using Shapes = std::vector<std::vector<int64_t>>;

int Compute(int nparam, void **params, int *ndims, int64_t **shapes) {
  if (nparam != 5) return 1;
  const float *x = static_cast<float *>(params[0]), *y = static_cast<float *>(params[1]);
  float *sum = static_cast<float *>(params[2]), *product = static_cast<float *>(params[3]);
  float *quotient = static_cast<float *>(params[4]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) {
    sum[i] = x[i] + y[i];
    product[i] = x[i] * y[i];
    quotient[i] = x[i] / y[i];
  }
  return 0;
}

}  // namespace

#define OPERATOR(F)                                                                                                     \
  extern "C" int F(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {            \
    return Compute(nparam, params, ndims, shapes);                                                                      \
  }

OPERATOR(AddMulDiv)
OPERATOR(AddMulDivInferred)
OPERATOR(AddMulDivOneShape)

extern "C" Shapes AddMulDivInferredInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return Shapes(3, Shape(ndims, shapes, 0));
}

// Declared with three outputs, it should return three shapes.
extern "C" std::vector<int64_t> AddMulDivOneShapeInferShape(int *ndims, int64_t **shapes, AotExtra *) {
  return Shape(ndims, shapes, 0);
}

// Declared with one output, it should return one shape.
extern "C" Shapes CopyInferShape(int *ndims, int64_t **shapes, AotExtra *) { return Shapes(1, Shape(ndims, shapes, 0)); }

extern "C" int Copy(int, void **, int *, int64_t **, const char **, void *, void *) { return 0; }
