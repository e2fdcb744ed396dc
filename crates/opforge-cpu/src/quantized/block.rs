//! What every block is when it is read, and what a type says to be read and written.

use opforge_core::f16;

/// The most elements of a block.
pub(super) const MOST: usize = 256;
/// The elements that share a scale, at least.
pub(super) const GROUP: usize = 16;
/// The most groups of a block.
pub(super) const GROUPS: usize = MOST / GROUP;

/// A block that was read: element `i` is `scale * scales[i / 16] * quants[i] - offset * mins[i / 16]`.
pub(super) struct Block {
    pub quants: [i8; MOST],
    pub scales: [i32; GROUPS],
    pub mins: [i32; GROUPS],
    pub scale: f32,
    pub offset: f32,
}

impl Block {
    /// A block whose groups have the factors 1.
    pub fn new() -> Self {
        Block { quants: [0; MOST], scales: [1; GROUPS], mins: [1; GROUPS], scale: 0.0, offset: 0.0 }
    }
}

/// A type with blocks.
pub(super) trait Packing: Send + Sync + 'static {
    /// The elements of a block.
    const LEN: usize;
    /// The bytes of a block.
    const BYTES: usize;
    /// Whether groups have scales of their own; else `scales` stays as it was.
    const SCALED: bool = false;
    /// Whether there is an offset; else `offset` and `mins` stay as they were.
    const OFFSET: bool = false;
    /// Reads a block of [`Self::BYTES`] bytes.
    fn unpack(bytes: &[u8], block: &mut Block);

    /// Writes a block from [`Self::LEN`] values.
    fn pack(values: &[f32], bytes: &mut [u8]);
}

/// The number in half precision at these bytes.
///
/// By bits, since conversions that ask for the processor's instructions at every call cannot be part of a loop: exponent and fraction are moved to the places
/// that they have in f32, where the exponent is too small by 112, or 127 - 15. What has the greatest exponent is infinite or NaN.
#[inline(always)]
pub(super) fn half(bytes: &[u8], at: usize) -> f32 {
    const TWO_TO_112: f32 = f32::from_bits((112 + 127) << 23);
    let bits = u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * TWO_TO_112;
    let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

/// Writes a number in half precision, and gives it as it was rounded.
#[inline(always)]
pub(super) fn put_half(bytes: &mut [u8], at: usize, value: f32) -> f32 {
    let value = f16::from_f32(value);
    bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
    value.to_f32()
}

/// Bytes as signed integers.
#[inline(always)]
pub(super) fn signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: both types are one byte without padding or invalid values, and the slice borrows the same bytes.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}
