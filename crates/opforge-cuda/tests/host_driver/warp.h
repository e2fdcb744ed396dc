// What the threads of a warp do together, as `src/kernels/warp.h` has it by PTX: here they exchange what they have, and wait for one another.
// Fragments and matrices are as the PTX ISA describes them for `mma.m16n8k16` and `ldmatrix`.
// BFLOAT is 1 where halves are bf16 and 0 where they are f16.

typedef unsigned short Half;
struct uint4 {
    unsigned x, y, z, w;
};

namespace warp {
constexpr unsigned MOST_THREADS = 1024, MOST_COPIES = 64;
alignas(128) unsigned char memory[228 << 10];

// What each thread has to be seen by others.
unsigned words[MOST_THREADS][6];

struct Copy {
    unsigned to;
    const void *from;
    bool is_there;
};
// What each thread has begun to copy: it arrives when that is waited for, no sooner.
Copy copies[MOST_THREADS][MOST_COPIES];
unsigned begun[MOST_THREADS];

static unsigned lane() { return threadIdx.x % 32; }
static const unsigned *of(unsigned lane) { return words[threadIdx.x / 32 * 32 + lane]; }
}  // namespace warp

#define SHARED_MEMORY(name) unsigned char *const name = warp::memory

static unsigned shared_address(const void *at) { return unsigned((const unsigned char *)at - warp::memory); }

static void copy_chunk(unsigned to, const Half *from, bool is_there) { warp::copies[threadIdx.x][warp::begun[threadIdx.x]++] = {to, from, is_there}; }

static void arrive() {
    unsigned &begun = warp::begun[threadIdx.x];
    for (unsigned i = 0; i < begun; ++i) {
        const warp::Copy &copy = warp::copies[threadIdx.x][i];
        unsigned char *to = warp::memory + copy.to;
        for (unsigned byte = 0; byte < 16; ++byte) to[byte] = copy.is_there ? ((const unsigned char *)copy.from)[byte] : 0;
    }
    begun = 0;
}

// The element of a matrix, whose rows' addresses eight lanes have.
static unsigned element(unsigned matrix, unsigned row, unsigned column) {
    return *(const unsigned short *)(warp::memory + warp::of(8 * matrix + row)[0] + 2 * column);
}

static void matrices(unsigned (&to)[4], unsigned at, bool is_transposed = false) {
    warp::words[threadIdx.x][0] = at;
    host_warp_barrier();
    const unsigned row = warp::lane() / 4, column = 2 * (warp::lane() % 4);
    for (unsigned i = 0; i < 4; ++i)
        to[i] = is_transposed ? element(i, column, row) | element(i, column + 1, row) << 16 : element(i, row, column) | element(i, row, column + 1) << 16;
    host_warp_barrier();
}

static void transposed(unsigned (&to)[4], unsigned at) { matrices(to, at, true); }

static float widened(unsigned short half) { return BFLOAT ? f32_of_bf16(half) : f32_of_f16(half); }
static unsigned narrowed(float x) { return BFLOAT ? bf16_of_f32(x) : f16_of_f32(x); }

static void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    unsigned *own = warp::words[threadIdx.x];
    for (unsigned i = 0; i < 4; ++i) own[i] = a[i];
    own[4] = b0, own[5] = b1;
    host_warp_barrier();
    const unsigned g = warp::lane() / 4, t = warp::lane() % 4;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = g + 8 * (i / 2), column = 2 * t + i % 2;
        for (unsigned k = 0; k < 16; ++k) {
            const unsigned left = warp::of(row % 8 * 4 + k % 8 / 2)[row / 8 + k / 8 * 2], right = warp::of(column * 4 + k % 8 / 2)[4 + k / 8];
            sum[i] += widened(left >> k % 2 * 16) * widened(right >> k % 2 * 16);
        }
    }
    host_warp_barrier();
}

static unsigned pair(float first, float second) { return narrowed(first) | narrowed(second) << 16; }

static float exp2_of(float x) { return exp2f(x); }
static float log2_of(float x) { return log2f(x); }

static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
