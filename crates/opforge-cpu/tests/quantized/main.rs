//! Quantized blocks beside naive f64: what they hold, what is lost in them, and products with them on every instruction set.

mod layouts;

use layouts::element;
use opforge_core::{DType, Meta, Result, f16};
use opforge_cpu::quantized::{self, GgmlDType};
use opforge_cpu::simd::{Isa, with_isa};

fn quantized_types() -> impl Iterator<Item = GgmlDType> {
    GgmlDType::ALL.into_iter().filter(|dtype| dtype.float().is_none())
}

/// Reproducible numbers, 0 to 1.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
    /// About normally distributed.
    fn normal(&mut self) -> f32 {
        ((0..12).map(|_| self.unit()).sum::<f64>() - 6.0) as f32
    }
    fn normals(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.normal()).collect()
    }
}

fn pack(dtype: GgmlDType, values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0xa5; dtype.bytes_of("test", values.len()).unwrap()];
    let metas = [Meta::contiguous(DType::F32, values.len()), Meta::contiguous(DType::U8, bytes.len())];
    let kernel = quantized::pack("test", dtype, &metas[0], &metas[1]).unwrap();
    // SAFETY: the slices are as long as the metas say.
    unsafe { kernel.run(&[values.as_ptr().cast()], &[bytes.as_mut_ptr()]) }.unwrap();
    bytes
}

fn unpack(dtype: GgmlDType, bytes: &[u8]) -> Vec<f32> {
    let mut values = vec![f32::NAN; bytes.len() / dtype.type_size() * dtype.block_size()];
    let metas = [Meta::contiguous(DType::U8, bytes.len()), Meta::contiguous(DType::F32, values.len())];
    let kernel = quantized::unpack("test", dtype, &metas[0], &metas[1]).unwrap();
    // SAFETY: the slices are as long as the metas say.
    unsafe { kernel.run(&[bytes.as_ptr()], &[values.as_mut_ptr().cast()]) }.unwrap();
    values
}

fn linear(dtype: GgmlDType, [m, n, k]: [usize; 3], x: &[f32], w: &[u8]) -> Vec<f32> {
    let mut y = vec![f32::NAN; m * n];
    let of = |dtype, len: usize| Meta::contiguous(dtype, len);
    let metas = [of(DType::F32, x.len()), of(DType::U8, w.len()), of(DType::F32, y.len())];
    let kernel = quantized::linear("test", dtype, [m, n, k], [&metas[0], &metas[1]], &metas[2]).unwrap();
    // SAFETY: the slices are as long as the metas say.
    unsafe { kernel.run(&[x.as_ptr().cast(), w.as_ptr()], &[y.as_mut_ptr().cast()]) }.unwrap();
    y
}

/// Numbers that rounding to 8 bits leaves as they are: in each block, multiples up to 127 of a power of two.
fn round_numbers(dtype: GgmlDType, count: usize, random: &mut Random) -> Vec<f32> {
    let block = |_| {
        let len = dtype.block_size();
        let step = ((random.unit() * 8.0).floor() as f32 - 4.0).exp2();
        let mut numbers: Vec<f32> = (0..len).map(|_| (random.unit() * 255.0).floor() as f32 - 127.0).collect();
        numbers[(random.unit() * len as f64) as usize] = if random.unit() < 0.5 { 127.0 } else { -127.0 };
        numbers.into_iter().map(|number| number * step).collect::<Vec<_>>()
    };
    (0..count).flat_map(block).collect()
}

/// Blocks of any bits whose numbers in half precision are finite.
fn any_blocks(dtype: GgmlDType, count: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..count * dtype.type_size()).map(|_| (random.unit() * 256.0) as u8).collect();
    set_scales(dtype, &mut bytes, || random.normal());
    bytes
}

fn set_scales(dtype: GgmlDType, bytes: &mut [u8], mut scale: impl FnMut() -> f32) {
    let halves: &[usize] = match dtype {
        GgmlDType::Q4_0 | GgmlDType::Q5_0 | GgmlDType::Q8_0 => &[0],
        GgmlDType::Q2K => &[80, 82],
        GgmlDType::Q3K => &[108],
        GgmlDType::Q6K => &[208],
        _ => &[0, 2],
    };
    for block in bytes.chunks_exact_mut(dtype.type_size()) {
        for &at in halves {
            block[at..at + 2].copy_from_slice(&f16::from_f32(scale()).to_le_bytes());
        }
        if dtype == GgmlDType::Q8K {
            block[..4].copy_from_slice(&scale().to_le_bytes());
        }
    }
}

#[test]
fn sizes() {
    let sizes: Vec<(usize, usize)> = GgmlDType::ALL.iter().map(|d| (d.block_size(), d.type_size())).collect();
    let floats = [(1, 4), (1, 2), (1, 2)];
    let plain = [(32, 18), (32, 20), (32, 22), (32, 24), (32, 34), (32, 36)];
    let large = [(256, 84), (256, 110), (256, 144), (256, 176), (256, 210), (256, 292)];
    assert_eq!(sizes, [&floats[..], &plain, &large].concat());
}

#[test]
fn blocks_hold_what_the_documentation_says() {
    let mut random = Random(1);
    for dtype in quantized_types() {
        let bytes = any_blocks(dtype, 40, &mut random);
        for isa in Isa::supported() {
            let values = with_isa(isa, || unpack(dtype, &bytes));
            for (i, value) in values.into_iter().enumerate() {
                let (block, at) = (i / dtype.block_size(), i % dtype.block_size());
                let expected = element(dtype, &bytes[block * dtype.type_size()..][..dtype.type_size()], at);
                // Two products and a difference in f32.
                let near = (f64::from(value) - expected).abs() <= 1e-6 * (expected.abs() + 100.0);
                assert!(near, "{dtype:?} on {isa:?}: element {at} of block {block} is {value}, not {expected}");
            }
        }
    }
}

/// The error of normally distributed numbers, relative in the mean of squares. Rounding to steps of width d has d / sqrt(12): of a range of 4.2 (32 numbers) or
/// 3.7 (16) in 2^bits steps, and a little for scales that are rounded themselves.
#[test]
fn what_is_lost() {
    let limits = [
        (GgmlDType::Q4_0, 0.095),
        (GgmlDType::Q4_1, 0.085),
        (GgmlDType::Q5_0, 0.048),
        (GgmlDType::Q5_1, 0.042),
        (GgmlDType::Q8_0, 0.0058),
        (GgmlDType::Q8_1, 0.0058),
        (GgmlDType::Q2K, 0.31),
        (GgmlDType::Q3K, 0.17),
        (GgmlDType::Q4K, 0.082),
        (GgmlDType::Q5K, 0.041),
        (GgmlDType::Q6K, 0.022),
        (GgmlDType::Q8K, 0.0085),
    ];
    let values = Random(2).normals(256 * 64);
    let power: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
    for (dtype, limit) in limits {
        let lost = |got: &[f32]| -> f64 {
            let squares = got.iter().zip(&values).map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
            (squares.sum::<f64>() / power).sqrt()
        };
        let lost = lost(&unpack(dtype, &pack(dtype, &values)));
        assert!(lost < limit && lost > limit / 4.0, "{dtype:?} loses {lost}, expected less than {limit}");
    }
}

#[test]
fn what_blocks_hold_exactly() {
    for dtype in quantized_types() {
        let n = dtype.block_size();
        for isa in Isa::supported() {
            let back = |values: &[f32]| with_isa(isa, || unpack(dtype, &pack(dtype, values)));
            assert!(back(&vec![0.0; 2 * n]).iter().all(|&v| v == 0.0), "{dtype:?}: zeros");
            let large = back(&vec![1e30; n]);
            assert!(
                large.iter().all(|v| !v.is_finite() || (v / 1e30 - 1.0).abs() < 0.01),
                "{dtype:?}: beyond half precision"
            );
            let same = back(&vec![-0.75; n]);
            assert!(same.iter().all(|v| (v + 0.75).abs() < 0.01), "{dtype:?}: one number, {}", same[0]);
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut values = vec![1.0; 2 * n];
                values[n + 3] = bad;
                let got = back(&values);
                assert!(got[..n].iter().all(|v| (v - 1.0).abs() < 0.01), "{dtype:?}: the other block");
                assert!(got[n..].iter().all(|v| v.is_nan()), "{dtype:?}: a block with {bad}");
            }
        }
    }
}

/// Packing what was unpacked loses little more: scales are found again.
#[test]
fn packing_twice() {
    let values = Random(3).normals(512);
    for dtype in quantized_types() {
        let once = unpack(dtype, &pack(dtype, &values));
        let twice = unpack(dtype, &pack(dtype, &once));
        let moved = once.iter().zip(&twice).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let step = once.iter().zip(&values).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(moved <= 2.0 * step, "{dtype:?}: {moved} beside {step}");
    }
}

/// Products are those of the numbers that blocks hold: integers are multiplied exactly, and f32 sums of blocks err by their number.
#[test]
fn products() {
    let mut random = Random(4);
    for dtype in quantized_types() {
        let sizes =
            [[1, 1, 1], [1, 7, 3], [2, 3, 2], [3, 5, 2], [7, 2, 5], [17, 4, 1], [2, 0, 1], [0, 2, 1], [2, 3, 0]];
        for [m, n, blocks] in sizes {
            let k = blocks * dtype.block_size();
            let (xs, w) = (round_numbers(dtype, m * blocks, &mut random), any_blocks(dtype, n * blocks, &mut random));
            let ws = unpack(dtype, &w);
            for isa in Isa::supported() {
                let y = with_isa(isa, || linear(dtype, [m, n, k], &xs, &w));
                for (at, &y) in y.iter().enumerate() {
                    let terms = || {
                        let (row, column) = (at / n * k, at % n * k);
                        (0..k).map(move |i| (row + i, column + i))
                    };
                    let term = |(i, j): (usize, usize)| f64::from(xs[i]) * f64::from(ws[j]);
                    let expected: f64 = terms().map(term).sum();
                    let size: f64 = terms().map(term).map(f64::abs).sum();
                    let near = (f64::from(y) - expected).abs() <= 1e-5 * (size + 1.0);
                    assert!(near, "{dtype:?} {m}x{n}x{k} on {isa:?}: {y}, not {expected}");
                }
            }
        }
    }
}

/// Integers at the ends of their ranges, where sums of products are greatest.
#[test]
fn products_of_the_largest_integers() {
    for dtype in quantized_types() {
        let k = 2 * dtype.block_size();
        for (bits, sign) in [(0xff, 1.0), (0xff, -1.0), (0x80, 1.0), (0x80, -1.0), (0x7f, 1.0), (0, -1.0)] {
            let mut w = vec![bits; dtype.bytes_of("test", k).unwrap()];
            set_scales(dtype, &mut w, || 0.5);
            let x = vec![127.0 * sign; k];
            let terms = unpack(dtype, &w).into_iter().map(|w| f64::from(w) * 127.0 * f64::from(sign));
            let (size, expected) = terms.fold((1.0, 0.0), |(size, sum), term| (size + term.abs(), sum + term));
            for isa in Isa::supported() {
                let y = f64::from(with_isa(isa, || linear(dtype, [1, 1, k], &x, &w))[0]);
                assert!((y - expected).abs() <= 1e-6 * size, "{dtype:?} {bits:x} {isa:?}: {y}, not {expected}");
            }
        }
    }
}

/// The input is rounded to 127 steps of the greatest of each block, and what is not finite makes sums NaN.
#[test]
fn the_input_is_rounded_to_eight_bits() {
    let mut random = Random(6);
    for dtype in quantized_types() {
        let (n, len) = (3, dtype.block_size());
        let k = 2 * len;
        let (x, w) = (random.normals(k), any_blocks(dtype, 2 * n, &mut random));
        let ws = unpack(dtype, &w);
        for isa in Isa::supported() {
            for (row, y) in ws.chunks(k).zip(with_isa(isa, || linear(dtype, [1, n, k], &x, &w))) {
                let expected: f64 = x.iter().zip(row).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
                let half_step = |x: &[f32]| f64::from(x.iter().fold(0.0f32, |most, x| most.max(x.abs()))) / 254.0;
                let size = |w: &[f32]| w.iter().map(|w| f64::from(w.abs())).sum::<f64>();
                let lost: f64 = x.chunks(len).zip(row.chunks(len)).map(|(x, w)| half_step(x) * size(w)).sum();
                let near = (f64::from(y) - expected).abs() <= 1.001 * lost;
                assert!(near, "{dtype:?} on {isa:?}: {y}, not {expected}");
            }
            for bad in [f32::NAN, f32::INFINITY] {
                let mut x = x.clone();
                x[1] = bad;
                let y = with_isa(isa, || linear(dtype, [1, n, k], &x, &w));
                assert!(y.iter().all(|y| y.is_nan()), "{dtype:?} on {isa:?}: {bad} gives {y:?}");
            }
        }
    }
}

#[test]
fn packed_sums_are_those_of_the_integers() {
    let bytes = pack(GgmlDType::Q8K, &Random(5).normals(256));
    for (group, sum) in bytes[4..260].chunks(16).zip(bytes[260..].chunks(2)) {
        let expected: i16 = group.iter().map(|&q| i16::from(q as i8)).sum();
        assert_eq!(i16::from_le_bytes([sum[0], sum[1]]), expected);
    }
    let bytes = pack(GgmlDType::Q8_1, &Random(5).normals(32));
    let sum: f64 = bytes[4..].iter().map(|&q| f64::from(q as i8)).sum();
    let half = |at: usize| f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64();
    assert!((half(2) - half(0) * sum).abs() <= half(2).abs() / 2048.0, "rounded to half precision");
}

#[test]
fn refusals() {
    let floats = |n: usize| Meta::contiguous(DType::F32, n);
    let bytes = |n: usize| Meta::contiguous(DType::U8, n);
    let fails = |result: Result<_>| assert!(result.is_err());
    fails(quantized::pack("test", GgmlDType::Q4_0, &floats(33), &bytes(18)));
    fails(quantized::pack("test", GgmlDType::Q4_0, &floats(32), &bytes(17)));
    fails(quantized::pack("test", GgmlDType::Q4_0, &bytes(32), &bytes(18)));
    fails(quantized::pack("test", GgmlDType::F16, &floats(32), &bytes(64)));
    fails(quantized::unpack("test", GgmlDType::Q4K, &bytes(144), &floats(32)));
    let huge = [1 << 40, 1 << 40, 32];
    let linear = |dtype, sizes, w, y| quantized::linear("test", dtype, sizes, [&floats(32), &bytes(w)], &floats(y));
    fails(linear(GgmlDType::Q4_0, huge, 18, 1));
    fails(linear(GgmlDType::Q4_0, [1, 1, 32], 17, 1));
    fails(linear(GgmlDType::Q4_0, [1, 1, 32], 18, 2));
    fails(linear(GgmlDType::Q4K, [1, 1, 32], 18, 1));
    fails(linear(GgmlDType::F32, [1, 1, 32], 128, 1));
}
