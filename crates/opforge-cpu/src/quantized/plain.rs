//! The types with 32 elements in a block, which share one scale and at most one minimum.
//!
//! Integers are found with the scale as it is in f32, before it is rounded to the half precision in which blocks hold it: so do ggml and candle, whose
//! bytes these are.
//!
//! Halves of a block share bytes: element `j` is in the low bits of byte `j`, element `j + 16` in its high bits. The fifth bits are a number of 32 bits.

use super::block::{Block, Packing, half, put_half, signed};
use super::fit::{extreme, inverse, lower, nearest_outward, poison, range};
use opforge_core::f16;

const LEN: usize = 32;
const HALF: usize = LEN / 2;

/// 4 bits, `d (q - 8)`: d, 16 bytes.
pub(super) struct Q4_0;
/// 4 bits, `d q + m`: d, m, 16 bytes.
pub(super) struct Q4_1;
/// 5 bits, `d (q - 16)`: d, 4 bytes of fifth bits, 16 bytes.
pub(super) struct Q5_0;
/// 5 bits, `d q + m`: d, m, 4 bytes of fifth bits, 16 bytes.
pub(super) struct Q5_1;
/// 8 bits, `d q`: d, 32 bytes.
pub(super) struct Q8_0;
/// 8 bits, `d q`: d, `d` times the sum of q, 32 bytes.
pub(super) struct Q8_1;

#[inline(always)]
fn read_nibbles(bytes: &[u8], quants: &mut [i8], less: i8) {
    let (low, high) = quants[..LEN].split_at_mut(HALF);
    for ((&byte, low), high) in bytes[..HALF].iter().zip(low).zip(high) {
        (*low, *high) = ((byte & 15) as i8 - less, (byte >> 4) as i8 - less);
    }
}

#[inline(always)]
fn write_nibbles(quants: &[u8; LEN], bytes: &mut [u8]) {
    let (low, high) = quants.split_at(HALF);
    for ((byte, low), high) in bytes[..HALF].iter_mut().zip(low).zip(high) {
        *byte = (low & 15) | (high & 15) << 4;
    }
}

#[inline(always)]
fn add_fifth_bits(bytes: &[u8], quants: &mut [i8]) {
    let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    for (j, quant) in quants[..LEN].iter_mut().enumerate() {
        *quant += ((bits >> j & 1) << 4) as i8;
    }
}

#[inline(always)]
fn write_fifth_bits(quants: &[u8; LEN], bytes: &mut [u8]) {
    let bits = quants.iter().enumerate().fold(0u32, |bits, (j, &quant)| bits | u32::from(quant >> 4) << j);
    bytes[..4].copy_from_slice(&bits.to_le_bytes());
}

/// Integers `0..=steps` for values divided by a scale after `add` was added; the upper one of two that are equally near.
#[inline(always)]
fn rounded(values: &[f32], add: f32, inverse: f32, middle: f32, steps: f32) -> [u8; LEN] {
    std::array::from_fn(|j| lower((values[j] + add) * inverse + (middle + 0.5), 0.0, steps) as u8)
}

/// Writes a number of the block `values` in half precision: NaN where one of them is not finite.
#[inline(always)]
fn put(bytes: &mut [u8], at: usize, number: f32, values: &[f32]) -> f32 {
    // Not the sum of both, which has another sign where the number is -0.
    put_half(bytes, at, if poison(values) == 0.0 { number } else { f32::NAN })
}

/// The scale of a type whose integers are `-limit..limit`, written, and the integers.
#[inline(always)]
fn centered(values: &[f32], limit: f32, bytes: &mut [u8]) -> [u8; LEN] {
    let d = extreme(values) / -limit;
    put(bytes, 0, d, values);
    rounded(values, 0.0, inverse(d), limit, 2.0 * limit - 1.0)
}

/// The scale and the minimum of a type whose integers are `0..=steps`, written, and the integers.
#[inline(always)]
fn ranged(values: &[f32], steps: f32, bytes: &mut [u8]) -> [u8; LEN] {
    let (low, high) = range(values);
    let d = (high - low) / steps;
    put(bytes, 2, low, values);
    put(bytes, 0, d, values);
    rounded(values, -low, inverse(d), 0.0, steps)
}

/// Writes `d` and 32 signed integers from byte `at` on; gives `d` as it was written.
#[inline(always)]
fn write_bytes(values: &[f32], bytes: &mut [u8], at: usize) -> f32 {
    let most = values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
    let d = most / 127.0;
    let inverse = inverse(d);
    for (byte, value) in bytes[at..at + LEN].iter_mut().zip(values) {
        *byte = nearest_outward(value * inverse, -127.0, 127.0) as i8 as u8;
    }
    put(bytes, 0, d, values)
}

impl Packing for Q4_0 {
    const LEN: usize = LEN;
    const BYTES: usize = 18;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = half(bytes, 0);
        read_nibbles(&bytes[2..], &mut block.quants, 8);
    }

    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        let quants = centered(values, 8.0, bytes);
        write_nibbles(&quants, &mut bytes[2..]);
    }
}

impl Packing for Q4_1 {
    const LEN: usize = LEN;
    const BYTES: usize = 20;
    const OFFSET: bool = true;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        (block.scale, block.offset) = (half(bytes, 0), -half(bytes, 2));
        read_nibbles(&bytes[4..], &mut block.quants, 0);
    }

    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        let quants = ranged(values, 15.0, bytes);
        write_nibbles(&quants, &mut bytes[4..]);
    }
}

impl Packing for Q5_0 {
    const LEN: usize = LEN;
    const BYTES: usize = 22;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = half(bytes, 0);
        read_nibbles(&bytes[6..], &mut block.quants, 16);
        add_fifth_bits(&bytes[2..], &mut block.quants);
    }

    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        let quants = centered(values, 16.0, bytes);
        write_fifth_bits(&quants, &mut bytes[2..]);
        write_nibbles(&quants, &mut bytes[6..]);
    }
}

impl Packing for Q5_1 {
    const LEN: usize = LEN;
    const BYTES: usize = 24;
    const OFFSET: bool = true;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        (block.scale, block.offset) = (half(bytes, 0), -half(bytes, 2));
        read_nibbles(&bytes[8..], &mut block.quants, 0);
        add_fifth_bits(&bytes[4..], &mut block.quants);
    }

    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        let quants = ranged(values, 31.0, bytes);
        write_fifth_bits(&quants, &mut bytes[4..]);
        write_nibbles(&quants, &mut bytes[8..]);
    }
}

impl Packing for Q8_0 {
    const LEN: usize = LEN;
    const BYTES: usize = 34;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = half(bytes, 0);
        block.quants[..LEN].copy_from_slice(signed(&bytes[2..2 + LEN]));
    }

    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        write_bytes(values, bytes, 2);
    }
}

impl Packing for Q8_1 {
    const LEN: usize = LEN;
    const BYTES: usize = 36;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = half(bytes, 0);
        block.quants[..LEN].copy_from_slice(signed(&bytes[4..4 + LEN]));
    }

    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        let d = write_bytes(values, bytes, 4);
        let sum: i32 = signed(&bytes[4..4 + LEN]).iter().map(|&quant| i32::from(quant)).sum();
        // The sum of 32 integers may need more bits than half precision has.
        put_half(bytes, 2, d * f16::from_f32(sum as f32).to_f32());
    }
}
