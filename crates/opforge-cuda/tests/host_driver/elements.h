// Elements of tensors in the host's memory, for the libraries that stand for NVIDIA's.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

namespace {

// Addresses are not the host's: who follows one on the host fails.
constexpr uint64_t BEYOND = uint64_t(1) << 62;

[[maybe_unused]] void *host(uint64_t at) { return reinterpret_cast<void *>(at - BEYOND); }

[[maybe_unused]] double of_half(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY) : ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
    return half >> 15 ? -size : size;
}

[[maybe_unused]] uint16_t to_half(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (value != value) return 0x7e00;
    if (value == 0) return sign;
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

    Elements from(int64_t i) const { return {static_cast<const char *>(at) + i * (kind == 0 ? 4 : kind == 1 ? 8 : 2), kind}; }

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

// A float with a fraction of 10 bits, to the nearest, as TF32 has it.
[[maybe_unused]] double to_tf32(double value) {
    const float single = value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
    float rounded;
    memcpy(&rounded, &bits, 4);
    return rounded;
}

// A factor as the host has it: of products of doubles a double, else a float.
[[maybe_unused]] double factor(const void *at, int kind) { return kind == 1 ? *static_cast<const double *>(at) : *static_cast<const float *>(at); }

}  // namespace
