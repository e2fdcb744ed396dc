// The C++ side of the kernels' binary interface, as C functions: for the Rust crate, and for the worker process.
//
// bridge.cc is compiled once for each ABI of std::string; only the making of an `extra` differs between the two.
#ifndef OPFORGE_BRIDGE_H_
#define OPFORGE_BRIDGE_H_

#include <cstddef>
#include <cstdint>

extern "C" {

// An attribute's value. `count` is the number of values, of bytes of a text, or of rows.
struct opforge_attribute {
  const char *name;
  enum Kind : uint32_t { Bool, Int, Float, Text, Ints, Floats, IntRows, FloatRows } kind;
  // uint8_t, int64_t, float or char.
  const void *values;
  size_t count;
  // For rows: where each begins in `values`, and the end of the last.
  const size_t *offsets;
};

// How a call of a library's function ended.
struct opforge_outcome {
  enum Status : int32_t { Returned, Threw } status;
  // What the function returned.
  int32_t code;
  // What was thrown, or what the library says of a code that is not 0; cut to fit, ends with a zero.
  char text[1008];
};

// Which class the library's functions take: the plain one or the one that passes texts as vectors of characters.
enum opforge_variant : uint32_t { opforge_plain, opforge_dual };

// An object of class AotExtra or AotExtraDualABI; the attributes must outlive it. `old` is for libraries with the older ABI of std::string.
void *opforge_extra_new(opforge_variant variant, const opforge_attribute *attributes, size_t count);
void *opforge_extra_new_old(opforge_variant variant, const opforge_attribute *attributes, size_t count);
// How many inputs and outputs the coming calls have; -1 is unknown.
void opforge_extra_set_counts(void *extra, int inputs, int outputs);
// Destroys the kernel data, then the object. The library must still be open. False if a destructor threw.
bool opforge_extra_delete(void *extra);
// The workspaces' sizes in bytes, until the next call with `extra`.
size_t opforge_extra_workspaces(void *extra, const size_t **sizes);

typedef int opforge_main(int, void **, int *, int64_t **, const char **, void *, void *);
typedef int opforge_init(int *, int64_t **, const char **, void *);
typedef int opforge_infer(int, const int *, const int64_t *const *, const char *const *, void *, void *);
typedef const char *opforge_last_error();

// What to do with an inferred output. A dtype or shape that the function does not state is null.
typedef void opforge_sink(void *context, const char *dtype, int ndim, const int64_t *shape);

void opforge_call_main(opforge_main *function, opforge_last_error *last_error, int nparam, void **params, int *ndims,
                       int64_t **shapes, const char **dtypes, void *stream, void *extra, opforge_outcome *outcome);
void opforge_call_init(opforge_init *function, opforge_last_error *last_error, int *ndims, int64_t **shapes,
                       const char **dtypes, void *extra, opforge_outcome *outcome);
void opforge_call_infer(opforge_infer *function, opforge_last_error *last_error, int ninput, const int *ndims,
                        const int64_t *const *shapes, const char *const *dtypes, void *extra, opforge_sink *sink,
                        void *context, opforge_outcome *outcome);
// `several`: whether the function returns a vector of shapes.
void opforge_call_infer_shape(void *function, bool several, int *ndims, int64_t **shapes, void *extra, opforge_sink *sink,
                              void *context, opforge_outcome *outcome);
// Types are numbers of MindSpore's enumeration TypeId. `several`: whether the function returns a vector of types.
// The results go to `types`, which has room for `capacity`; their number is returned.
size_t opforge_call_infer_type(void *function, bool several, const int32_t *inputs, size_t count, void *extra, int32_t *types,
                               size_t capacity, opforge_outcome *outcome);
}

#endif  // OPFORGE_BRIDGE_H_
