// What kernels are told of dtypes and shapes.
#include <cstdint>
#include <cstring>
#include <string>

namespace {

int64_t Count(int ndim, const int64_t *shape) {
  int64_t count = 1;
  for (int i = 0; i < ndim; i++) count *= shape[i];
  return count;
}

size_t Width(const char *dtype) {
  const std::string name(dtype);
  if (name == "bool") return 1;
  const auto digits = name.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::stoul(name.substr(digits)) / 8;
}

}  // namespace

// y is a copy of x, of any dtype.
extern "C" int Copy(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *, void *) {
  const size_t width = Width(dtypes[0]);
  if (nparam != 2 || width == 0 || std::strcmp(dtypes[0], dtypes[1]) != 0) return 1;
  std::memcpy(params[1], params[0], width * Count(ndims[0], shapes[0]));
  return 0;
}

// y holds the name of the dtype of x, in bytes that are padded with zeros.
extern "C" int Name(int, void **params, int *, int64_t **shapes, const char **dtypes, void *, void *) {
  std::memset(params[1], 0, shapes[1][0]);
  std::memcpy(params[1], dtypes[0], std::strlen(dtypes[0]));
  return 0;
}

// y = [number of dimensions, elements] of x.
extern "C" int Measure(int, void **params, int *ndims, int64_t **shapes, const char **, void *, void *) {
  static_cast<int64_t *>(params[1])[0] = ndims[0];
  static_cast<int64_t *>(params[1])[1] = Count(ndims[0], shapes[0]);
  return 0;
}
