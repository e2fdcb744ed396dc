// CUDA C as the host's compiler takes it: what stands before a kernel's own prelude, which declares the types. No headers: they have other ones.
extern "C" {
double fmod(double, double); double sin(double); double cos(double);
double pow(double, double); double sqrt(double); double fabs(double); double fma(double, double, double); double nearbyint(double);
double floor(double); double ceil(double); double trunc(double); double copysign(double, double); double exp(double); double log(double);
float fmaf(float, float, float); float sqrtf(float); float fabsf(float); float nearbyintf(float); float floorf(float); float ceilf(float);
float truncf(float); float copysignf(float, float); float fmodf(float, float); float fmaxf(float, float); float exp2f(float); float log2f(float);
void *memcpy(void *, const void *, unsigned long);
// What CUDA has beyond the C library: the driver sets it.
void (*host_barrier)(), (*host_warp_barrier)();
struct Dimension { unsigned x; } threadIdx, blockIdx, blockDim, gridDim;
}
#define __syncthreads host_barrier
#define __syncwarp host_warp_barrier
#define __device__
#define __global__
#define __forceinline__
#define __launch_bounds__(...)
#define __shared__ static
// What stands for the instructions of a warp.
#define HOST_WARP "warp.h"

static inline float __int_as_float(int bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

// What the lane of the warp has whose number differs in these bits.
template <class T> static T __shfl_xor_sync(unsigned, T x, unsigned bits) {
    static T words[1024];
    words[threadIdx.x] = x;
    host_warp_barrier();
    const T found = words[threadIdx.x ^ bits];
    host_warp_barrier();
    return found;
}

static inline float __fdividef(float a, float b) { return a / b; }

static inline unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value) {
    const unsigned found = *at;
    if (found == expected) *at = value;
    return found;
}
