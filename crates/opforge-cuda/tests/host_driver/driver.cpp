// NVIDIA's driver, NVRTC and cuBLAS for machines without a GPU, for tests: a device whose memory is main memory, and whose kernels the host's compiler builds.
//
// Kernels' CUDA C is compiled as C++ after device.h; its threads run one after the other, those of a block as fibers, so that barriers are waited at.
// What is issued is done at once, but errors come as a driver's do: a kernel that reads where nothing is fails later, at who waits.

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, ILLEGAL_ADDRESS = 700;
constexpr size_t TOTAL = size_t(1) << 32;
constexpr int COUNT = 2;

// Addresses are not the host's: who follows one on the host fails.
constexpr uint64_t BEYOND = uint64_t(1) << 62;

std::mutex guard;
std::map<uint64_t, size_t> blocks;
uint64_t used = 0, most = 0;
// A kernel's failure, which every later call reports.
std::atomic<int> failed{0};
thread_local void *current = nullptr;
int contexts[COUNT];

void *host(uint64_t at) { return reinterpret_cast<void *>(at - BEYOND); }

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

std::atomic<int> products{0};

double of_half(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY) : ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
    return half >> 15 ? -size : size;
}

uint16_t to_half(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (value != value) return 0x7e00;
    int exponent;
    frexp(value, &exponent);
    const int lowest = exponent < -13 ? -24 : exponent - 11;
    const double units = nearbyint(ldexp(fabs(value), -lowest));
    if (ldexp(units, lowest) > 65504) return sign | 0x7c00;
    // A fraction that was rounded up to 2048 is the next exponent's first.
    return sign | uint16_t(units + ((lowest + 24) << 10));
}

// Elements by cuBLAS' kinds: 0 float, 1 double, 2 half, 14 bfloat16.
struct Elements {
    const void *at;
    int kind;

    double get(int64_t i) const {
        void *first = host(reinterpret_cast<uint64_t>(at));
        if (kind == 0) return static_cast<float *>(first)[i];
        if (kind == 1) return static_cast<double *>(first)[i];
        if (kind == 2) return of_half(static_cast<uint16_t *>(first)[i]);
        const uint32_t bits = uint32_t(static_cast<uint16_t *>(first)[i]) << 16;
        float value;
        memcpy(&value, &bits, 4);
        return value;
    }

    void set(int64_t i, double value) {
        void *first = host(reinterpret_cast<uint64_t>(at));
        if (kind == 0) static_cast<float *>(first)[i] = value;
        if (kind == 1) static_cast<double *>(first)[i] = value;
        if (kind == 2) static_cast<uint16_t *>(first)[i] = to_half(value);
        if (kind != 14) return;
        const float single = value;
        uint32_t bits;
        memcpy(&bits, &single, 4);
        static_cast<uint16_t *>(first)[i] = value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    }
};

struct Module {
    void (*call)(void **);
    unsigned *thread, *block, *block_size, *blocks;
    bool waits;
};

// The threads of a block, where they wait for one another.
namespace fibers {
constexpr size_t STACK = 1 << 16;
ucontext_t scheduler;
std::vector<ucontext_t> all;
std::vector<char> stacks, ended;
unsigned now;
const Module *module;
void **arguments;

void barrier() { swapcontext(&all[now], &scheduler); }

void body() {
    module->call(arguments);
    ended[now] = true;
}

void run_block(unsigned threads) {
    all.resize(threads), stacks.resize(threads * STACK), ended.assign(threads, false);
    for (unsigned i = 0; i < threads; ++i) {
        getcontext(&all[i]);
        all[i].uc_stack.ss_sp = &stacks[i * STACK], all[i].uc_stack.ss_size = STACK, all[i].uc_link = &scheduler;
        makecontext(&all[i], body, 0);
    }
    for (bool some = true; some;) {
        some = false;
        for (now = 0; now < threads; ++now) {
            if (ended[now]) continue;
            *module->thread = now;
            swapcontext(&scheduler, &all[now]);
            some |= !ended[now];
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
    const std::string options = " -O0 -w -ffp-contract=off -fno-exceptions -shared -fPIC -I" + headers;
    const std::string command = "g++" + options + " -o " + base + "/kernel.so " + base + "/kernel.cpp -lm";
    void *library = system(command.c_str()) == 0 ? dlopen((base + "/kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) {
        fprintf(stderr, "%s/kernel.cpp does not build: %s\n", folder, dlerror());
        return nullptr;
    }
    if (system(("rm -r " + base).c_str())) fprintf(stderr, "%s stays\n", folder);
    const auto set = [&](const char *name, auto value) { *reinterpret_cast<decltype(value) *>(dlsym(library, name)) = value; };
    set("host_barrier", &fibers::barrier);
    const auto number = [&](const char *name) { return static_cast<unsigned *>(dlsym(library, name)); };
    return new Module{
        reinterpret_cast<void (*)(void **)>(dlsym(library, "host_call")), number("threadIdx"), number("blockIdx"), number("blockDim"),
        number("gridDim"), strstr(text, "__syncthreads") != nullptr};
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
    *value = which == 16 ? 1 : which == 75 ? 9 : which == 76 ? 0 : which == 115 ? 1 : 0;
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

// What is issued is done at once: an event is the time of its record.
struct Event {
    double milliseconds;
};

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

int cuLaunchKernel(void *function, unsigned blocks_x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, void *, void **arguments, void **) {
    if (int code = ready()) return code;
    if (blocks_x == 0 || threads == 0) return INVALID_VALUE;
    // Kernels of the host do not survive wrong addresses: what a test marks as such fails as a GPU's would.
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) failed = ILLEGAL_ADDRESS;
    else run(*static_cast<Module *>(function), arguments, blocks_x, threads);
    return 0;
}

// The library is a copy of this one, with a state of its own.
int cublasCreate_v2(void **handle) { return *handle = &products, 0; }
int cublasSetStream_v2(void *, void *) { return 0; }

// Matrices lie column by column; sums are in double precision.
int cublasGemmStridedBatchedEx(
    void *, int a_transposed, int b_transposed, int m, int n, int k, const void *alpha, const void *a, int a_kind, int lda, int64_t a_next, const void *b,
    int b_kind, int ldb, int64_t b_next, const void *beta, void *c, int c_kind, int ldc, int64_t c_next, int count, int summed_in, int) {
    if (lda < (a_transposed ? k : m) || ldb < (b_transposed ? n : k) || ldc < m || a_kind != c_kind || b_kind != c_kind) return 7;
    if (summed_in != (c_kind == 1 ? 70 : 68)) return 15;
    if (getenv("OPFORGE_HOST_DRIVER_FAILS")) return 13;
    const auto factor = [&](const void *x) { return c_kind == 1 ? *static_cast<const double *>(x) : *static_cast<const float *>(x); };
    const Elements left{a, a_kind}, right{b, b_kind};
    Elements made{c, c_kind};
    for (int64_t i = 0; i < count; ++i)
        for (int64_t column = 0; column < n; ++column)
            for (int64_t row = 0; row < m; ++row) {
                double sum = 0;
                for (int64_t j = 0; j < k; ++j)
                    sum += left.get(i * a_next + (a_transposed ? j + row * lda : row + j * lda)) * right.get(i * b_next + (b_transposed ? column + j * ldb : j + column * ldb));
                const int64_t at = i * c_next + row + column * ldc;
                made.set(at, factor(alpha) * sum + (factor(beta) ? factor(beta) * made.get(at) : 0));
            }
    ++products;
    return 0;
}

// How many products there have been, for tests.
int opforge_host_products() { return products; }

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
