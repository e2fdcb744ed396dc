//! Every vector operation against the scalar one, on every level the processor has.

use std::cmp::Ordering;
use std::marker::PhantomData;

use half::{bf16, f16};
use opforge_core::{F8E4M3, F8E5M2};
use opforge_cpu::simd::convert::{Float8, NarrowBf16, NarrowF8, NarrowF16, WidenBf16, WidenF8, WidenF16};
use opforge_cpu::simd::*;

/// Runs `check` with the vectors of `E` on every level.
fn on_every_isa<E: FloatElem, C: Check<E>>(check: C) {
    struct Run<E, C>(C, PhantomData<E>);
    impl<E: FloatElem, C: Check<E>> Routine for Run<E, C> {
        type Args = Isa;
        type Output = ();
        #[inline(always)]
        unsafe fn run<S: Simd>(&self, isa: Isa) {
            // What is above AVX-512 has its vectors.
            assert_eq!(S::ISA, isa.min(Isa::Avx512));
            self.0.check::<E::Vector<S>>();
        }
    }
    let run = Run(check, PhantomData);
    for isa in Isa::supported() {
        // SAFETY: the level is supported.
        unsafe { resolve::<Run<E, C>>(isa)(&run, isa) };
    }
}

trait Check<E: FloatElem> {
    fn check<V: Vector<Elem = E>>(&self);
}

const VALUES: [f64; 16] = [
    0.0,
    -0.0,
    1.5,
    -2.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    3.5,
    -0.4,
    1e-40,
    7.0,
    -7.0,
    1e30,
    0.5,
    100.25,
    -100.75,
];

fn values<E: FloatElem>(rotation: usize) -> [E; 16] {
    std::array::from_fn(|i| E::from_f64(VALUES[(i * 3 + rotation) % 16]))
}

#[track_caller]
fn same<E: FloatElem>(got: E, want: f64, what: &str) {
    let want = E::from_f64(want).to_f64();
    assert!(got.to_f64() == want || got.to_f64().is_nan() && want.is_nan(), "{what}: {got:?}, want {want:?}");
}

/// A name, the vector operation, the scalar one.
type Unary<V> = (&'static str, fn(V) -> V, fn(f64) -> f64);
type Binary<V> = (&'static str, fn(V, V) -> V, fn(f64, f64) -> f64);
type Compare<V, E> = (&'static str, fn(V, V) -> <V as Float>::Mask, fn(E, E) -> bool);

struct Arithmetic;
impl<E: FloatElem> Check<E> for Arithmetic {
    #[inline(always)]
    fn check<V: Vector<Elem = E>>(&self) {
        let unary: [Unary<V>; 8] = [
            ("neg", |a| -a, |a| -a),
            ("abs", V::abs, f64::abs),
            ("floor", V::floor, f64::floor),
            ("ceil", V::ceil, f64::ceil),
            ("trunc", V::trunc, f64::trunc),
            ("round", V::round_ties_even, f64::round_ties_even),
            ("sqrt", V::sqrt, f64::sqrt),
            ("via_f64", |a| a.via_f64(|a| a * V::Wide::splat(2.0)), |a| a * 2.0),
        ];
        let binary: [Binary<V>; 8] = [
            ("add", |a, b| a + b, |a, b| a + b),
            ("sub", |a, b| a - b, |a, b| a - b),
            ("mul", |a, b| a * b, |a, b| a * b),
            ("div", |a, b| a / b, |a, b| a / b),
            ("max", V::max, |a, b| FloatElem::maximum(a, b)),
            ("min", V::min, |a, b| FloatElem::minimum(a, b)),
            ("copysign", V::copysign, |a, b| a.abs().copysign(b)),
            ("via_f64_2", |a, b| a.via_f64_2(b, |a, b| a - b), |a, b| a - b),
        ];
        for rotation in 0..16 {
            let (a, b) = (values::<E>(0), values::<E>(rotation));
            let mut out = [E::default(); 16];
            for (name, vector, scalar) in unary {
                // SAFETY: the arrays hold LANES elements.
                unsafe { vector(V::load(a.as_ptr())).store(out.as_mut_ptr()) };
                (0..V::LANES).for_each(|i| same(out[i], scalar(a[i].to_f64()), name));
            }
            for (name, vector, scalar) in binary {
                // SAFETY: the arrays hold LANES elements.
                unsafe { vector(V::load(a.as_ptr()), V::load(b.as_ptr())).store(out.as_mut_ptr()) };
                (0..V::LANES).for_each(|i| same(out[i], scalar(a[i].to_f64(), b[i].to_f64()), name));
            }
        }
    }
}

struct Comparisons;
impl<E: FloatElem> Check<E> for Comparisons {
    #[inline(always)]
    fn check<V: Vector<Elem = E>>(&self) {
        let all: [Compare<V, E>; 7] = [
            ("lt", V::lt, |a, b| a < b),
            ("le", V::le, |a, b| a <= b),
            ("gt", V::gt, |a, b| a > b),
            ("ge", V::ge, |a, b| a >= b),
            ("eq", V::eq, |a, b| a == b),
            ("ne", V::ne, |a, b| a != b),
            ("not", |a, b| !V::lt(a, b), |a, b| a.partial_cmp(&b) != Some(Ordering::Less)),
        ];
        for rotation in 0..16 {
            let (a, b) = (values::<E>(0), values::<E>(rotation));
            for (name, vector, scalar) in all {
                // SAFETY: the arrays hold LANES elements.
                let mask = unsafe { vector(V::load(a.as_ptr()), V::load(b.as_ptr())) };
                let want: Vec<bool> = (0..V::LANES).map(|i| scalar(a[i], b[i])).collect();
                for n in 0..=V::LANES {
                    let mut bytes = [7u8; 17];
                    // SAFETY: n <= LANES <= 16.
                    unsafe { mask.store_bools(bytes.as_mut_ptr(), n) };
                    (0..n).for_each(|i| assert_eq!(bytes[i], u8::from(want[i]), "{name} {n}"));
                    assert_eq!(bytes[n], 7, "{name} {n}");
                }
                let bits = (0..V::LANES).fold(0, |bits, i| bits | u32::from(want[i]) << i);
                assert_eq!((mask.bitmask(), mask.any()), (bits, bits != 0), "{name}");
                let chosen = V::select(mask, V::splat(1.0), V::splat(-1.0));
                let count = want.iter().filter(|w| **w).count();
                assert_eq!(chosen.reduce_sum().to_f64(), 2.0 * count as f64 - V::LANES as f64, "{name}");
            }
        }
    }
}

struct PartialAccess;
impl<E: FloatElem> Check<E> for PartialAccess {
    #[inline(always)]
    fn check<V: Vector<Elem = E>>(&self) {
        for n in 0..=V::LANES {
            let input: Vec<E> = (0..n).map(|i| E::from_f64(i as f64 + 1.0)).collect();
            // SAFETY: n elements are readable.
            let v = unsafe { V::load_partial(input.as_ptr(), n) };
            assert_eq!(v.reduce_sum().to_f64(), (n * (n + 1) / 2) as f64);
            assert_eq!(v.reduce_max().to_f64(), n as f64);
            let mut out = [E::from_f64(-1.0); 17];
            // SAFETY: n elements are writable.
            unsafe { v.store_partial(out.as_mut_ptr(), n) };
            assert_eq!(out[..n], input[..]);
            assert!(out[n..].iter().all(|x| x.to_f64() == -1.0));
            assert_eq!(V::first(n).bitmask(), (1 << n) - 1);
        }
    }
}

struct BitTricks;
impl<E: FloatElem> Check<E> for BitTricks {
    #[inline(always)]
    fn check<V: Vector<Elem = E>>(&self) {
        let (bits, mantissa) = if V::DOUBLE { (64, 52) } else { (32, 23) };
        let bias = (1i64 << (bits - mantissa - 2)) - 1;
        for exponent in [-100i64, -1, 0, 1, 30, 100] {
            let power = V::from_bits((V::Bits::splat(exponent) + V::Bits::splat(bias)) << mantissa);
            assert_eq!(power.reduce_max().to_f64(), 2f64.powi(exponent as i32));
            let back = (power.to_bits() >> mantissa) - V::Bits::splat(bias);
            assert!(!V::Bits::splat(exponent).eq(back).bitmask() & ((1 << V::LANES) - 1) == 0);
        }
        for int in [-4_000_000i64, -3, -1, 0, 1, 5, 4_000_000] {
            let v = V::from_int(V::Bits::splat(int));
            assert_eq!((v.reduce_min().to_f64(), v.reduce_max().to_f64()), (int as f64, int as f64));
            assert!(v.to_int().eq(V::Bits::splat(int)).any());
            assert_eq!(V::Bits::splat(int).gt(V::Bits::splat(0)).any(), int > 0);
        }
        for (x, nearest) in [(0.5, 0), (1.5, 2), (-2.5, -2), (-0.7, -1)] {
            assert!(V::splat(x).to_int().eq(V::Bits::splat(nearest)).any(), "{x}");
        }
        let lanes = V::splat(3.0).map_lanes(|x| x * x).zip_lanes(V::splat(1.0), |a, b| a - b);
        assert_eq!(lanes.reduce_sum().to_f64(), 8.0 * V::LANES as f64);
    }
}

struct Lookup;
impl<E: FloatElem> Check<E> for Lookup {
    #[inline(always)]
    fn check<V: Vector<Elem = E>>(&self) {
        let both: [E; 32] = std::array::from_fn(|i| E::from_f64(i as f64 + 0.5));
        for seed in 0..7 {
            let index = |i: usize| (i * 5 + i / 3 + seed * 11) % (2 * V::LANES);
            let indices: [E; 16] = std::array::from_fn(|i| E::of_integer(index(i) as i64));
            let mut out = [E::default(); 16];
            // SAFETY: the arrays hold what the vectors do.
            unsafe {
                let (low, high) = (V::load(both.as_ptr()), V::load(both.as_ptr().add(V::LANES)));
                low.lookup(high, V::load(indices.as_ptr()).to_bits()).store(out.as_mut_ptr());
            }
            (0..V::LANES).for_each(|i| same(out[i], index(i) as f64 + 0.5, "lookup"));
        }
    }
}

#[test]
fn lanes_are_looked_up() {
    on_every_isa::<f32, _>(Lookup);
    on_every_isa::<f64, _>(Lookup);
}

#[test]
fn vectors_compute_what_scalars_do() {
    on_every_isa::<f32, _>(Arithmetic);
    on_every_isa::<f64, _>(Arithmetic);
}

#[test]
fn comparisons_and_masks() {
    on_every_isa::<f32, _>(Comparisons);
    on_every_isa::<f64, _>(Comparisons);
}

#[test]
fn partial_access_stays_within_its_elements() {
    on_every_isa::<f32, _>(PartialAccess);
    on_every_isa::<f64, _>(PartialAccess);
}

#[test]
fn exponents_and_integers() {
    on_every_isa::<f32, _>(BitTricks);
    on_every_isa::<f64, _>(BitTricks);
}

#[test]
fn half_precision_converts_like_the_scalar_types() {
    let halves: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let brains: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let floats: Vec<f32> = (0..200_003u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).collect();
    for isa in Isa::supported() {
        let (mut wide, mut f16s, mut bf16s) = (vec![0f32; 65536], vec![f16::ZERO; 200_003], vec![bf16::ZERO; 200_003]);
        // SAFETY: the level is supported, and every pointer is to as many elements as said.
        unsafe { resolve::<WidenF16>(isa)(&WidenF16, (halves.as_ptr(), wide.as_mut_ptr(), 65536)) };
        assert!(wide.iter().zip(&halves).all(|(w, h)| *w == h.to_f32() || w.is_nan() && h.is_nan()));
        // SAFETY: the level is supported, and both vectors have 65536 elements.
        unsafe { resolve::<WidenBf16>(isa)(&WidenBf16, (brains.as_ptr(), wide.as_mut_ptr(), 65536)) };
        assert!(wide.iter().zip(&brains).all(|(w, b)| *w == b.to_f32() || w.is_nan() && b.is_nan()));
        // SAFETY: the level is supported, and both vectors have as many elements.
        unsafe { resolve::<NarrowF16>(isa)(&NarrowF16, (floats.as_ptr(), f16s.as_mut_ptr(), floats.len())) };
        assert!(f16s.iter().zip(&floats).all(|(h, f)| *h == f16::from_f32(*f) || h.is_nan() && f.is_nan()));
        // SAFETY: the level is supported, and both vectors have as many elements.
        unsafe { resolve::<NarrowBf16>(isa)(&NarrowBf16, (floats.as_ptr(), bf16s.as_mut_ptr(), floats.len())) };
        assert!(bf16s.iter().zip(&floats).all(|(b, f)| *b == bf16::from_f32(*f) || b.is_nan() && f.is_nan()));
    }
}

#[test]
fn floats_of_8_bits_convert_like_the_scalar_types() {
    fn check<T: Float8 + PartialEq + std::fmt::Debug>(of: fn(u8) -> T, to: fn(T) -> u8) {
        let floats: Vec<f32> = (0..200_003u32).map(|i| f32::from_bits(i.wrapping_mul(0x9e37_79b1))).collect();
        let small: Vec<T> = (0..=255).map(of).collect();
        for isa in Isa::supported() {
            for len in [256, 37, 1] {
                let mut wide = vec![0f32; len];
                // SAFETY: the level is supported, and both vectors have `len` elements.
                unsafe { resolve::<WidenF8<T>>(isa)(&WidenF8(PhantomData), (small.as_ptr(), wide.as_mut_ptr(), len)) };
                let same = |(w, x): (&f32, &T)| w.to_bits() == x.widen().to_bits();
                assert!(wide.iter().zip(&small).all(same), "{isa:?}, {len} elements");
            }
            let mut narrow = vec![of(0); floats.len()];
            // SAFETY: the level is supported, and both vectors have as many elements as there are floats.
            unsafe {
                resolve::<NarrowF8<T>>(isa)(
                    &NarrowF8(PhantomData),
                    (floats.as_ptr(), narrow.as_mut_ptr(), floats.len()),
                );
            };
            assert!(narrow.iter().zip(&floats).all(|(x, f)| to(*x) == to(T::narrow(*f))), "{isa:?}");
        }
    }
    check(F8E4M3::from_bits, F8E4M3::to_bits);
    check(F8E5M2::from_bits, F8E5M2::to_bits);
}

#[test]
fn the_level_can_be_limited_for_a_while() {
    let before = Isa::current();
    with_isa(Isa::Portable, || assert_eq!(Isa::current(), Isa::Portable));
    assert_eq!(Isa::current(), before);
}
