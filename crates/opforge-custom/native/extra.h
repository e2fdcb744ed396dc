// The framework's implementation of AotExtra and AotExtraDualABI, for one ABI of std::string.
#ifndef OPFORGE_EXTRA_H_
#define OPFORGE_EXTRA_H_

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bridge.h"
#include "custom_aot_extra.h"
#include "custom_aot_extra_dual_abi.h"
#include "opforge/kernel.h"

namespace opforge {

using Attribute = opforge_attribute;

// An operator's attributes, by name. Throws what becomes the error of the call.
class Attributes {
 public:
  Attributes(const Attribute *first, size_t count) : first_(first), count_(count) {}

  const Attribute *Find(const char *name) const {
    for (size_t i = 0; i < count_; ++i) {
      if (std::strcmp(first_[i].name, name) == 0) return &first_[i];
    }
    return nullptr;
  }

  const Attribute &Get(const char *name, Attribute::Kind kind) const {
    const Attribute *found = Find(name);
    if (found == nullptr) throw std::runtime_error(("there is no attribute '" + std::string(name) + "'").c_str());
    if (found->kind != kind) {
      throw std::runtime_error(("attribute '" + std::string(name) + "' is " + kNames[found->kind] + ", read as " + kNames[kind]).c_str());
    }
    return *found;
  }

  template <typename T>
  T Value(const char *name, Attribute::Kind kind) const {
    return *static_cast<const T *>(Get(name, kind).values);
  }

  template <typename T>
  std::vector<T> Vector(const char *name, Attribute::Kind kind) const {
    const Attribute &found = Get(name, kind);
    const T *values = static_cast<const T *>(found.values);
    return std::vector<T>(values, values + found.count);
  }

  template <typename T>
  std::vector<std::vector<T>> Rows(const char *name, Attribute::Kind kind) const {
    const Attribute &found = Get(name, kind);
    const T *values = static_cast<const T *>(found.values);
    std::vector<std::vector<T>> rows;
    for (size_t i = 0; i < found.count; ++i) rows.emplace_back(values + found.offsets[i], values + found.offsets[i + 1]);
    return rows;
  }

 private:
  static constexpr const char *kNames[] = {"a bool", "an int", "a float", "a text", "a list of ints", "a list of floats",
                                           "a list of lists of ints", "a list of lists of floats"};
  const Attribute *first_;
  size_t count_;
};

// What stands behind the 40 compatible bytes. The first two members are known to kernels written in C; see opforge_extra().
struct Tail {
  uint64_t magic;
  const opforge_extra_api *api;
  Attributes attributes;
  // Sizes in bytes of the workspaces.
  const std::vector<size_t> &(*workspaces)(const void *extra);
  void (*set_workspaces)(void *extra, const size_t *sizes, size_t count);
  void (*destroy)(void *extra);
  // Kernel data of C kernels.
  void *data = nullptr;
  void (*destroy_data)(void *) = nullptr;
  // The text of an error of the current call.
  std::vector<char> error;
  int inputs = -1, outputs = -1;

  void DestroyData() {
    void *old = std::exchange(data, nullptr);
    if (auto destroy_old = std::exchange(destroy_data, nullptr)) destroy_old(old);
  }
};

constexpr size_t kTailOffset = 40;
static_assert(sizeof(AotExtra) == kTailOffset && sizeof(AotExtraDualABI) == kTailOffset, "the compatible part has 40 bytes");

inline Tail &TailOf(void *extra) { return *reinterpret_cast<Tail *>(static_cast<char *>(extra) + kTailOffset); }

// The parts that are alike for both classes.
template <typename Extra>
Tail MakeTail(const opforge_extra_api *api, Attributes attributes) {
  Tail tail{OPFORGE_EXTRA_MAGIC, api, attributes, nullptr, nullptr, nullptr, nullptr, nullptr, {}, -1, -1};
  tail.workspaces = [](const void *extra) -> const std::vector<size_t> & { return static_cast<const Extra *>(extra)->WorkSpace(); };
  tail.set_workspaces = [](void *extra, const size_t *sizes, size_t count) {
    static_cast<Extra *>(extra)->SetWorkSpace(std::vector<size_t>(sizes, sizes + count));
  };
  tail.destroy = [](void *extra) {
    auto *object = static_cast<Extra *>(extra);
    object->DestructKernelData();
    TailOf(extra).DestroyData();
    delete object;
  };
  return tail;
}

class PlainExtra final : public AotExtra {
 public:
  PlainExtra(const opforge_extra_api *api, Attributes attributes) : tail(MakeTail<PlainExtra>(api, attributes)) {}
  Tail tail;

 private:
  bool HasAttr(std::string name) override { return tail.attributes.Find(name.c_str()) != nullptr; }
  bool GetAttrBool(std::string name) override { return tail.attributes.Value<uint8_t>(name.c_str(), Attribute::Bool) != 0; }
  int64_t GetAttrInt(std::string name) override { return tail.attributes.Value<int64_t>(name.c_str(), Attribute::Int); }
  float GetAttrFloat(std::string name) override { return tail.attributes.Value<float>(name.c_str(), Attribute::Float); }
  std::string GetAttrStr(std::string name) override {
    const Attribute &text = tail.attributes.Get(name.c_str(), Attribute::Text);
    return std::string(static_cast<const char *>(text.values), text.count);
  }
  std::vector<int64_t> GetAttrIntVec(std::string name) override {
    return tail.attributes.Vector<int64_t>(name.c_str(), Attribute::Ints);
  }
  std::vector<float> GetAttrFloatVec(std::string name) override {
    return tail.attributes.Vector<float>(name.c_str(), Attribute::Floats);
  }
  std::vector<std::vector<int64_t>> GetAttrInt2DVec(std::string name) override {
    return tail.attributes.Rows<int64_t>(name.c_str(), Attribute::IntRows);
  }
  std::vector<std::vector<float>> GetAttrFloat2DVec(std::string name) override {
    return tail.attributes.Rows<float>(name.c_str(), Attribute::FloatRows);
  }
};

class DualExtra final : public AotExtraDualABI {
 public:
  DualExtra(const opforge_extra_api *api, Attributes attributes) : tail(MakeTail<DualExtra>(api, attributes)) {}
  Tail tail;

 private:
  using Text = std::vector<char>;
  static std::string Name(const Text &name) { return CharToString(name); }

  bool HasAttr(Text name) override { return tail.attributes.Find(Name(name).c_str()) != nullptr; }
  bool GetAttrBool(Text name) override { return tail.attributes.Value<uint8_t>(Name(name).c_str(), Attribute::Bool) != 0; }
  int64_t GetAttrInt(Text name) override { return tail.attributes.Value<int64_t>(Name(name).c_str(), Attribute::Int); }
  float GetAttrFloat(Text name) override { return tail.attributes.Value<float>(Name(name).c_str(), Attribute::Float); }
  Text GetAttrStr(Text name) override { return tail.attributes.Vector<char>(Name(name).c_str(), Attribute::Text); }
  std::vector<int64_t> GetAttrIntVec(Text name) override {
    return tail.attributes.Vector<int64_t>(Name(name).c_str(), Attribute::Ints);
  }
  std::vector<float> GetAttrFloatVec(Text name) override {
    return tail.attributes.Vector<float>(Name(name).c_str(), Attribute::Floats);
  }
  std::vector<std::vector<int64_t>> GetAttrInt2DVec(Text name) override {
    return tail.attributes.Rows<int64_t>(Name(name).c_str(), Attribute::IntRows);
  }
  std::vector<std::vector<float>> GetAttrFloat2DVec(Text name) override {
    return tail.attributes.Rows<float>(Name(name).c_str(), Attribute::FloatRows);
  }
};

}  // namespace opforge

#endif  // OPFORGE_EXTRA_H_
