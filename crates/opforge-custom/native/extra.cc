// Makes the object that kernels get as `extra`. Compiled for each ABI of std::string; OPFORGE_EXTRA_NEW names the function, and
// OPFORGE_NAMESPACE keeps the two compilations' classes apart.
#define opforge OPFORGE_NAMESPACE
#include "extra.h"
#undef opforge

namespace {

namespace ours = OPFORGE_NAMESPACE;
using ours::Attribute;
using ours::TailOf;

void Note(void *extra, const char *text) noexcept {
  try {
    TailOf(extra).error.assign(text, text + std::strlen(text) + 1);
  } catch (...) {
  }
}

// Runs a getter; what it throws is noted for the error of the call.
template <typename F>
int Try(void *extra, F get) noexcept {
  try {
    get(TailOf(extra).attributes);
    return 0;
  } catch (const std::exception &error) {
    Note(extra, error.what());
    return 1;
  }
}

template <typename T>
int GetList(void *extra, const char *name, Attribute::Kind kind, const T **values, size_t *count) noexcept {
  return Try(extra, [&](const ours::Attributes &attributes) {
    const Attribute &found = attributes.Get(name, kind);
    *values = static_cast<const T *>(found.values);
    *count = found.count;
  });
}

template <typename T>
int GetRows(void *extra, const char *name, Attribute::Kind kind, const T **values, const size_t **offsets, size_t *rows) noexcept {
  return Try(extra, [&](const ours::Attributes &attributes) {
    const Attribute &found = attributes.Get(name, kind);
    *values = static_cast<const T *>(found.values);
    *offsets = found.offsets;
    *rows = found.count;
  });
}

// Where FInfer's `outputs` points.
struct Outputs {
  opforge_sink *sink;
  void *context;
};

const opforge_extra_api kApi = {
    OPFORGE_KERNEL_ABI,
    [](void *extra, const char *name) -> int { return TailOf(extra).attributes.Find(name) != nullptr; },
    [](void *extra, const char *name, int *value) -> int {
      return Try(extra, [&](const ours::Attributes &attributes) { *value = attributes.Value<uint8_t>(name, Attribute::Bool); });
    },
    [](void *extra, const char *name, int64_t *value) -> int {
      return Try(extra, [&](const ours::Attributes &attributes) { *value = attributes.Value<int64_t>(name, Attribute::Int); });
    },
    [](void *extra, const char *name, float *value) -> int {
      return Try(extra, [&](const ours::Attributes &attributes) { *value = attributes.Value<float>(name, Attribute::Float); });
    },
    [](void *extra, const char *name, const char **text, size_t *length) -> int {
      return GetList(extra, name, Attribute::Text, text, length);
    },
    [](void *extra, const char *name, const int64_t **values, size_t *count) -> int {
      return GetList(extra, name, Attribute::Ints, values, count);
    },
    [](void *extra, const char *name, const float **values, size_t *count) -> int {
      return GetList(extra, name, Attribute::Floats, values, count);
    },
    [](void *extra, const char *name, const int64_t **values, const size_t **offsets, size_t *rows) -> int {
      return GetRows(extra, name, Attribute::IntRows, values, offsets, rows);
    },
    [](void *extra, const char *name, const float **values, const size_t **offsets, size_t *rows) -> int {
      return GetRows(extra, name, Attribute::FloatRows, values, offsets, rows);
    },
    [](void *extra, const size_t *sizes, size_t count) { TailOf(extra).set_workspaces(extra, sizes, count); },
    [](void *extra, void *data, void (*destroy)(void *)) {
      TailOf(extra).DestroyData();
      TailOf(extra).data = data;
      TailOf(extra).destroy_data = destroy;
    },
    [](void *extra) -> void * { return TailOf(extra).data; },
    Note,
    [](void *outputs, const char *dtype, int ndim, const int64_t *shape) {
      const auto *to = static_cast<Outputs *>(outputs);
      to->sink(to->context, dtype, ndim, shape);
    },
    [](void *extra, int *inputs, int *outputs) {
      *inputs = TailOf(extra).inputs;
      *outputs = TailOf(extra).outputs;
    },
};

}  // namespace

extern "C" void *OPFORGE_EXTRA_NEW(opforge_variant variant, const opforge_attribute *attributes, size_t count) {
  const ours::Attributes table(attributes, count);
  if (variant == opforge_dual) return static_cast<AotExtraDualABI *>(new ours::DualExtra(&kApi, table));
  return static_cast<AotExtra *>(new ours::PlainExtra(&kApi, table));
}
