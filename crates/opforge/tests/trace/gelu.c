float gelu(float x) {
    const float t1 = fabsf(x);
    const float t2 = 16.0f < t1 ? 16.0f : t1;
    const float t3 = t2 < 0.0f ? 0.0f : t2;
    const float t4 = t3 * t3 * -0.7213475f;
    const float t5 = nearbyintf(t4);
    const float t6 = t4 - t5;
    const float t7 = fmaf(fmaf(fmaf(0.00015353362f, t6, 0.0013398875f), t6, 0.009618437f), t6, 0.055503324f);
    const uint32_t t8 = bits_of_f32(t5 + 12582912.0f) - 0x4b400000u + 254u;
    const uint32_t t9 = t8 >> 1;
    const float t10 = fmaf(fmaf(fmaf(t7, t6, 0.24022648f), t6, 0.6931472f), t6, 1.0f) * f32_of_bits(t9 << 23);
    const float t11 = fmaf(fmaf(fmaf(0.012045881f, t3, 0.09721866f), t3, 0.32110637f), t3, 0.5f);
    const float t12 = fmaf(fmaf(fmaf(0.03022002f, t3, 0.24296717f), t3, 0.84347486f), t3, 1.4400969f);
    const float t13 = fmaf(x, 0.5f, t1 * 0.5f) - t3 * (t10 * f32_of_bits((t8 - t9) << 23) * t11 / fmaf(t12, t3, 1.0f));
    return t13;
}
