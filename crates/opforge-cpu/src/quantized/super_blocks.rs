//! The types with 256 elements in a block, whose groups have scales of their own.

use super::block::{Block, GROUPS, MOST, Packing, half, signed};
use super::fit::{extreme, inverse, nearest, poison};
use super::groups::{Centered, Ranged};

/// 2 bits, `d s q - dmin m`, groups of 16: 16 bytes of s (low) and m (high), 64 bytes, d, dmin.
pub(super) struct Q2K;
/// 3 bits, `d (s - 32) (q - 4)`, groups of 16: 32 bytes of third bits, 64 bytes of low ones, 12 bytes of s, d.
pub(super) struct Q3K;
/// 4 bits, `d s q - dmin m`, groups of 32: d, dmin, 12 bytes of s and m, 128 bytes.
pub(super) struct Q4K;
/// 5 bits, `d s q - dmin m`, groups of 32: d, dmin, 12 bytes of s and m, 32 bytes of fifth bits, 128 bytes.
pub(super) struct Q5K;
/// 6 bits, `d s (q - 32)`, groups of 16: 128 bytes of low bits, 64 of high ones, 16 bytes of s, d.
pub(super) struct Q6K;
/// 8 bits, `d q`: d in f32, 256 bytes, the sums of groups of 16 as 16-bit integers.
pub(super) struct Q8K;

/// Two bits an element: of each 128 elements, byte `l` has elements `l`, `l + 32`, `l + 64` and `l + 96`, from its low bits up.
#[inline(always)]
fn read_pairs(bytes: &[u8], quants: &mut [i8; MOST]) {
    for (bytes, quants) in bytes.chunks_exact(32).zip(quants.chunks_exact_mut(128)) {
        read_pair::<0>(bytes, &mut quants[..32]);
        read_pair::<2>(bytes, &mut quants[32..64]);
        read_pair::<4>(bytes, &mut quants[64..96]);
        read_pair::<6>(bytes, &mut quants[96..]);
    }
}

/// The bits above `SHIFT` others. Vectors of bytes can be shifted by constants alone.
#[inline(always)]
fn read_pair<const SHIFT: u32>(bytes: &[u8], quants: &mut [i8]) {
    quants.iter_mut().zip(bytes).for_each(|(quant, byte)| *quant = (byte >> SHIFT & 3) as i8);
}

#[inline(always)]
fn write_pairs(quants: impl Fn(usize) -> u8, bytes: &mut [u8]) {
    for (i, byte) in bytes[..64].iter_mut().enumerate() {
        let first = i / 32 * 128 + i % 32;
        *byte = (0..4).fold(0, |byte, part| byte | (quants(first + 32 * part) & 3) << (2 * part));
    }
}

/// Four bits an element: of each 64 elements, byte `l` has elements `l` and `l + 32`.
#[inline(always)]
fn read_nibbles(bytes: &[u8], quants: &mut [i8; MOST]) {
    for (bytes, quants) in bytes.chunks_exact(32).zip(quants.chunks_exact_mut(64)) {
        let (low, high) = quants.split_at_mut(32);
        for ((byte, low), high) in bytes.iter().zip(low).zip(high) {
            (*low, *high) = ((byte & 15) as i8, (byte >> 4) as i8);
        }
    }
}

#[inline(always)]
fn write_nibbles(quants: &[u8; MOST], bytes: &mut [u8]) {
    for (i, byte) in bytes[..128].iter_mut().enumerate() {
        let first = i / 32 * 64 + i % 32;
        *byte = (quants[first] & 15) | (quants[first + 32] & 15) << 4;
    }
}

/// Bits of one plane a 32 elements: bit `p` of byte `l` belongs to element `32 p + l`.
#[inline(always)]
fn add_plane(bytes: &[u8], quants: &mut [i8; MOST], value: i8) {
    let mut planes = quants.chunks_exact_mut(32);
    let add = |bit: u8| {
        if let Some(quants) = planes.next() {
            quants.iter_mut().zip(bytes).for_each(|(quant, byte)| *quant += if byte & bit == bit { value } else { 0 });
        }
    };
    // Unlike a loop over the bits, this leaves them constants, and only then are the loops over bytes made of vectors.
    let _: [(); 8] = [1, 2, 4, 8, 16, 32, 64, 128].map(add);
}

#[inline(always)]
fn write_plane(is_set: impl Fn(usize) -> bool, bytes: &mut [u8]) {
    for (l, byte) in bytes[..32].iter_mut().enumerate() {
        *byte = (0..8).fold(0, |byte, plane| byte | u8::from(is_set(32 * plane + l)) << plane);
    }
}

/// Eight scales and eight minima of 6 bits in 12 bytes: the first four of each in bytes 0 to 3 and 4 to 7; of the others the low 4 bits in bytes 8 to 11, and
/// the two above them in the free bits of the first eight bytes.
#[inline(always)]
fn read_six_bits(bytes: &[u8], block: &mut Block) {
    for j in 0..4 {
        let (scale, min, both) = (bytes[j], bytes[j + 4], bytes[j + 8]);
        let late = [(both & 15) | (scale >> 6) << 4, (both >> 4) | (min >> 6) << 4];
        for half in 0..2 {
            block.scales[2 * j + half] = (scale & 63).into();
            block.mins[2 * j + half] = (min & 63).into();
            block.scales[2 * j + half + 8] = late[0].into();
            block.mins[2 * j + half + 8] = late[1].into();
        }
    }
}

fn write_six_bits(scales: &[u8], mins: &[u8], bytes: &mut [u8]) {
    for j in 0..4 {
        bytes[j] = scales[j] | (scales[j + 4] >> 4) << 6;
        bytes[j + 4] = mins[j] | (mins[j + 4] >> 4) << 6;
        bytes[j + 8] = (scales[j + 4] & 15) | (mins[j + 4] & 15) << 4;
    }
}

impl Packing for Q2K {
    const LEN: usize = MOST;
    const BYTES: usize = 84;
    const SCALED: bool = true;
    const OFFSET: bool = true;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        (block.scale, block.offset) = (half(bytes, 80), half(bytes, 82));
        for (g, byte) in bytes[..GROUPS].iter().enumerate() {
            (block.scales[g], block.mins[g]) = ((byte & 15).into(), (byte >> 4).into());
        }
        read_pairs(&bytes[16..80], &mut block.quants);
    }

    fn pack(values: &[f32], bytes: &mut [u8]) {
        let groups = Ranged::new::<16>(values, 3.0, 15.0);
        for (byte, (scale, min)) in bytes.iter_mut().zip(groups.scales.iter().zip(&groups.mins)) {
            *byte = scale | min << 4;
        }
        write_pairs(|i| groups.quants[i], &mut bytes[16..]);
        bytes[80..82].copy_from_slice(&groups.d.to_le_bytes());
        bytes[82..84].copy_from_slice(&groups.dmin.to_le_bytes());
    }
}

impl Packing for Q3K {
    const LEN: usize = MOST;
    const BYTES: usize = 110;
    const SCALED: bool = true;

    /// Scale `g` has its low 4 bits in byte `g % 8` of 12, and the two above them in byte `8 + g % 4`.
    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = half(bytes, 108);
        let packed = &bytes[96..108];
        for (g, scale) in block.scales.iter_mut().enumerate() {
            let (low, high) = (packed[g % 8] >> (4 * (g / 8)) & 15, packed[8 + g % 4] >> (2 * (g / 4)) & 3);
            *scale = i32::from(low | high << 4) - 32;
        }
        read_pairs(&bytes[32..96], &mut block.quants);
        add_plane(&bytes[..32], &mut block.quants, 4);
        block.quants.iter_mut().for_each(|quant| *quant -= 4);
    }

    fn pack(values: &[f32], bytes: &mut [u8]) {
        let groups = Centered::new(values, 4.0, 32.0);
        write_plane(|i| groups.quants[i] >= 0, bytes);
        write_pairs(|i| (groups.quants[i] + 4) as u8, &mut bytes[32..]);
        let packed = &mut bytes[96..108];
        packed.fill(0);
        for (g, scale) in groups.scales.iter().enumerate() {
            let scale = (scale + 32) as u8;
            packed[g % 8] |= (scale & 15) << (4 * (g / 8));
            packed[8 + g % 4] |= (scale >> 4) << (2 * (g / 4));
        }
        bytes[108..110].copy_from_slice(&groups.d.to_le_bytes());
    }
}

impl Packing for Q4K {
    const LEN: usize = MOST;
    const BYTES: usize = 144;
    const SCALED: bool = true;
    const OFFSET: bool = true;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        (block.scale, block.offset) = (half(bytes, 0), half(bytes, 2));
        read_six_bits(&bytes[4..16], block);
        read_nibbles(&bytes[16..144], &mut block.quants);
    }

    fn pack(values: &[f32], bytes: &mut [u8]) {
        let groups = Ranged::new::<32>(values, 15.0, 63.0);
        bytes[..2].copy_from_slice(&groups.d.to_le_bytes());
        bytes[2..4].copy_from_slice(&groups.dmin.to_le_bytes());
        write_six_bits(&groups.scales, &groups.mins, &mut bytes[4..]);
        write_nibbles(&groups.quants, &mut bytes[16..]);
    }
}

impl Packing for Q5K {
    const LEN: usize = MOST;
    const BYTES: usize = 176;
    const SCALED: bool = true;
    const OFFSET: bool = true;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        (block.scale, block.offset) = (half(bytes, 0), half(bytes, 2));
        read_six_bits(&bytes[4..16], block);
        read_nibbles(&bytes[48..176], &mut block.quants);
        add_plane(&bytes[16..48], &mut block.quants, 16);
    }

    fn pack(values: &[f32], bytes: &mut [u8]) {
        let groups = Ranged::new::<32>(values, 31.0, 63.0);
        bytes[..2].copy_from_slice(&groups.d.to_le_bytes());
        bytes[2..4].copy_from_slice(&groups.dmin.to_le_bytes());
        write_six_bits(&groups.scales, &groups.mins, &mut bytes[4..]);
        write_plane(|i| groups.quants[i] >= 16, &mut bytes[16..]);
        write_nibbles(&groups.quants, &mut bytes[48..]);
    }
}

impl Packing for Q6K {
    const LEN: usize = MOST;
    const BYTES: usize = 210;
    const SCALED: bool = true;

    /// Of each 128 elements, the low 4 bits of elements `l` and `l + 64` are in byte `l` of 64, their high bits as [`read_pairs`] has them.
    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = half(bytes, 208);
        for (scale, &byte) in block.scales.iter_mut().zip(signed(&bytes[192..208])) {
            *scale = byte.into();
        }
        read_pairs(&bytes[128..192], &mut block.quants);
        for (bytes, quants) in bytes[..128].chunks_exact(64).zip(block.quants.chunks_exact_mut(128)) {
            let (low, high) = quants.split_at_mut(64);
            for ((byte, low), high) in bytes.iter().zip(low).zip(high) {
                (*low, *high) = ((byte & 15) as i8 + (*low << 4) - 32, (byte >> 4) as i8 + (*high << 4) - 32);
            }
        }
    }

    fn pack(values: &[f32], bytes: &mut [u8]) {
        let groups = Centered::new(values, 32.0, 128.0);
        let quants = groups.quants.map(|quant| (quant + 32) as u8);
        for (i, byte) in bytes[..128].iter_mut().enumerate() {
            let first = i / 64 * 128 + i % 64;
            *byte = (quants[first] & 15) | (quants[first + 64] & 15) << 4;
        }
        write_pairs(|i| quants[i] >> 4, &mut bytes[128..]);
        for (byte, scale) in bytes[192..208].iter_mut().zip(groups.scales) {
            *byte = scale as u8;
        }
        bytes[208..210].copy_from_slice(&groups.d.to_le_bytes());
    }
}

impl Packing for Q8K {
    const LEN: usize = MOST;
    const BYTES: usize = 292;

    #[inline(always)]
    fn unpack(bytes: &[u8], block: &mut Block) {
        block.scale = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        block.quants.copy_from_slice(signed(&bytes[4..260]));
    }

    /// The value of the greatest magnitude becomes -127.
    #[inline(always)]
    fn pack(values: &[f32], bytes: &mut [u8]) {
        let d = extreme(values) / -127.0 + poison(values);
        let inverse = inverse(d);
        bytes[..4].copy_from_slice(&d.to_le_bytes());
        for (byte, value) in bytes[4..260].iter_mut().zip(values) {
            *byte = nearest(value * inverse, -127.0, 127.0) as i8 as u8;
        }
        for g in 0..GROUPS {
            let sum: i16 = signed(&bytes[4..260])[16 * g..][..16].iter().map(|&quant| i16::from(quant)).sum();
            bytes[260 + 2 * g..][..2].copy_from_slice(&sum.to_le_bytes());
        }
    }
}
