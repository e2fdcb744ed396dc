float gelu(float x) {
    const float t1 = fabsf(x);
    const float t2 = 16.0f < t1 ? 16.0f : t1;
    const float t3 = t2 < 0.0f ? 0.0f : t2;
    const float t4 = t3 * t3 * -0.5f;
    const float t5 = fmaf(t4, 1.442695f, 12582912.0f) - 12582912.0f;
    const float t6 = fmaf(t5, 0.00021219444f, fmaf(t5, -0.6933594f, t4));
    const float t7 = fmaf(fmaf(fmaf(0.00019875691f, t6, 0.0013981999f), t6, 0.008333452f), t6, 0.041665796f);
    const uint32_t t8 = bits_of_f32(t5 + 12582912.0f) - 0x4b400000u + 254u;
    const uint32_t t9 = t8 >> 1;
    const float t10 = (fmaf(fmaf(fmaf(t7, t6, 0.16666666f), t6, 0.5f), t6 * t6, t6) + 1.0f) * f32_of_bits(t9 << 23);
    const float t11 = fmaf(fmaf(fmaf(0.0029540306f, t3, 0.032473158f), t3, 0.15842411f), t3, 0.40374303f);
    const float t12 = fmaf(fmaf(fmaf(0.007404093f, t3, 0.081421584f), t3, 0.40410042f), t3, 1.0977484f);
    const float t13 = t10 * f32_of_bits((t8 - t9) << 23) * fmaf(t11, t3, 0.5f) / fmaf(fmaf(t12, t3, 1.6053706f), t3, 1.0f);
    return fmaf(x, 0.5f, t1 * 0.5f) - t3 * t13;
}
