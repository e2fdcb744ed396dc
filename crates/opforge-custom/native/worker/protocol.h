// The language between a process and its worker, the process in which a library's functions run apart. src/isolate/ is the other side.
//
// The worker is started with the socket as standard input and the region, a file that it maps and the parent reads and writes, as standard output;
// worker.cc has its arguments. It answers one request at a time, in order, and ends when the socket does, or the parent.
//
// A message is two words, kind (0 in an answer) and length in bytes of what follows, and then that. A word is 8 bytes as the machine has them.
// A text is a word with its length in bytes, the bytes, and zeros up to the next word, at least one. A list is a word with its length, then
// its elements.
//
//   outcome     status, code, text                                       see Status
//   attribute   name, kind, count, text of the values' bytes, list of offsets      as opforge_attribute
//   argument    dtype, rank, lengths (one word if there are none)
//   signature   variant, list of attributes, list of arguments, how many of these are outputs or -1
//               variant: bit 0 the dual-ABI class, bit 1 the older ABI of std::string
//
//   request                                                       answer: an outcome, and unless it is Refused
//   Open     path, function                                       Found, version of the interface that the library states or 0, what the
//                                                                 process could not give up (see confine.h)
//   Infer    form, several, signature, list of the inputs' types  list of (has dtype, dtype, rank or -1, lengths), or of types for InferType
//   Prepare  instance, signature                                  list of the workspaces' sizes in bytes
//   Map      instance, list of (offset, size, shift, writable)
//   Run      repeats, observe, list of instances                  list of outcomes, bytes allocated before and after (-1: not known),
//                                                                 whether arrays of ranks, shapes or dtypes have been changed
//   Close    instance
//
// Types are numbers of MindSpore's enumeration, as in bridge.h. The outcome of Infer is the function's, that of Prepare is Init's.
//
// Open comes first, and once. Instances are numbered by the parent, from 1. Prepare calls Init, if there is one, for inputs and outputs. Map
// says where inputs, outputs and workspaces lie: whole pages of the region, from `offset`, a multiple of the page's size, are mapped between
// guard pages, and the argument's `size` bytes begin `shift` bytes behind the first page's start. Equal places are one argument at one address;
// Map may be asked for again. Run calls the main function of each instance `repeats` times or until it fails; several instances run at once,
// on a thread each. Observe says what it looks at meanwhile. Close destroys the instance and its kernel data.
//
// Where a function ends the process, the report at the region's start tells of the signal.
#ifndef OPFORGE_WORKER_PROTOCOL_H_
#define OPFORGE_WORKER_PROTOCOL_H_

#include <cstdint>

namespace worker {

enum class Kind : uint64_t { Answer, Open, Infer, Prepare, Map, Run, Close };

enum class Form : uint64_t { Infer, InferShape, InferType };

// Returned and Threw are opforge_outcome's; Refused is the worker's own: the request could not be carried out, the text says why.
enum class Status : uint64_t { Returned, Threw, Refused };

// Nothing; allocations and arrays; with several instances, whether each run leaves an instance's results as they were before the first, without
// which the instance runs no more.
enum class Observe : uint64_t { Nothing, Measure, Steady };

// Bits: which functions and marks a library has.
enum Found : uint64_t { kMain = 1, kInit = 2, kInfer = 4, kInferShape = 8, kInferType = 16, kLastError = 32, kDualMark = 64 };

// Bytes of the region that the report has to itself; arguments lie behind.
constexpr uint64_t kReportSize = 65536;

// Address space on either side of an argument that nothing may touch, in bytes.
constexpr uint64_t kGuard = 1 << 20;

// At the region's start. All zero, save for `refused`, until a signal ends the worker.
struct Report {
  enum Access : uint64_t { UnknownAccess, Read, Write };
  enum Where : uint64_t { Elsewhere, Argument, Stack };

  uint64_t signal;
  // The signal's si_code.
  int64_t code;
  uint64_t address;
  Access access;
  Where where;
  // For an argument: of which instance, which, and the byte that was touched, counted from the argument's first.
  uint64_t instance;
  uint64_t argument;
  int64_t byte;
  // The size in bytes of the last allocation that was refused during the request; 0 if none was.
  uint64_t refused;
};

}  // namespace worker

#endif  // OPFORGE_WORKER_PROTOCOL_H_
