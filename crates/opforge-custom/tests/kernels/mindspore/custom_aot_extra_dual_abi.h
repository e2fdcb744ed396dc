// As custom_aot_extra.h beside it, for the classes that pass names and texts as vectors of characters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

inline std::vector<char> Characters(const std::string &text) { return {text.begin(), text.end()}; }

class AotKernelDataDualABI {
 public:
  AotKernelDataDualABI() = default;
  virtual ~AotKernelDataDualABI() = default;
};

class AotExtraDualABI {
  using Text = std::vector<char>;

 public:
  AotExtraDualABI() = default;
  virtual ~AotExtraDualABI() = default;
  virtual bool HasAttr(std::string name) { return HasAttr(Characters(name)); }

  template <typename T>
  T Attr(std::string) {
    return T();
  }

  void SetWorkSpace(const std::vector<size_t> &sizes) { sizes_ = sizes; }
  const std::vector<size_t> &WorkSpace() const { return sizes_; }
  void SetKernelData(AotKernelDataDualABI *data) { data_ = data; }
  AotKernelDataDualABI *KernelData() const { return data_; }

 private:
  virtual bool HasAttr(Text name) = 0;
  virtual bool GetAttrBool(Text name) = 0;
  virtual int64_t GetAttrInt(Text name) = 0;
  virtual float GetAttrFloat(Text name) = 0;
  virtual Text GetAttrStr(Text name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(Text name) = 0;
  virtual std::vector<float> GetAttrFloatVec(Text name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(Text name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(Text name) = 0;

  std::vector<size_t> sizes_;
  AotKernelDataDualABI *data_ = nullptr;
};

template <>
inline int64_t AotExtraDualABI::Attr(std::string name) {
  return GetAttrInt(Characters(name));
}
template <>
inline std::string AotExtraDualABI::Attr(std::string name) {
  const Text text = GetAttrStr(Characters(name));
  return {text.begin(), text.end()};
}
template <>
inline std::vector<float> AotExtraDualABI::Attr(std::string name) {
  return GetAttrFloatVec(Characters(name));
}
