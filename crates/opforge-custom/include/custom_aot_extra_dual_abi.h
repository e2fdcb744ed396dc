// As custom_aot_extra.h, for libraries that pass names and texts as vectors of characters, which are the same in either ABI of std::string.
//
// Source- and binary-compatible with MindSpore's header of this name. Kernels take `AotExtraDualABI *` where others take `AotExtra *`.
#ifndef OPFORGE_CUSTOM_AOT_EXTRA_DUAL_ABI_H_
#define OPFORGE_CUSTOM_AOT_EXTRA_DUAL_ABI_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "opforge/kernel.h"

// Tells the framework which class the library's functions take.
extern "C" {
__attribute__((weak, visibility("default"))) uint32_t opforge_kernel_dual_abi = 1;
}

inline std::vector<char> StringToChar(const std::string &text) { return {text.begin(), text.end()}; }
inline std::string CharToString(const std::vector<char> &text) { return {text.begin(), text.end()}; }

// What a kernel keeps between `FInit` and its runs: derive from it. The framework deletes it before it closes the library.
class AotKernelDataDualABI {
 public:
  AotKernelDataDualABI() = default;
  virtual ~AotKernelDataDualABI() = default;
};

// One per operator, attributes and input shapes. The order of the virtual functions and of the members is part of the binary interface.
class AotExtraDualABI {
 public:
  AotExtraDualABI() = default;
  virtual ~AotExtraDualABI() = default;

  virtual bool HasAttr(std::string name) { return HasAttr(StringToChar(name)); }

  // As AotExtra::Attr.
  template <typename T>
  T Attr(std::string name) const;

  void SetWorkSpace(const std::vector<size_t> &workspace) { workspace_ = workspace; }
  const std::vector<size_t> &WorkSpace() const { return workspace_; }

  void SetKernelData(AotKernelDataDualABI *kernel_data) { kernel_data_ = kernel_data; }
  AotKernelDataDualABI *KernelData() const { return kernel_data_; }

  void DestructKernelData() {
    delete kernel_data_;
    kernel_data_ = nullptr;
  }

 private:
  virtual bool HasAttr(std::vector<char> name) = 0;
  virtual bool GetAttrBool(std::vector<char> name) = 0;
  virtual int64_t GetAttrInt(std::vector<char> name) = 0;
  virtual float GetAttrFloat(std::vector<char> name) = 0;
  virtual std::vector<char> GetAttrStr(std::vector<char> name) = 0;
  virtual std::vector<int64_t> GetAttrIntVec(std::vector<char> name) = 0;
  virtual std::vector<float> GetAttrFloatVec(std::vector<char> name) = 0;
  virtual std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::vector<char> name) = 0;
  virtual std::vector<std::vector<float>> GetAttrFloat2DVec(std::vector<char> name) = 0;

  std::vector<size_t> workspace_;
  AotKernelDataDualABI *kernel_data_{nullptr};
};

template <typename T>
T AotExtraDualABI::Attr(std::string) const {
  static_assert(sizeof(T) == 0,
                "Attr<T>: T must be bool, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, "
                "std::vector<std::vector<int64_t>> or std::vector<std::vector<float>>");
}

#define OPFORGE_ATTRIBUTE_(T, expression)                                 \
  template <>                                                             \
  inline T AotExtraDualABI::Attr<T>(std::string name) const {             \
    auto *extra = const_cast<AotExtraDualABI *>(this);                    \
    return expression;                                                    \
  }

OPFORGE_ATTRIBUTE_(bool, extra->GetAttrBool(StringToChar(name)))
OPFORGE_ATTRIBUTE_(int64_t, extra->GetAttrInt(StringToChar(name)))
OPFORGE_ATTRIBUTE_(float, extra->GetAttrFloat(StringToChar(name)))
OPFORGE_ATTRIBUTE_(std::string, CharToString(extra->GetAttrStr(StringToChar(name))))
OPFORGE_ATTRIBUTE_(std::vector<int64_t>, extra->GetAttrIntVec(StringToChar(name)))
OPFORGE_ATTRIBUTE_(std::vector<float>, extra->GetAttrFloatVec(StringToChar(name)))
OPFORGE_ATTRIBUTE_(std::vector<std::vector<int64_t>>, extra->GetAttrInt2DVec(StringToChar(name)))
OPFORGE_ATTRIBUTE_(std::vector<std::vector<float>>, extra->GetAttrFloat2DVec(StringToChar(name)))
#undef OPFORGE_ATTRIBUTE_

#endif  // OPFORGE_CUSTOM_AOT_EXTRA_DUAL_ABI_H_
