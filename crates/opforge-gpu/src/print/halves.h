// Halves, which are stored as their bits.
#if __CUDA_ARCH__ >= 800
static inline float f32_of_f16(uint16_t h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static inline uint16_t f16_of_f32(float f) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

static inline uint16_t bf16_of_f32(float f) {
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
#else
static inline float f32_of_f16(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
    if (exponent == 0) return f32_of_bits(sign | bits_of_f32((float)mantissa * 5.9604644775390625e-8f));
    return f32_of_bits(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}

// Rounded to nearest, halves to even.
static inline uint16_t f16_of_f32(float f) {
    const uint32_t bits = bits_of_f32(f), sign = bits >> 16 & 0x8000u, x = bits & 0x7fffffffu, y = x - 0x38000000u;
    if (x > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (x >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
    // Below the normal numbers of f16, in units of its smallest.
    if (x < 0x38800000u) return (uint16_t)(sign | (uint32_t)nearbyintf(f32_of_bits(x) * 16777216.0f));
    return (uint16_t)(sign | (y + 0xfffu + (y >> 13 & 1u)) >> 13);
}

static inline uint16_t bf16_of_f32(float f) {
    const uint32_t bits = bits_of_f32(f);
    return (uint16_t)(f != f ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#endif

static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }
