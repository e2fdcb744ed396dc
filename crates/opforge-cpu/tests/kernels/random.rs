//! The generator's known answers, and distributions by their moments.

use std::ops::Range;
use std::sync::Arc;

use opforge_core::{DType, Element, ErrorKind, Meta, Result, Shape, WithDType, bf16, f16};
use opforge_cpu::internals::{LANES, blocks, ln, philox, sin_cos_turns};
use opforge_cpu::random::*;
use opforge_cpu::simd::Isa;
use opforge_runtime::HostKernel;
use opforge_tile::forms::Portion;

fn key() -> Meta {
    Meta::contiguous(DType::U64, 2)
}

fn run<T: Element>(kernel: &dyn HostKernel, seed: u64, offset: u64, len: usize) -> Vec<T> {
    let mut out = vec![T::default(); len];
    let key = [seed, offset];
    // SAFETY: the output has as many elements as the kernel was prepared for.
    unsafe { kernel.run(&[key.as_ptr().cast()], &[out.as_mut_ptr().cast()]) }.unwrap();
    out
}

type Make = fn(DType, usize) -> Result<Arc<dyn HostKernel>>;

fn draws<T: Element>(make: Make, seed: u64, offset: u64, len: usize) -> Vec<T> {
    run(&*make(T::DTYPE, len).unwrap(), seed, offset, len)
}

fn unit(dtype: DType, len: usize) -> Result<Arc<dyn HostKernel>> {
    uniform("uniform", 0.0, 1.0, &key(), &Meta::contiguous(dtype, len))
}

fn standard(dtype: DType, len: usize) -> Result<Arc<dyn HostKernel>> {
    normal("normal", 0.0, 1.0, &key(), &Meta::contiguous(dtype, len))
}

fn dice(dtype: DType, len: usize) -> Result<Arc<dyn HostKernel>> {
    randint("randint", 1, 7, &key(), &Meta::contiguous(dtype, len))
}

fn coins(dtype: DType, len: usize) -> Result<Arc<dyn HostKernel>> {
    bernoulli("bernoulli", 0.25, &key(), &Meta::contiguous(dtype, len))
}

/// The known answers of the authors' library, Random123.
#[test]
fn known_answers() {
    let cases: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, expected) in cases {
        let words = philox(counter.map(|c| [c; LANES]), key);
        assert_eq!(words, expected.map(|e| [e; LANES]));
    }
}

#[test]
fn blocks_count_in_64_bits() {
    let words = blocks(0x299f31d0_a4093822, 0x03707344_13198a2e, 0x85a308d3_243f6a88);
    assert_eq!(words.map(|w| w[0]), [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
    let across = blocks(1, 2, u64::from(u32::MAX));
    assert_eq!(across.map(|w| w[1]), blocks(1, 2, 1 << 32).map(|w| w[0]));
}

/// A shorter tensor is the start of a longer one, however the work is divided, and on every instruction set.
#[test]
fn elements_depend_on_nothing_but_their_index() {
    fn check<T: Element>(make: Make) {
        let long = draws::<T>(make, 7, 3, 100_000);
        for len in [0, 1, 31, 32, 33, 63, 64, 65, 1000, 16_384, 16_385, 50_001] {
            assert!(draws::<T>(make, 7, 3, len) == long[..len], "{len} of {}", T::DTYPE);
        }
        for isa in Isa::supported() {
            let same = opforge_cpu::simd::with_isa(isa, || draws::<T>(make, 7, 3, 1000));
            assert!(same == long[..1000], "{isa:?} {}", T::DTYPE);
        }
        assert!(draws::<T>(make, 7, 4, 1000) != long[..1000]);
        assert!(draws::<T>(make, 8, 3, 1000) != long[..1000]);
    }
    for make in [unit as Make, standard] {
        check::<f16>(make);
        check::<bf16>(make);
        check::<f32>(make);
        check::<f64>(make);
    }
    check::<bool>(coins);
    check::<f32>(coins);
    check::<u8>(dice);
    check::<i64>(dice);
    check::<f64>(dice);
}

/// The largest distance between the samples' distribution and the given one, times the root of their number: above 1.95 with a probability
/// of 0.001 (Kolmogorov and Smirnov).
fn distance(mut samples: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let gaps = samples.iter().enumerate().map(|(i, &x)| (distribution(x) - (i as f64 + 0.5) / n).abs());
    gaps.fold(0.0, f64::max) * n.sqrt()
}

/// The normal distribution, by Simpson's rule.
fn normal_cdf(x: f64) -> f64 {
    let steps = 200;
    let h = x / f64::from(steps);
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let inner: f64 = (1..steps).map(|i| density(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    0.5 + h / 3.0 * (density(0.0) + inner + density(x))
}

fn moments(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    (mean, samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
}

fn as_f64<T: WithDType>(make: Make, len: usize) -> Vec<f64> {
    draws::<T>(make, 42, 0, len).into_iter().map(T::to_f64).collect()
}

#[test]
fn uniform_numbers_are_uniform() {
    const N: usize = 200_000;
    for samples in [as_f64::<f32>(unit, N), as_f64::<f64>(unit, N), as_f64::<f16>(unit, N), as_f64::<bf16>(unit, N)] {
        assert!(samples.iter().all(|x| (0.0..1.0).contains(x)));
        let (mean, variance) = moments(&samples);
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.001, "{variance}");
    }
    for samples in [as_f64::<f32>(unit, N), as_f64::<f64>(unit, N)] {
        let d = distance(samples, |x| x);
        assert!(d < 1.95, "{d}");
    }
}

#[test]
fn uniform_keeps_within_its_bounds() {
    fn check<T: WithDType>(low: f64, high: f64) {
        let output = Meta::contiguous(T::DTYPE, 50_000);
        let kernel = uniform("uniform", low, high, &key(), &output).unwrap();
        for x in run::<T>(&*kernel, 1, 1, 50_000) {
            assert!(
                x.to_f64() < high && x.to_f64() >= T::from_f64(low).to_f64(),
                "{x} in {low}..{high} of {}",
                T::DTYPE
            );
        }
    }
    for (low, high) in [(-1.0, 0.0), (3.0, 3.01), (100.0, 101.0), (-5.5, -5.0), (-0.0001, 0.0)] {
        check::<f32>(low, high);
        check::<f64>(low, high);
        check::<f16>(low, high + if high == 3.01 { 0.1 } else { 0.0 });
        check::<bf16>(low, high + if high == 3.01 { 0.1 } else { 0.0 });
    }
    let output = Meta::contiguous(DType::F32, 100);
    let kernel = uniform("uniform", 2.5, 2.5, &key(), &output).unwrap();
    assert_eq!(run::<f32>(&*kernel, 1, 1, 100), [2.5; 100]);
}

#[test]
fn normal_numbers_are_normal() {
    const N: usize = 100_000;
    for samples in [as_f64::<f32>(standard, N), as_f64::<f64>(standard, N), as_f64::<f16>(standard, N)] {
        let (mean, variance) = moments(&samples);
        assert!(mean.abs() < 0.012, "{mean}");
        assert!((variance - 1.0).abs() < 0.02, "{variance}");
        let kurtosis = samples.iter().map(|x| x.powi(4)).sum::<f64>() / N as f64;
        assert!((kurtosis - 3.0).abs() < 0.15, "{kurtosis}");
        assert!(samples.iter().any(|x| x.abs() > 3.8));
    }
    for samples in [as_f64::<f32>(standard, 20_000), as_f64::<f64>(standard, 20_000)] {
        let d = distance(samples, normal_cdf);
        assert!(d < 1.95, "{d}");
    }
    let kernel = normal("normal", 5.0, 0.0, &key(), &Meta::contiguous(DType::F32, 10)).unwrap();
    assert_eq!(run::<f32>(&*kernel, 1, 1, 10), [5.0; 10]);
}

#[test]
fn neighbours_do_not_correlate() {
    for make in [unit as Make, standard] {
        let samples = as_f64::<f32>(make, 100_000);
        let (mean, variance) = moments(&samples);
        for lag in [1, 2, 16, 32, 48, 64] {
            let products = samples.iter().zip(&samples[lag..]).map(|(a, b)| (a - mean) * (b - mean));
            let correlation = products.sum::<f64>() / samples.len() as f64 / variance;
            assert!(correlation.abs() < 0.013, "{correlation} at lag {lag}");
        }
    }
}

#[test]
fn the_functions_of_the_normal_are_accurate() {
    for i in 0..100_000u32 {
        let word = i.wrapping_mul(2_654_435_761);
        let u = (word as f32 + 0.5) / 4_294_967_296.0;
        let exact = f64::from(u).ln();
        assert!((f64::from(ln(u)) - exact).abs() <= 1.2e-7 * exact.abs().max(1e-7), "ln {u}");
        let (sin, cos) = sin_cos_turns(word);
        let (s, c) = (f64::from(word) / 4_294_967_296.0 * std::f64::consts::TAU).sin_cos();
        assert!((f64::from(sin) - s).abs() < 1.2e-7 && (f64::from(cos) - c).abs() < 1.2e-7, "turn {word}");
    }
    assert_eq!(ln(1.0), 0.0);
}

#[test]
fn coins_and_dice() {
    const N: usize = 120_000;
    let heads = draws::<bool>(coins, 1, 1, N).into_iter().filter(|h| *h).count() as f64 / N as f64;
    assert!((heads - 0.25).abs() < 0.005, "{heads}");
    let mut counts = [0usize; 8];
    draws::<i32>(dice, 1, 2, N).into_iter().for_each(|d| counts[d as usize] += 1);
    assert_eq!((counts[0], counts[7]), (0, 0));
    assert!(counts[1..7].iter().all(|c| c.abs_diff(N / 6) < 600), "{counts:?}");
    for (p, expected) in [(0.0, 0.0f32), (1.0, 1.0)] {
        let kernel = bernoulli("bernoulli", p, &key(), &Meta::contiguous(DType::F32, 1000)).unwrap();
        assert_eq!(run::<f32>(&*kernel, 3, 3, 1000), [expected; 1000]);
    }
    let all = randint("randint", i64::MIN, i64::MAX, &key(), &Meta::contiguous(DType::I64, 1000)).unwrap();
    let values = run::<i64>(&*all, 5, 5, 1000);
    assert!(values.iter().any(|v| *v < i64::MIN / 2) && values.iter().any(|v| *v > i64::MAX / 2));
}

#[test]
fn refusals() {
    let kind = |r: Result<Arc<dyn HostKernel>>| r.err().unwrap().kind();
    let f = Meta::contiguous(DType::F32, 3);
    assert_eq!(kind(uniform("u", 1.0, 0.0, &key(), &f)), ErrorKind::Value);
    assert_eq!(kind(uniform("u", f64::NAN, 0.0, &key(), &f)), ErrorKind::Value);
    assert_eq!(kind(uniform("u", f64::MIN, f64::MAX, &key(), &Meta::contiguous(DType::F64, 3))), ErrorKind::Value);
    assert_eq!(kind(uniform("u", 0.0, 1e6, &key(), &Meta::contiguous(DType::F16, 3))), ErrorKind::Value);
    assert_eq!(kind(unit(DType::I32, 3)), ErrorKind::DType);
    assert_eq!(kind(normal("n", 0.0, -1.0, &key(), &f)), ErrorKind::Value);
    assert_eq!(kind(standard(DType::C64, 3)), ErrorKind::DType);
    assert_eq!(kind(bernoulli("b", 1.5, &key(), &f)), ErrorKind::Value);
    assert_eq!(kind(bernoulli("b", f64::NAN, &key(), &f)), ErrorKind::Value);
    assert_eq!(kind(randint("r", 3, 3, &key(), &f)), ErrorKind::Value);
    assert_eq!(kind(randint("r", 0, 257, &key(), &Meta::contiguous(DType::U8, 3))), ErrorKind::Value);
    assert_eq!(kind(dice(DType::Bool, 3)), ErrorKind::DType);
    assert_eq!(kind(normal("n", 0.0, 1.0, &f, &f)), ErrorKind::DType);
    assert_eq!(kind(normal("n", 0.0, 1.0, &Meta::contiguous(DType::U64, 3), &f)), ErrorKind::Shape);
}

/// Numbers of each size have the frequency that the rate gives them, by counting and by rejection.
#[test]
fn poisson_numbers_have_the_right_frequencies() {
    const LEN: usize = 40_000;
    for rate in [0.0, 0.3, 4.0, 10.0, 35.5] {
        let meta = Meta::contiguous(DType::F64, LEN);
        let kernel = poisson("poisson", &key(), &meta, &meta).unwrap();
        let (rates, mut out) = (vec![rate; LEN], vec![0.0; LEN]);
        let numbers = [11u64, 5];
        // SAFETY: rates and output have the length that the kernel was prepared for.
        unsafe { kernel.run(&[numbers.as_ptr().cast(), rates.as_ptr().cast()], &[out.as_mut_ptr().cast()]) }.unwrap();
        for k in 0..60 {
            let k = f64::from(k);
            let p = if rate == 0.0 {
                f64::from(k == 0.0)
            } else {
                (k * f64::ln(rate) - rate - libm::lgamma(k + 1.0)).exp()
            };
            let found = out.iter().filter(|&&n| n == k).count() as f64 / LEN as f64;
            assert!(
                (found - p).abs() <= 5.0 * (p * (1.0 - p) / LEN as f64).sqrt() + 1e-4,
                "{k} at {rate}: {found}, not {p}"
            );
        }
    }
}

#[test]
fn poisson_refuses_what_is_no_rate() {
    let meta = Meta::contiguous(DType::F64, 1);
    let kernel = poisson("poisson", &key(), &meta, &meta).unwrap();
    for rate in [-1.0, f64::NAN, f64::INFINITY] {
        let (numbers, mut out) = ([0u64; 2], 0.0);
        // SAFETY: the key holds two numbers, rate and output are one f64 each, as the metas say.
        let result =
            unsafe { kernel.run(&[numbers.as_ptr().cast(), (&raw const rate).cast()], &[(&raw mut out).cast()]) };
        assert!(result.is_err());
    }
}

/// Parts of a shape: those that start and end a third of the way, empty ones, and the whole.
fn portions(whole: &[usize]) -> Vec<Portion> {
    let ranges = |length: usize| [0..length, 0..length / 3, length / 3..length, length..length];
    let mut all = vec![vec![]];
    for &length in whole {
        let longer = |begun: &Vec<Range<usize>>| ranges(length).map(|range| [&begun[..], &[range]].concat());
        all = all.iter().flat_map(longer).collect();
    }
    all.into_iter().map(|ranges| Portion { whole: Shape::from_dims(whole), ranges }).collect()
}

fn elements(part: &Portion) -> Vec<usize> {
    let dims = part.whole.dims();
    let is_inside = |&i: &usize| {
        let mut rest = i;
        part.ranges.iter().zip(dims).rev().all(|(range, &length)| {
            let at = rest % length;
            rest /= length;
            range.contains(&at)
        })
    };
    (0..part.whole.elem_count()).filter(is_inside).collect()
}

#[test]
fn parts_have_what_the_whole_has_there() {
    type Draws = fn(Target<'_>) -> Result<Arc<dyn HostKernel>>;
    let kernels: [(DType, Draws); 6] = [
        (DType::F32, |t| uniform("uniform", -1.0, 2.0, &key(), t)),
        (DType::F64, |t| uniform("uniform", -1.0, 2.0, &key(), t)),
        (DType::F32, |t| normal("normal", 0.0, 1.0, &key(), t)),
        (DType::F64, |t| normal("normal", 0.0, 1.0, &key(), t)),
        (DType::F64, |t| bernoulli("bernoulli", 0.4, &key(), t)),
        (DType::F32, |t| randint("randint", 0, 1000, &key(), t)),
    ];
    fn check<T: Element + PartialEq + std::fmt::Debug>(make: Draws, whole: &[usize]) {
        let drawn = |portion: Option<&Portion>, dims: Vec<usize>| {
            let meta = Meta::contiguous(T::DTYPE, &dims[..]);
            run::<T>(&*make(Target { meta: &meta, portion }).unwrap(), 5, 9, meta.elem_count())
        };
        let all = drawn(None, whole.to_vec());
        for part in portions(whole) {
            let dims = part.ranges.iter().map(ExactSizeIterator::len).collect();
            let wanted: Vec<T> = elements(&part).into_iter().map(|i| all[i]).collect();
            assert_eq!(drawn(Some(&part), dims), wanted, "{part:?}");
        }
    }
    for (dtype, make) in kernels {
        for whole in [&[1000][..], &[7, 300], &[130, 5], &[9, 4, 70], &[6, 6, 3, 2]] {
            match dtype {
                DType::F64 => check::<f64>(make, whole),
                _ => check::<f32>(make, whole),
            }
        }
    }
}

#[test]
fn parts_must_be_within_the_whole_and_like_the_output() {
    let meta = Meta::contiguous(DType::F32, [2, 3]);
    for ranges in [vec![0..2, 1..3], vec![3..5, 0..3], std::iter::once(0..2).collect(), vec![0..2, 0..3, 0..1]] {
        let portion = Portion { whole: [4, 3].into(), ranges };
        let target = Target { meta: &meta, portion: Some(&portion) };
        let error = uniform("uniform", 0.0, 1.0, &key(), target).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Shape, "{portion:?}");
    }
}
