// Kernels that fail, each in the way that an attribute names.
#include <stdexcept>

#include "common.h"
#include "custom_aot_extra.h"

namespace {

thread_local std::string last_error;

[[noreturn]] void Throw(const std::string &how) {
  if (how == "exception") throw std::runtime_error("a runtime error");
  if (how == "int") throw 3;
  if (how == "text") throw "a thrown text";
  if (how == "long") throw std::runtime_error(std::string(5000, 'x'));
  throw std::invalid_argument(how);
}

int Copy(void **params, int *ndims, int64_t **shapes) {
  const float *x = static_cast<float *>(params[0]);
  float *y = static_cast<float *>(params[1]);
  for (int64_t i = 0; i < Count(ndims[0], shapes[0]); ++i) y[i] = x[i];
  return 0;
}

}  // namespace

extern "C" int Code(int, void **, int *, int64_t **, const char **, void *, void *) { return -7; }

extern "C" const char *WordyLastError() { return last_error.c_str(); }

extern "C" int Wordy(int, void **, int *, int64_t **shapes, const char **, void *, void *) {
  last_error = "cannot work with " + std::to_string(shapes[0][0]) + " elements";
  return 5;
}

extern "C" int Throwing(int, void **, int *, int64_t **, const char **, void *, void *extra) {
  Throw(static_cast<AotExtra *>(extra)->Attr<std::string>("how"));
}

extern "C" int InitThrowsInit(int *, int64_t **, const char **, AotExtra *extra) { Throw(extra->Attr<std::string>("how")); }

extern "C" int InitThrows(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  return Copy(params, ndims, shapes);
}

extern "C" std::vector<int64_t> ShapeThrowsInferShape(int *, int64_t **, AotExtra *extra) {
  Throw(extra->Attr<std::string>("how"));
}

extern "C" int ShapeThrows(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  return Copy(params, ndims, shapes);
}

// Asks for as many bytes as the attribute says, which may be negative.
extern "C" int GreedyInit(int *, int64_t **, const char **, AotExtra *extra) {
  extra->SetWorkSpace({static_cast<size_t>(extra->Attr<int64_t>("bytes"))});
  return 0;
}

extern "C" int Greedy(int nparam, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  return nparam == 3 ? Copy(params, ndims, shapes) : 1;
}

// Infers the shape that the attribute says.
extern "C" std::vector<int64_t> ShapedInferShape(int *, int64_t **, AotExtra *extra) {
  return extra->Attr<std::vector<int64_t>>("shape");
}

extern "C" int Shaped(int, void **, int *, int64_t **, const char **, void *, void *) { return 0; }

extern "C" std::vector<std::vector<int64_t>> ManyShapedInferShape(int *, int64_t **, AotExtra *extra) {
  return extra->Attr<std::vector<std::vector<int64_t>>>("shapes");
}

extern "C" int ManyShaped(int, void **, int *, int64_t **, const char **, void *, void *) { return 0; }
