// NVIDIA's driver and NVRTC for machines without a GPU, for tests: a device whose memory is main memory, and whose kernels the host's compiler builds.
//
// Kernels' CUDA C is compiled as C++ after device.h; its threads run one after the other, those of a block as fibers, so that barriers are waited at.
// What is issued is done at once, but errors come as a driver's do: a kernel that reads where nothing is fails later, at who waits.

#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "elements.h"

namespace {

constexpr int INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, ILLEGAL_ADDRESS = 700;
constexpr size_t TOTAL = size_t(1) << 32;
constexpr int COUNT = 2;
// The most dynamic shared memory of a block.
constexpr int SHARED = 227 << 10;

std::mutex guard;
std::map<uint64_t, size_t> blocks;
uint64_t used = 0, most = 0;
// A kernel's failure, which every later call reports.
std::atomic<int> failed{0};
thread_local void *current = nullptr;
int contexts[COUNT];

// Whether a block has all of these bytes.
bool has(uint64_t at, size_t nbytes) {
    std::lock_guard<std::mutex> lock(guard);
    auto next = blocks.upper_bound(at);
    if (next == blocks.begin()) return false;
    --next;
    return at + nbytes <= next->first + next->second;
}

// Every call needs a context, and reports what failed before.
int ready() { return failed ? failed.load() : current ? 0 : INVALID_CONTEXT; }

struct Program {
    std::string text, log;
};

struct Module {
    void (*call)(void **);
    unsigned *thread, *block, *block_size, *blocks;
    bool waits;
    unsigned shared = 48 << 10;
};

// The threads of a block, where they wait for one another. Fibers stay for the blocks that follow, and change by _setjmp and _longjmp: swapcontext asks the
// kernel about signals at each change.
namespace fibers {
constexpr size_t STACK = 1 << 16;
struct Fiber {
    ucontext_t first;
    std::vector<char> stack;
    jmp_buf at;
    bool begun = false, ended = false;
};
jmp_buf scheduler;
std::deque<Fiber> all;
unsigned now, count;
const Module *module;
void **arguments;

// Lets the scheduler go on, until it resumes this fiber.
void yield() {
    if (!_setjmp(all[now].at)) _longjmp(scheduler, 1);
}

void body() {
    for (;;) {
        module->call(arguments);
        all[now].ended = true;
        yield();
    }
}

// Lets a fiber go on, until it yields.
void resume(Fiber &fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber.begun) _longjmp(fiber.at, 1);
    fiber.begun = true;
    setcontext(&fiber.first);
}

// Where so many threads wait for one another.
struct Gate {
    unsigned come = 0, turn = 0;

    void wait(unsigned count) {
        const unsigned own = turn;
        if (++come == count) {
            come = 0, ++turn;
            return;
        }
        while (turn == own) yield();
    }
};
Gate of_block, of_warps[32];

void barrier() { of_block.wait(count); }
void warp_barrier() { of_warps[now / 32].wait(32); }

void add() {
    Fiber &fiber = all.emplace_back();
    fiber.stack.resize(STACK);
    getcontext(&fiber.first);
    fiber.first.uc_stack.ss_sp = fiber.stack.data(), fiber.first.uc_stack.ss_size = STACK;
    makecontext(&fiber.first, body, 0);
}

void run_block(unsigned threads) {
    while (all.size() < threads) add();
    count = threads;
    for (unsigned i = 0; i < threads; ++i) all[i].ended = false;
    for (bool some = true; some;) {
        some = false;
        for (now = 0; now < threads; ++now) {
            if (all[now].ended) continue;
            *module->thread = now;
            resume(all[now]);
            some |= !all[now].ended;
        }
    }
}
}  // namespace fibers

void run(const Module &module, void **arguments, unsigned blocks, unsigned threads) {
    static std::mutex one;
    std::lock_guard<std::mutex> lock(one);
    *module.blocks = blocks, *module.block_size = threads;
    fibers::module = &module, fibers::arguments = arguments;
    for (unsigned block = 0; block < blocks; ++block) {
        *module.block = block;
        if (module.waits) {
            fibers::run_block(threads);
            continue;
        }
        for (unsigned thread = 0; thread < threads; ++thread) {
            *module.thread = thread;
            module.call(arguments);
        }
    }
}

// A library of the kernel in `text`.
Module *build(const char *text) {
    char folder[] = "/tmp/opforge-kernel-XXXXXX";
    Dl_info own;
    if (!dladdr(reinterpret_cast<void *>(&build), &own) || !mkdtemp(folder)) return nullptr;
    const std::string path = own.dli_fname, headers = path.substr(0, path.rfind('/')), base = folder;
    if (FILE *file = fopen((base + "/kernel.cpp").c_str(), "w")) {
        fprintf(file, "#include \"device.h\"\n%s\n#include \"launch.h\"\n", text);
        fclose(file);
    }
    // What a warp does together takes long.
    const std::string level = strstr(text, "HOST_WARP") ? " -O1" : " -O0";
    // A kernel needs no more of C++ and its libraries than this, and the rest takes time to build.
    const std::string options = level + " -w -ffp-contract=off -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -pipe -shared -fPIC -nostdlib -I" + headers;
    const std::string command = "g++" + options + " -o " + base + "/kernel.so " + base + "/kernel.cpp -lm -lgcc";
    void *library = system(command.c_str()) == 0 ? dlopen((base + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) {
        fprintf(stderr, "%s/kernel.cpp does not build: %s\n", folder, dlerror());
        return nullptr;
    }
    if (system(("rm -r " + base).c_str())) fprintf(stderr, "%s stays\n", folder);
    const auto set = [&](const char *name, auto value) { *reinterpret_cast<decltype(value) *>(dlsym(library, name)) = value; };
    set("host_barrier", &fibers::barrier);
    set("host_warp_barrier", &fibers::warp_barrier);
    const auto number = [&](const char *name) { return static_cast<unsigned *>(dlsym(library, name)); };
    return new Module{
        reinterpret_cast<void (*)(void **)>(dlsym(library, "host_call")), number("threadIdx"), number("blockIdx"), number("blockDim"),
        number("gridDim"), strstr(text, "__sync") || strstr(text, "__shfl")};
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }

int cuGetErrorName(int code, const char **name) {
    *name = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : code == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == OUT_OF_MEMORY ? "out of memory" : code == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "an error";
    return 0;
}

int cuDeviceGetCount(int *count) { return *count = COUNT, 0; }
int cuDeviceGet(int *device, int number) { return number < COUNT ? (*device = number, 0) : INVALID_VALUE; }

int cuDeviceGetName(char *name, int len, int device) {
    snprintf(name, len, "Host %d", device);
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int) {
    *value = which == 16 ? 1 : which == 75 ? 9 : which == 76 ? 0 : which == 97 ? SHARED : which == 115 ? 1 : 0;
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = TOTAL, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &contexts[device], 0; }
int cuCtxSetCurrent(void *context) { return current = context, 0; }
int cuDeviceGetDefaultMemPool(void **pool, int device) { return *pool = &contexts[device], 0; }

int cuMemPoolSetAttribute(void *, int which, void *) {
    std::lock_guard<std::mutex> lock(guard);
    if (which == 8) most = used;
    return 0;
}

int cuMemPoolGetAttribute(void *, int which, void *value) {
    std::lock_guard<std::mutex> lock(guard);
    *static_cast<uint64_t *>(value) = which == 5 || which == 7 ? used : most;
    return 0;
}

int cuMemPoolTrimTo(void *, size_t) { return ready(); }

int cuMemGetInfo_v2(size_t *free, size_t *total) {
    std::lock_guard<std::mutex> lock(guard);
    *free = TOTAL - used, *total = TOTAL;
    return 0;
}

int cuMemAllocAsync(uint64_t *at, size_t nbytes, void *) {
    if (int code = ready()) return code;
    if (nbytes == 0) return INVALID_VALUE;
    std::lock_guard<std::mutex> lock(guard);
    if (nbytes > TOTAL - used) return OUT_OF_MEMORY;
    void *block = aligned_alloc(512, (nbytes + 511) / 512 * 512);
    // What is read before it is written shows.
    memset(block, 0xa5, nbytes);
    *at = reinterpret_cast<uint64_t>(block) + BEYOND;
    blocks[*at] = nbytes;
    used += nbytes;
    most = used > most ? used : most;
    return 0;
}

int cuMemFreeAsync(uint64_t at, void *) {
    std::lock_guard<std::mutex> lock(guard);
    auto block = blocks.find(at);
    if (block == blocks.end()) return INVALID_VALUE;
    used -= block->second;
    blocks.erase(block);
    free(host(at));
    return 0;
}

int cuMemsetD8Async(uint64_t at, unsigned char value, size_t nbytes, void *) {
    if (int code = ready()) return code;
    return has(at, nbytes) ? (memset(host(at), value, nbytes), 0) : INVALID_VALUE;
}

int cuMemcpyHtoDAsync_v2(uint64_t at, const void *from, size_t nbytes, void *) {
    if (int code = ready()) return code;
    return has(at, nbytes) ? (memcpy(host(at), from, nbytes), 0) : INVALID_VALUE;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t at, size_t nbytes, void *) {
    if (int code = ready()) return code;
    return has(at, nbytes) ? (memcpy(to, host(at), nbytes), 0) : INVALID_VALUE;
}

int cuStreamCreate(void **stream, unsigned) { return *stream = current, ready(); }
int cuStreamSynchronize(void *) { return ready(); }
int cuStreamQuery(void *) { return ready(); }

// What is issued is done at once: an event is the time of its record.
struct Event {
    double milliseconds;
};

int cuMemHostAlloc(void **at, size_t nbytes, unsigned) { return (*at = calloc(1, nbytes)) ? 0 : 2; }
int cuMemHostGetDevicePointer_v2(uint64_t *at, void *of, unsigned) { return *at = reinterpret_cast<uint64_t>(of) + BEYOND, 0; }

int cuEventCreate(void **event, unsigned) { return *event = new Event{0}, ready(); }
int cuEventRecord(void *event, void *) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    static_cast<Event *>(event)->milliseconds = now.tv_sec * 1e3 + now.tv_nsec / 1e6;
    return ready();
}
int cuEventSynchronize(void *) { return ready(); }
int cuEventQuery(void *) { return ready(); }
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
    *milliseconds = float(static_cast<Event *>(to)->milliseconds - static_cast<Event *>(from)->milliseconds);
    return ready();
}
int cuEventDestroy_v2(void *event) { return delete static_cast<Event *>(event), 0; }

int cuModuleLoadData(void **module, const void *image) {
    if (int code = ready()) return code;
    *module = build(static_cast<const char *>(image));
    return *module ? 0 : INVALID_VALUE;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = module;
    return strcmp(name, "kernel") == 0 ? 0 : INVALID_VALUE;
}

// Of a function's attributes only 8 is known: the most dynamic shared memory, which is 48 KB at first.
int cuFuncSetAttribute(void *function, int which, int value) {
    if (which != 8 || value < 0 || value > SHARED) return INVALID_VALUE;
    static_cast<Module *>(function)->shared = value;
    return 0;
}

int cuLaunchKernel(
    void *function, unsigned blocks_x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned shared, void *, void **arguments, void **) {
    if (int code = ready()) return code;
    if (blocks_x == 0 || threads == 0 || shared > static_cast<Module *>(function)->shared) return INVALID_VALUE;
    // Kernels of the host do not survive wrong addresses: what a test marks as such fails as a GPU's would.
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) failed = ILLEGAL_ADDRESS;
    else run(*static_cast<Module *>(function), arguments, blocks_x, threads);
    return 0;
}

int nvrtcVersion(int *major, int *minor) { return *major = 0, *minor = 1, 0; }
int nvrtcGetNumSupportedArchs(int *count) { return *count = 2, 0; }
int nvrtcGetSupportedArchs(int *list) { return list[0] = 80, list[1] = 90, 0; }

int nvrtcCreateProgram(void **program, const char *text, const char *, int, const char *const *, const char *const *) {
    return *program = new Program{text, ""}, 0;
}

int nvrtcCompileProgram(void *, int, const char *const *) { return 0; }
int nvrtcDestroyProgram(void **program) { return delete static_cast<Program *>(*program), 0; }
int nvrtcGetProgramLogSize(void *program, size_t *size) { return *size = static_cast<Program *>(program)->log.size() + 1, 0; }
int nvrtcGetProgramLog(void *program, char *log) { return strcpy(log, static_cast<Program *>(program)->log.c_str()), 0; }
int nvrtcGetCUBINSize(void *program, size_t *size) { return *size = static_cast<Program *>(program)->text.size() + 1, 0; }
int nvrtcGetCUBIN(void *program, char *code) { return strcpy(code, static_cast<Program *>(program)->text.c_str()), 0; }
int nvrtcGetPTXSize(void *program, size_t *size) { return nvrtcGetCUBINSize(program, size); }
int nvrtcGetPTX(void *program, char *code) { return nvrtcGetCUBIN(program, code); }

}
