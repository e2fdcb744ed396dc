// The classes as MindSpore's kernels see them: the order of virtual functions and members is theirs, and reading an attribute of another type
// compiles.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

class AotKernelData {
 public:
  AotKernelData() = default;
  virtual ~AotKernelData() = default;
};

class AotExtra {
 public:
  AotExtra() = default;
  virtual ~AotExtra() = default;
  virtual bool HasAttr(std::string name) = 0;

  template <typename T>
  T Attr(std::string) {
    return T();
  }

  void SetWorkSpace(const std::vector<size_t> &sizes) { sizes_ = sizes; }
  const std::vector<size_t> &WorkSpace() const { return sizes_; }
  void SetKernelData(AotKernelData *data) { data_ = data; }
  AotKernelData *KernelData() const { return data_; }
  void DestructKernelData() {
    delete data_;
    data_ = nullptr;
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

  std::vector<size_t> sizes_;
  AotKernelData *data_ = nullptr;
};

#define ATTRIBUTE(T, Get)                  \
  template <>                              \
  inline T AotExtra::Attr(std::string name) { \
    return Get(name);                      \
  }
ATTRIBUTE(bool, GetAttrBool)
ATTRIBUTE(int64_t, GetAttrInt)
ATTRIBUTE(float, GetAttrFloat)
ATTRIBUTE(std::string, GetAttrStr)
ATTRIBUTE(std::vector<int64_t>, GetAttrIntVec)
ATTRIBUTE(std::vector<float>, GetAttrFloatVec)
ATTRIBUTE(std::vector<std::vector<int64_t>>, GetAttrInt2DVec)
ATTRIBUTE(std::vector<std::vector<float>>, GetAttrFloat2DVec)
#undef ATTRIBUTE
