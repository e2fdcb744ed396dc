// What the threads of a warp do together, and copies to shared memory, as PTX has them; for GPUs from sm_80 on.
//
// Defined before this text: BFLOAT, 1 where halves are bf16 and 0 where they are f16. Tests without a GPU bring these functions themselves.

#ifdef HOST_WARP
#include HOST_WARP
#else

#if BFLOAT
#define HALF "bf16"
#else
#define HALF "f16"
#endif

typedef unsigned short Half;

// The block's dynamic shared memory.
#define SHARED_MEMORY(name) extern __shared__ __align__(128) unsigned char name[]

static __device__ __forceinline__ unsigned shared_address(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }

// Begins to copy 16 bytes, or to write as many zeros.
static __device__ __forceinline__ void copy_chunk(unsigned to, const Half *from, bool is_there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_there ? 16 : 0) : "memory");
}

// Waits until what this thread copies has arrived.
static __device__ __forceinline__ void arrive() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Four matrices of 8 x 8; each eight lanes in turn have the addresses of one's rows.
static __device__ __forceinline__ void matrices(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at) : "memory");
}

static __device__ __forceinline__ void transposed(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}

// sum += a b
static __device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32." HALF "." HALF ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two halves, the first in the lower bits.
static __device__ __forceinline__ unsigned pair(float first, float second) {
    unsigned both;
    asm("cvt.rn." HALF "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}

static __device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ __forceinline__ float log2_of(float x) {
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif
