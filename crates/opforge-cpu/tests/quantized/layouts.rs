//! Where each element of a block is, read one by one and in f64 from the documentation of ggml's types.

use opforge_core::f16;
use opforge_cpu::quantized::GgmlDType;

fn half(bytes: &[u8], at: usize) -> f64 {
    f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64()
}

/// Bits `first..first + count` of a byte.
fn bits(byte: u8, first: usize, count: usize) -> f64 {
    f64::from(u32::from(byte) >> first & ((1 << count) - 1))
}

/// Scale or minimum `j` of eight in 12 bytes of six-bit numbers.
fn six_bits(bytes: &[u8], j: usize, min: bool) -> f64 {
    let own = if min { 4 } else { 0 };
    if j < 4 {
        return bits(bytes[j + own], 0, 6);
    }
    bits(bytes[j + 4], own, 4) + 16.0 * bits(bytes[j - 4 + own], 6, 2)
}

/// Element `i` of a block.
pub fn element(dtype: GgmlDType, b: &[u8], i: usize) -> f64 {
    let nibble = |at: usize| bits(b[at + i % 16], 4 * (i / 16), 4);
    let fifth = |at: usize| 16.0 * bits(b[at + i / 8], i % 8, 1);
    // In blocks of 256.
    let (part, line) = (i / 128, i % 32);
    let pair = |at: usize| bits(b[at + 32 * part + line], i % 128 / 32 * 2, 2);
    let wide_nibble = |at: usize| bits(b[at + i / 64 * 32 + line], i % 64 / 32 * 4, 4);
    let plane = |at: usize| bits(b[at + line], i / 32, 1);
    match dtype {
        GgmlDType::Q4_0 => half(b, 0) * (nibble(2) - 8.0),
        GgmlDType::Q4_1 => half(b, 0) * nibble(4) + half(b, 2),
        GgmlDType::Q5_0 => half(b, 0) * (nibble(6) + fifth(2) - 16.0),
        GgmlDType::Q5_1 => half(b, 0) * (nibble(8) + fifth(4)) + half(b, 2),
        GgmlDType::Q8_0 => half(b, 0) * f64::from(b[2 + i] as i8),
        GgmlDType::Q8_1 => half(b, 0) * f64::from(b[4 + i] as i8),
        GgmlDType::Q2K => {
            let both = b[i / 16];
            half(b, 80) * bits(both, 0, 4) * pair(16) - half(b, 82) * bits(both, 4, 4)
        }
        GgmlDType::Q3K => {
            let (g, packed) = (i / 16, &b[96..108]);
            let scale = bits(packed[g % 8], g / 8 * 4, 4) + 16.0 * bits(packed[8 + g % 4], g / 4 * 2, 2) - 32.0;
            half(b, 108) * scale * (pair(32) + 4.0 * plane(0) - 4.0)
        }
        GgmlDType::Q4K => {
            let (scale, min) = (six_bits(&b[4..16], i / 32, false), six_bits(&b[4..16], i / 32, true));
            half(b, 0) * scale * wide_nibble(16) - half(b, 2) * min
        }
        GgmlDType::Q5K => {
            let (scale, min) = (six_bits(&b[4..16], i / 32, false), six_bits(&b[4..16], i / 32, true));
            half(b, 0) * scale * (wide_nibble(48) + 16.0 * plane(16)) - half(b, 2) * min
        }
        GgmlDType::Q6K => {
            let low = bits(b[64 * part + i % 64], i % 128 / 64 * 4, 4);
            half(b, 208) * f64::from(b[192 + i / 16] as i8) * (low + 16.0 * pair(128) - 32.0)
        }
        GgmlDType::Q8K => f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])) * f64::from(b[4 + i] as i8),
        GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => unreachable!("floats have no blocks"),
    }
}
