//! Sine and cosine of large arguments in WGSL, which has no f64.

/// `sin_f64` or `cos_f64`, of numbers beyond 1e5: others have better ways. The polynomials are fdlibm's.
pub(super) fn wave(name: &str, cosine: bool) -> String {
    let turned = if cosine { " + 1u" } else { "" };
    format!(
        "fn {name}(x: f64) -> f64 {{
    var quarter = 0u;
    let r = reduced_f64(x, &quarter);
    let z = r * r;
    let s = 1.58969099521155010221e-10lf * z - 2.50507602534068634195e-08lf;
    let sine = r + r * z * ((((s * z + 2.75573137070700676789e-06lf) * z - 1.98412698298579493134e-04lf) * z + 8.33333333332248946124e-03lf) * z - 1.66666666666666324348e-01lf);
    let c = 2.08757232129817482790e-09lf - 1.13596475577881948265e-11lf * z;
    let cosine = 1.0lf - 0.5lf * z + z * z * ((((c * z - 2.75573143513906633035e-07lf) * z + 2.48015872894767294178e-05lf) * z - 1.38888888888741095749e-03lf) * z + 4.16666666666666019037e-02lf);
    let turn = quarter{turned};
    let y = select(sine, cosine, (turn & 1u) == 1u);
    return select(y, -y, (turn & 2u) == 2u);
}}
"
    )
}

/// What is left of a number beyond 1e5 when whole quarter turns, counted by `quarter`, are taken away: exact to the last bit, by multiplying the mantissa with
/// those words of 2 / pi that matter (Payne and Hanek, 1983).
pub(super) const REDUCED: &str = "var<private> two_over_pi: array<u32, 42> = array<u32, 42>(
    0x0u, 0x0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x6492eeau, 0x9d1921cu,
    0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u,
    0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu,
    0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u,
    0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du
);
fn reduced_f64(x: f64, quarter: ptr<function, u32>) -> f64 {
    let bits = bitcast<u64>(x);
    let exponent = i32(u32(bits >> 52u) & 0x7ffu) - 1075 + 64;
    // Smaller ones are nobody's business here; infinity and NaN give NaN.
    if (exponent < 2) { return x; }
    // A compiler may take a number less itself for 0.
    if (exponent > 1030) { return bitcast<f64>(bits | 0x7ff8000000000000lu); }
    let mantissa = array<u32, 2>(u32(bits), (u32(bits >> 32u) & 0xfffffu) | 0x100000u);
    let first = u32(exponent - 2) / 32u;
    var words: array<u32, 10>;
    for (var i = 0u; i < 7u; i += 1u) {
        let word = u64(two_over_pi[first + 6u - i]);
        let low = word * u64(mantissa[0]) + u64(words[i]);
        words[i] = u32(low);
        let high = word * u64(mantissa[1]) + (low >> 32u) + u64(words[i + 1u]);
        words[i + 1u] = u32(high);
        words[i + 2u] = u32(high >> 32u);
    }
    // So many bits of the fraction are whole quarters, and two more tell which.
    for (var turn = 0u; turn < 2u; turn += 1u) {
        let count = select(2u, u32(exponent - 2) % 32u, turn == 0u);
        for (var i = 8u; i > 0u; i -= 1u) {
            words[i] = u32(((u64(words[i]) << 32u) | u64(words[i - 1u])) >> (32u - count));
        }
        words[0] = words[0] << count;
    }
    var quarters = words[7];
    let above = words[6] >= 0x80000000u;
    var sign = 1.0lf;
    if (above) {
        quarters += 1u;
        sign = -1.0lf;
        for (var i = 0u; i < 7u; i += 1u) { words[i] = ~words[i]; }
    }
    let part = ((f64(words[3]) * 2.3283064365386963e-10lf + f64(words[4])) * 2.3283064365386963e-10lf + f64(words[5])) * 2.3283064365386963e-10lf;
    let r = sign * (part + f64(words[6])) * 2.3283064365386963e-10lf * 1.5707963267948966lf;
    if (x < 0.0lf) {
        *quarter = 0u - quarters;
        return -r;
    }
    *quarter = quarters;
    return r;
}
";
