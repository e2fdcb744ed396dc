#include "bridge.h"

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <typeinfo>

#include "extra.h"

using opforge::TailOf;

namespace {

void Say(opforge_outcome *outcome, const char *text) {
  const size_t length = std::min(std::strlen(text), sizeof(outcome->text) - 1);
  std::memcpy(outcome->text, text, length);
  outcome->text[length] = '\0';
}

// The name of the type that is being thrown.
const char *ThrownType() {
  const std::type_info *type = abi::__cxa_current_exception_type();
  return type == nullptr ? "an exception of another language" : type->name();
}

// Calls a function of a library. Nothing is thrown past this.
template <typename F>
void Call(opforge_outcome *outcome, void *extra, opforge_last_error *last_error, F call) noexcept {
  outcome->status = opforge_outcome::Returned;
  outcome->text[0] = '\0';
  if (!TailOf(extra).error.empty()) TailOf(extra).error.clear();
  try {
    outcome->code = call();
    if (outcome->code == 0) return;
    if (!TailOf(extra).error.empty()) return Say(outcome, TailOf(extra).error.data());
    const char *text = last_error == nullptr ? nullptr : last_error();
    if (text != nullptr) Say(outcome, text);
  } catch (const std::exception &error) {
    outcome->status = opforge_outcome::Threw;
    Say(outcome, error.what());
  } catch (const char *text) {
    outcome->status = opforge_outcome::Threw;
    Say(outcome, text);
  } catch (...) {
    outcome->status = opforge_outcome::Threw;
    Say(outcome, ThrownType());
  }
}

struct Outputs {
  opforge_sink *sink;
  void *context;
};

using Shape = std::vector<int64_t>;
using InferOne = Shape (*)(int *, int64_t **, void *);
using InferSeveral = std::vector<Shape> (*)(int *, int64_t **, void *);

// The members of a vector.
struct Span {
  const char *begin, *end, *limit;
};

// Whether memory can be a vector of plausible shapes, rather than a single shape that a function of the other form returned.
bool AreShapes(const Span &all) {
  const size_t size = all.end - all.begin;
  if (size % sizeof(Shape) != 0) return false;
  const auto *spans = reinterpret_cast<const Span *>(all.begin);
  return std::all_of(spans, spans + size / sizeof(Shape), [](const Span &shape) {
    const bool empty = shape.begin == nullptr && shape.end == nullptr;
    const bool address = reinterpret_cast<uintptr_t>(shape.begin) > 0xffff && reinterpret_cast<uintptr_t>(shape.begin) % sizeof(int64_t) == 0;
    const bool ordered = shape.begin <= shape.end && shape.end <= shape.limit && shape.limit - shape.begin < (1 << 20);
    return empty || (address && ordered);
  });
}

// Calls a function that is said to return several shapes. One that returns a single shape is found out, and its memory left alone.
std::vector<Shape> CallSeveral(InferSeveral infer, int *ndims, int64_t **shapes, void *extra) {
  union Result {
    std::vector<Shape> shapes;
    Span span;
    Result(InferSeveral infer, int *ndims, int64_t **given, void *extra) : shapes(infer(ndims, given, extra)) {}
    ~Result() {}
  } result(infer, ndims, shapes, extra);
  if (!AreShapes(result.span)) throw std::runtime_error("returned one shape where several outputs are declared");
  std::vector<Shape> all = std::move(result.shapes);
  result.shapes.~vector();
  return all;
}

// Calls a function that is said to return one shape. One that returns several is found out: no lengths are addresses.
Shape CallOne(InferOne infer, int *ndims, int64_t **shapes, void *extra) {
  Shape shape = infer(ndims, shapes, extra);
  const auto *begin = reinterpret_cast<const char *>(shape.data());
  const auto is_huge = [](int64_t length) { return length >> 32 > 0; };
  if (!shape.empty() && std::all_of(shape.begin(), shape.end(), is_huge) && AreShapes({begin, begin + shape.size() * sizeof(int64_t), nullptr})) {
    throw std::runtime_error("returned several shapes where one output is declared");
  }
  return shape;
}

}  // namespace

void opforge_extra_set_counts(void *extra, int inputs, int outputs) {
  TailOf(extra).inputs = inputs;
  TailOf(extra).outputs = outputs;
}

bool opforge_extra_delete(void *extra) {
  try {
    TailOf(extra).destroy(extra);
    return true;
  } catch (...) {
    return false;
  }
}

size_t opforge_extra_workspaces(void *extra, const size_t **sizes) {
  const std::vector<size_t> &workspaces = TailOf(extra).workspaces(extra);
  *sizes = workspaces.data();
  return workspaces.size();
}

void opforge_call_main(opforge_main *function, opforge_last_error *last_error, int nparam, void **params, int *ndims,
                       int64_t **shapes, const char **dtypes, void *stream, void *extra, opforge_outcome *outcome) {
  Call(outcome, extra, last_error, [&] { return function(nparam, params, ndims, shapes, dtypes, stream, extra); });
}

void opforge_call_init(opforge_init *function, opforge_last_error *last_error, int *ndims, int64_t **shapes, const char **dtypes,
                       void *extra, opforge_outcome *outcome) {
  Call(outcome, extra, last_error, [&] { return function(ndims, shapes, dtypes, extra); });
}

void opforge_call_infer(opforge_infer *function, opforge_last_error *last_error, int ninput, const int *ndims,
                        const int64_t *const *shapes, const char *const *dtypes, void *extra, opforge_sink *sink, void *context,
                        opforge_outcome *outcome) {
  Outputs outputs{sink, context};
  Call(outcome, extra, last_error, [&] { return function(ninput, ndims, shapes, dtypes, extra, &outputs); });
}

void opforge_call_infer_shape(void *function, bool several, int *ndims, int64_t **shapes, void *extra, opforge_sink *sink,
                              void *context, opforge_outcome *outcome) {
  const auto give = [&](const Shape &shape) { sink(context, nullptr, static_cast<int>(shape.size()), shape.data()); };
  Call(outcome, extra, nullptr, [&] {
    if (several) {
      const auto all = CallSeveral(reinterpret_cast<InferSeveral>(function), ndims, shapes, extra);
      std::for_each(all.begin(), all.end(), give);
    } else {
      give(CallOne(reinterpret_cast<InferOne>(function), ndims, shapes, extra));
    }
    return 0;
  });
}

size_t opforge_call_infer_type(void *function, bool several, const int32_t *inputs, size_t count, void *extra, int32_t *types,
                               size_t capacity, opforge_outcome *outcome) {
  // As kernels declare it.
  enum TypeId : int {};
  using Types = std::vector<TypeId>;
  size_t found = 0;
  Call(outcome, extra, nullptr, [&] {
    Types given;
    for (size_t i = 0; i < count; ++i) given.push_back(static_cast<TypeId>(inputs[i]));
    const Types all = several ? reinterpret_cast<Types (*)(Types, void *)>(function)(given, extra)
                              : Types{reinterpret_cast<TypeId (*)(Types, void *)>(function)(given, extra)};
    found = all.size();
    std::copy_n(all.begin(), std::min(found, capacity), types);
    return 0;
  });
  return found;
}
