/* Kernels for opforge: what a library of operators exports, when it is called, and who owns what. For C and C++; C++ kernels that are to run on
 * MindSpore too include custom_aot_extra.h instead, or as well.
 *
 * A kernel is a set of functions whose names begin with the same word, here `F`. Only the first is needed:
 *
 *   int F(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra);
 *       The computation. Arguments stand in the order inputs, outputs, workspaces; nparam counts all of them.
 *   int FInit(int *ndims, int64_t **shapes, const char **dtypes, void *extra);
 *       Once for each signature (attributes, dtypes and shapes) before its first run: reads attributes, asks for workspaces, sets kernel data.
 *   int FInfer(int ninput, const int *ndims, const int64_t *const *shapes, const char *const *dtypes, void *extra, void *outputs);
 *       Declares each output in turn with `add_output`. An unknown length is -1; a shape of unknown rank is the single length -2.
 *   FInferShape, FInferType
 *       The C++ forms of the same, see custom_aot_extra.h.
 *   const char *FLastError(void);
 *       Text for the last failure on the calling thread, or NULL; asked for when a function above returned something else than 0.
 *   OPFORGE_SCHEMA(F, "(Tensor x, Tensor y, *, int axis=0) -> Tensor");
 *       At file scope: the operator's declaration, which whoever loads it need not repeat then.
 *
 * Results. 0 is success. Anything else is an error, which reaches the user with the operator, library, function and number, and with the text
 * of `set_error` or `FLastError`. C++ exceptions become errors. A kernel that fails may leave its outputs unwritten.
 *
 * Arguments. Inputs are contiguous in row-major order, read-only, and initialised. Outputs are contiguous; every element must be written, unless the
 * operator was declared to change an input in place, when that output is that input. Workspaces are aligned to 64 bytes, hold anything, and
 * end with the call. Empty tensors have addresses that must not be read. `shapes[i]` may be read for ndims[i] lengths, and for one where
 * ndims[i] is 0. A workspace's entry is a vector of "uint8". dtypes are "bool", "int8" .. "int64", "uint8" .. "uint64", "float8_e4m3fn",
 * "float8_e5m2", "float16", "bfloat16", "float32", "float64", "complex64" and "complex128". The arrays belong to the framework and end with the call. `stream` is NULL on
 * the CPU. Of a library with code of NVIDIA's GPUs, tensors and workspaces lie in a GPU's memory, which is current on the calling thread, and `stream` is
 * the CUDA stream that the work is to be issued to; nobody has to wait for it.
 *
 * Threads. `F` may run on any thread, and on several at once, but not with the same `extra`: what hangs on `extra` needs no lock; statics do.
 *
 * Data. Kernel data belongs to the framework, which destroys it before it closes the library. A library whose code may still run after that, such
 * as one that keeps threads, exports a symbol `opforge_kernel_resident` of any kind, and is never closed.
 */
#ifndef OPFORGE_KERNEL_H_
#define OPFORGE_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

/* The version of this interface: a library states it, and frameworks that know only older ones refuse the library. */
#define OPFORGE_KERNEL_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
__attribute__((weak, visibility("default"))) uint32_t opforge_kernel_abi = OPFORGE_KERNEL_ABI;
#endif

#ifdef __cplusplus
#define OPFORGE_C_ extern "C"
#else
#define OPFORGE_C_ extern
#endif
#if defined(__GNUC__)
#define OPFORGE_EXPORT_ __attribute__((visibility("default"), used))
#else
#define OPFORGE_EXPORT_
#endif

/* Read without running anything: types are Tensor and, of attributes, bool, int, float, str, int[], float[], int[][], float[][]. `Tensor(a!) x` is
 * changed in place, and a result `Tensor(a!)` is that tensor. */
#define OPFORGE_SCHEMA(F, text)                        \
  OPFORGE_C_ OPFORGE_EXPORT_ const char F##Schema[];   \
  const char F##Schema[] = text

/* What C kernels do with `extra`. Getters return 0 and leave the value in their last arguments, or return something else and note an error text if
 * there is no such attribute or it has another type. What they point to lives as long as `extra`. */
typedef struct opforge_extra_api {
  uint32_t version;
  int (*has_attr)(void *extra, const char *name);
  int (*get_bool)(void *extra, const char *name, int *value);
  int (*get_int)(void *extra, const char *name, int64_t *value);
  int (*get_float)(void *extra, const char *name, float *value);
  /* The text is `length` bytes of UTF-8 followed by a zero. */
  int (*get_string)(void *extra, const char *name, const char **text, size_t *length);
  int (*get_ints)(void *extra, const char *name, const int64_t **values, size_t *count);
  int (*get_floats)(void *extra, const char *name, const float **values, size_t *count);
  /* Row `i` is values[offsets[i]] up to values[offsets[i + 1]]; there are rows + 1 offsets. */
  int (*get_int_rows)(void *extra, const char *name, const int64_t **values, const size_t **offsets, size_t *rows);
  int (*get_float_rows)(void *extra, const char *name, const float **values, const size_t **offsets, size_t *rows);
  /* Sizes in bytes. */
  void (*set_workspaces)(void *extra, const size_t *sizes, size_t count);
  /* `destroy` (may be NULL) is called with the data once. */
  void (*set_kernel_data)(void *extra, void *data, void (*destroy)(void *data));
  void *(*kernel_data)(void *extra);
  /* Notes the text of the error that the function is about to return. */
  void (*set_error)(void *extra, const char *text);
  /* Within FInfer: declares the next output. */
  void (*add_output)(void *outputs, const char *dtype, int ndim, const int64_t *shape);
  /* How many inputs and outputs the call has. Within FInfer the outputs may not be known, which is -1. */
  void (*counts)(void *extra, int *inputs, int *outputs);
} opforge_extra_api;

/* Marks an `extra` as opforge's, 40 bytes behind its start, where MindSpore's has other things. */
#define OPFORGE_EXTRA_MAGIC UINT64_C(0x6f70666f72676531)

/* The functions for `extra`, or NULL when another framework runs the kernel. */
static inline const opforge_extra_api *opforge_extra(void *extra) {
  struct tail {
    unsigned char compatible[40];
    uint64_t magic;
    const opforge_extra_api *api;
  };
  const struct tail *at = (const struct tail *)extra;
  return extra != NULL && at->magic == OPFORGE_EXTRA_MAGIC ? at->api : NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* OPFORGE_KERNEL_H_ */
