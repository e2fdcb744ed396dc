// What functions printed from tile functions call.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Integers of type T wrap; they are computed in U, which is unsigned and at least as wide. A divisor of 0 gives 0.
#define OPFORGE_INT(T, t, U)                                                                          \
    static inline T neg_##t(T a) { return (T)((U)0 - (U)a); }                                         \
    static inline T add_##t(T a, T b) { return (T)((U)a + (U)b); }                                    \
    static inline T sub_##t(T a, T b) { return (T)((U)a - (U)b); }                                    \
    static inline T mul_##t(T a, T b) { return (T)((U)a * (U)b); }                                    \
    static inline bool minus_one_##t(T a) { return (T)-1 < 0 && a == (T)-1; }                         \
    static inline T div_##t(T a, T b) { return b == 0 ? 0 : minus_one_##t(b) ? neg_##t(a) : (T)(a / b); } \
    static inline T rem_##t(T a, T b) { return b == 0 || minus_one_##t(b) ? 0 : (T)(a % b); }         \
    static inline T shl_##t(T a, T n) { return (uint64_t)n < 8 * sizeof(T) ? (T)((U)a << n) : 0; }    \
    static inline T shr_##t(T a, T n) {                                                               \
        return (uint64_t)n < 8 * sizeof(T) ? (T)(a >> n) : (T)(a >> (8 * sizeof(T) - 1) >> 1);        \
    }                                                                                                 \
    static inline T pow_##t(T a, T n) {                                                               \
        U power = 1, square = (U)a;                                                                   \
        for (U left = (U)n; left; left >>= 1, square *= square)                                       \
            if (left & 1) power *= square;                                                            \
        return (T)power;                                                                              \
    }                                                                                                 \
    static inline T gcd_##t(T a, T b) {                                                               \
        while (b != 0) {                                                                              \
            const T left = rem_##t(a, b);                                                             \
            a = b;                                                                                    \
            b = left;                                                                                 \
        }                                                                                             \
        return a < 0 ? neg_##t(a) : a;                                                                \
    }
OPFORGE_INT(uint8_t, u8, uint32_t)
OPFORGE_INT(uint16_t, u16, uint32_t)
OPFORGE_INT(uint32_t, u32, uint32_t)
OPFORGE_INT(uint64_t, u64, uint64_t)
OPFORGE_INT(int8_t, i8, uint32_t)
OPFORGE_INT(int16_t, i16, uint32_t)
OPFORGE_INT(int32_t, i32, uint32_t)
OPFORGE_INT(int64_t, i64, uint64_t)

// From floats: NaN gives 0, and what is too large the type's limit. `end` is the first number beyond.
#define OPFORGE_SATURATE(T, t, F, f, least, greatest, end)            \
    static inline T t##_of_##f(F x) {                                 \
        if (x != x) return 0;                                         \
        return x <= (F)least ? least : x >= (F)end ? greatest : (T)x; \
    }
#define OPFORGE_SATURATE_BOTH(T, t, least, greatest, end)         \
    OPFORGE_SATURATE(T, t, float, f32, least, greatest, end)      \
    OPFORGE_SATURATE(T, t, double, f64, least, greatest, end)
OPFORGE_SATURATE_BOTH(uint8_t, u8, 0, UINT8_MAX, 256.0)
OPFORGE_SATURATE_BOTH(uint16_t, u16, 0, UINT16_MAX, 65536.0)
OPFORGE_SATURATE_BOTH(uint32_t, u32, 0, UINT32_MAX, 4294967296.0)
OPFORGE_SATURATE_BOTH(uint64_t, u64, 0, UINT64_MAX, 18446744073709551616.0)
OPFORGE_SATURATE_BOTH(int8_t, i8, INT8_MIN, INT8_MAX, 128.0)
OPFORGE_SATURATE_BOTH(int16_t, i16, INT16_MIN, INT16_MAX, 32768.0)
OPFORGE_SATURATE_BOTH(int32_t, i32, INT32_MIN, INT32_MAX, 2147483648.0)
OPFORGE_SATURATE_BOTH(int64_t, i64, INT64_MIN, INT64_MAX, 9223372036854775808.0)

// NaN if either is NaN.
#define OPFORGE_FLOAT(F, f, U)                                                                \
    static inline F min_##f(F a, F b) { return a < b || a != a ? a : b; }                     \
    static inline F max_##f(F a, F b) { return a > b || a != a ? a : b; }                     \
    static inline U bits_of_##f(F x) { U bits; memcpy(&bits, &x, sizeof x); return bits; }    \
    static inline F f##_of_bits(U bits) { F x; memcpy(&x, &bits, sizeof x); return x; }
OPFORGE_FLOAT(float, f32, uint32_t)
OPFORGE_FLOAT(double, f64, uint64_t)
