// Kernels that infer dtypes, in numbers of the enumeration TypeId.
#include "common.h"
#include "custom_aot_extra.h"

// The members that the kernels here need.
enum TypeId : int { kBool = 30, kInt32 = 34, kInt64 = 35, kFloat32 = 43, kFloat64 = 44 };

// Whole numbers become float32; float32 becomes float64.
extern "C" TypeId WidenInferType(std::vector<TypeId> inputs, AotExtra *) { return inputs[0] == kFloat32 ? kFloat64 : kFloat32; }

extern "C" std::vector<int64_t> WidenInferShape(int *ndims, int64_t **shapes, AotExtra *) { return Shape(ndims, shapes, 0); }

extern "C" int Widen(int, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *) {
  const std::string from = dtypes[0], to = dtypes[1];
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) {
    if (from == "int32" && to == "float32") {
      static_cast<float *>(params[1])[i] = static_cast<float>(static_cast<int32_t *>(params[0])[i]);
    } else if (from == "float32" && to == "float64") {
      static_cast<double *>(params[1])[i] = static_cast<float *>(params[0])[i];
    } else {
      return 1;
    }
  }
  return 0;
}

// The largest element and where it stands.
extern "C" std::vector<TypeId> MaxInferType(std::vector<TypeId> inputs, AotExtra *) { return {inputs[0], kInt64}; }

extern "C" std::vector<std::vector<int64_t>> MaxInferShape(int *, int64_t **, AotExtra *) { return {{}, {}}; }

extern "C" int Max(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  const float *x = static_cast<float *>(params[0]);
  int64_t best = 0;
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) best = x[i] > x[best] ? i : best;
  *static_cast<float *>(params[1]) = x[best];
  *static_cast<int64_t *>(params[2]) = best;
  return 0;
}

// A number that no dtype has.
extern "C" TypeId OddInferType(std::vector<TypeId>, AotExtra *) { return static_cast<TypeId>(7); }

extern "C" int Odd(int, void **, int *, int64_t **, const char **, void *, void *) { return 0; }
