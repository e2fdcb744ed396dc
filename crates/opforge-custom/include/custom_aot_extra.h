// What a C++ kernel sees of the framework: attributes, workspaces and data of its own.
//
// Source- and binary-compatible with the header of this name that MindSpore's ahead-of-time custom operators are written against: a kernel
// compiled with either header runs on either framework. Automatic compiles find this file without a copy beside the source.
//
// A kernel is a set of functions whose names begin with the same word, here `F`:
//
//   extern "C" int F(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra);
//   extern "C" int FInit(int *ndims, int64_t **shapes, const char **dtypes, AotExtra *extra);                             // optional
//   extern "C" std::vector<int64_t> FInferShape(int *ndims, int64_t **shapes, AotExtra *extra);                           // optional
//   extern "C" std::vector<std::vector<int64_t>> FInferShape(int *ndims, int64_t **shapes, AotExtra *extra);              // several outputs
//   extern "C" const char *FLastError(void);                                                                              // optional
//
// See opforge/kernel.h for when they are called, who owns what, and the forms for C.
#ifndef OPFORGE_CUSTOM_AOT_EXTRA_H_
#define OPFORGE_CUSTOM_AOT_EXTRA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opforge/kernel.h"

// What a kernel keeps between `FInit` and its runs: derive from it. The framework deletes it before it closes the library.
class AotKernelData {
 public:
  AotKernelData() = default;
  virtual ~AotKernelData() = default;
};

// One per operator, attributes and input shapes. The order of the virtual functions and of the members is part of the binary interface.
class AotExtra {
 public:
  AotExtra() = default;
  virtual ~AotExtra() = default;

  virtual bool HasAttr(std::string name) = 0;

  // The attribute of this name. T is bool, int64_t, float, std::string, a vector of int64_t or float, or a vector of such vectors; nothing else
  // compiles (an `int` or `double` would silently read as zero elsewhere). Throws if there is none, or if it is of another type.
  template <typename T>
  T Attr(std::string name) const;

  // Sizes in bytes of the workspaces that `F` gets after its inputs and outputs.
  void SetWorkSpace(const std::vector<size_t> &workspace) { workspace_ = workspace; }
  const std::vector<size_t> &WorkSpace() const { return workspace_; }

  // Takes ownership of data made with `new`.
  void SetKernelData(AotKernelData *kernel_data) { kernel_data_ = kernel_data; }
  AotKernelData *KernelData() const { return kernel_data_; }

  void DestructKernelData() {
    delete kernel_data_;
    kernel_data_ = nullptr;
  }

 private:
  virtual bool GetAttrBool(std::string name) = 0;
  virtual int64_t GetAttrInt(std::string name) = 0;
  virtual float GetAttrFloat(std::string name) = 0;
  virtual std::string GetAttrStr(std::string name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(std::string name) = 0;
  virtual std::vector<float> GetAttrFloatVec(std::string name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::string name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(std::string name) = 0;

  std::vector<size_t> workspace_;
  AotKernelData *kernel_data_{nullptr};
};

#define OPFORGE_ATTRIBUTE_(T, Get)                         \
  template <>                                              \
  inline T AotExtra::Attr<T>(std::string name) const {     \
    return const_cast<AotExtra *>(this)->Get(name);        \
  }

template <typename T>
T AotExtra::Attr(std::string) const {
  static_assert(sizeof(T) == 0,
                "Attr<T>: T must be bool, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, "
                "std::vector<std::vector<int64_t>> or std::vector<std::vector<float>>");
}

OPFORGE_ATTRIBUTE_(bool, GetAttrBool)
OPFORGE_ATTRIBUTE_(int64_t, GetAttrInt)
OPFORGE_ATTRIBUTE_(float, GetAttrFloat)
OPFORGE_ATTRIBUTE_(std::string, GetAttrStr)
OPFORGE_ATTRIBUTE_(std::vector<int64_t>, GetAttrIntVec)
OPFORGE_ATTRIBUTE_(std::vector<float>, GetAttrFloatVec)
OPFORGE_ATTRIBUTE_(std::vector<std::vector<int64_t>>, GetAttrInt2DVec)
OPFORGE_ATTRIBUTE_(std::vector<std::vector<float>>, GetAttrFloat2DVec)
#undef OPFORGE_ATTRIBUTE_

#endif  // OPFORGE_CUSTOM_AOT_EXTRA_H_
