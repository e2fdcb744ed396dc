//! Measured errors. `OPFORGE_ULP_STRIDE=1` tries every f32, in an hour; run with `--release` and `--nocapture` to see the maxima.

use std::marker::PhantomData;

use opforge_core::{DType, Meta, WithDType};
use opforge_cpu::elementwise::{BinaryFn, UnaryFn, binary};
use opforge_cpu::simd::{Float, FloatElem, Isa, Routine, Simd, Vector, resolve, with_isa};

/// A functor per function of this module.
macro_rules! functors {
    ($($name:ident = $function:path),*) => {
        $(#[derive(Clone, Copy)]
        struct $name;
        impl UnaryFn for $name {
            #[inline(always)]
            fn float<V: Float>(self, x: V) -> V {
                $function(x)
            }
        })*
    };
}
functors!(
    Exp = opforge_tile::math::exp,
    Exp2 = opforge_tile::math::exp2,
    ExpM1 = opforge_tile::math::exp_m1,
    Log = opforge_tile::math::log,
    Log1p = opforge_tile::math::log_1p,
    Sin = opforge_tile::math::sin,
    Cos = opforge_tile::math::cos,
    Tan = opforge_tile::math::tan,
    Tanh = opforge_tile::math::tanh,
    Erf = opforge_tile::math::erf,
    Sigmoid = opforge_tile::math::sigmoid,
    Silu = opforge_tile::math::silu,
    Gelu = opforge_tile::math::gelu,
    GeluSlope = opforge_tile::math::gelu_slope,
    Asin = opforge_tile::math::asin,
    Acos = opforge_tile::math::acos,
    Atan = opforge_tile::math::atan,
    Sinh = opforge_tile::math::sinh,
    Cosh = opforge_tile::math::cosh,
    Asinh = opforge_tile::math::asinh,
    Acosh = opforge_tile::math::acosh,
    Atanh = opforge_tile::math::atanh,
    Log2 = opforge_tile::math::log2,
    Log10 = opforge_tile::math::log10,
    Erfc = opforge_tile::math::erfc,
    Lgamma = opforge_tile::math::lgamma,
    J0 = opforge_tile::math::bessel_j0,
    GeluTanh = opforge_tile::math::gelu_tanh,
    Rsqrt = opforge_tile::math::rsqrt
);

#[derive(Clone, Copy)]
struct Pow;
impl BinaryFn for Pow {
    #[inline(always)]
    fn float<V: Float>(self, x: V, y: V) -> V {
        opforge_tile::math::pow(x, y)
    }
}

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}
fn gelu(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}
fn gelu_slope(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2) + if density == 0.0 { 0.0 } else { x * density }
}
fn gelu_tanh(x: f64) -> f64 {
    x * sigmoid(2.0 * (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x))
}

/// A tile function over slices, without the loops that kernels have for every layout and dtype: they take long to compile.
struct Applied<F, E>(F, PhantomData<E>);

impl<F: UnaryFn, E: FloatElem> Routine for Applied<F, E> {
    type Args = (*const E, *mut E, usize);
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(&self, (x, y, n): Self::Args) {
        let lanes = <E::Vector<S>>::LANES;
        for i in (0..n).step_by(lanes) {
            let rest = lanes.min(n - i);
            // SAFETY: both pointers are to `n` elements, as the caller says, of which `rest` follow the i-th.
            unsafe { self.0.float(<E::Vector<S>>::load_partial(x.add(i), rest)).store_partial(y.add(i), rest) };
        }
    }
}

pub(super) fn apply<F: UnaryFn, E: FloatElem>(f: F, x: &[E]) -> Vec<E> {
    let mut y = vec![E::from_f64(0.0); x.len()];
    let entry = resolve::<Applied<F, E>>(Isa::current());
    // SAFETY: the processor supports the level in use, and both slices have this length.
    unsafe { entry(&Applied(f, PhantomData), (x.as_ptr(), y.as_mut_ptr(), x.len())) };
    y
}

/// The distance in units of the last place of `want`, or of `least` where that is greater.
pub(super) fn ulps<T: WithDType>(got: T, want: f64, least: f64) -> f64 {
    let (digits, least_normal, max) = match T::DTYPE {
        DType::F32 => (23, f32::MIN_POSITIVE as f64, f32::MAX as f64),
        _ => (52, f64::MIN_POSITIVE, f64::MAX),
    };
    let (got, rounded) = (got.to_f64(), T::from_f64(want).to_f64());
    if got.is_nan() || rounded.is_nan() {
        return if got.is_nan() && rounded.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got == rounded && got.is_infinite() {
        return 0.0;
    }
    let exponent = want.abs().clamp(least.max(least_normal), max).log2().floor() as i32;
    libm::ldexp((got.clamp(-max, max) - want.clamp(-max, max)).abs(), digits - exponent)
}

/// The greatest error over the arguments, and where.
fn worst<T: WithDType>(x: &[T], y: &[T], want: impl Fn(f64) -> f64, least: f64) -> (f64, f64) {
    x.iter().zip(y).fold((0.0, 0.0), |worst, (x, y)| {
        let x = x.to_f64();
        let error = ulps(*y, want(x), least);
        if error > worst.0 { (error, x) } else { worst }
    })
}

/// Every f32, or one of many, in slices.
pub(super) fn floats() -> impl Iterator<Item = Vec<f32>> {
    let step = std::env::var("OPFORGE_ULP_STRIDE").ok().and_then(|text| text.parse().ok()).unwrap_or(8209);
    const SLICE: u64 = 1 << 16;
    let count = (1u64 << 32) / step;
    (0..count.div_ceil(SLICE))
        .map(move |i| (i * SLICE..count.min((i + 1) * SLICE)).map(|k| f32::from_bits((k * step) as u32)).collect())
}

fn check_f32<F: UnaryFn>(name: &str, f: F, want: impl Fn(f64) -> f64, least: f64, limit: f64) {
    for isa in Isa::supported() {
        let (error, at) = floats().fold((0.0, 0.0), |worst_yet, x| {
            let y = with_isa(isa, || apply(f, &x));
            let worst = worst(&x, &y, &want, least);
            if worst.0 > worst_yet.0 { worst } else { worst_yet }
        });
        println!("{name} f32 {isa:?}: {error:.3} ULP at {at:e}");
        assert!(error <= limit, "{name} {isa:?}: {error} ULP at {at:e}");
    }
}

/// Values of every size and sign, and more of the ordinary ones.
fn doubles() -> Vec<f64> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ state >> 29
    };
    let mut x: Vec<f64> = (0..200_000).map(|_| f64::from_bits(random())).collect();
    for scale in [1e-3, 1.0, 10.0, 800.0, 1e5] {
        x.extend((0..100_000).map(|_| (random() >> 11) as f64 / 2f64.powi(52) * scale - scale));
    }
    x.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, 1.0, -1.0]);
    x
}

fn check_f64<F: UnaryFn>(name: &str, f: F, want: impl Fn(f64) -> f64, least: f64, limit: f64) {
    let x = doubles();
    for isa in Isa::supported() {
        let y = with_isa(isa, || apply(f, &x));
        let (error, at) = worst(&x, &y, &want, least);
        println!("{name} f64 {isa:?}: {error:.3} ULP at {at:e}");
        assert!(error <= limit, "{name} {isa:?}: {error} ULP at {at:e}");
    }
}

/// One test a function, so that they run side by side. Limits are for f32 and f64; errors of results below `least` count as if of `least`.
macro_rules! errors {
    ($($test:ident: $functor:ident, $reference:expr, $single:expr, $double:expr $(, least $least:expr)?;)*) => {
        $(#[test]
        fn $test() {
            let least = 0.0 $(+ $least)?;
            check_f32(stringify!($test), $functor, $reference, least, $single);
            check_f64(stringify!($test), $functor, $reference, least, $double);
        })*
    };
}
errors! {
    exp: Exp, f64::exp, 1.2, 2.0;
    exp2: Exp2, f64::exp2, 1.1, 1.0;
    exp_m1: ExpM1, f64::exp_m1, 1.8, 2.0;
    log: Log, f64::ln, 1.0, 1.0;
    log_1p: Log1p, f64::ln_1p, 1.0, 2.0;
    sin: Sin, f64::sin, 1.7, 2.0;
    cos: Cos, f64::cos, 1.7, 2.0;
    tan: Tan, f64::tan, 4.0, 4.0;
    tanh: Tanh, f64::tanh, 2.8, 3.0;
    erf: Erf, libm::erf, 1.5, 2.0;
    erfc: Erfc, libm::erfc, 0.51, 10.0;
    lgamma: Lgamma, libm::lgamma, 0.51, 24.0, least 1.0;
    j0: J0, libm::j0, 0.51, 7.0, least 0.25;
    sigmoid_: Sigmoid, sigmoid, 2.8, 4.0;
    silu: Silu, |x| x * sigmoid(x), 3.5, 4.0, least 1e-36;
    gelu_: Gelu, gelu, 3.2, 6.0, least 0.125;
    gelu_slope_: GeluSlope, gelu_slope, 5.5, 10.0, least 0.125;
    asin: Asin, f64::asin, 0.51, 3.0;
    acos: Acos, f64::acos, 0.51, 3.0;
    atan: Atan, f64::atan, 0.51, 2.0;
    sinh: Sinh, f64::sinh, 0.51, 3.0;
    cosh: Cosh, f64::cosh, 0.51, 3.0;
    asinh: Asinh, libm::asinh, 0.51, 4.0;
    acosh: Acosh, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }, 0.51, 4.0;
    atanh: Atanh, libm::atanh, 0.51, 4.0;
    log2: Log2, f64::log2, 0.51, 1.0;
    log10: Log10, f64::log10, 0.51, 2.0;
    gelu_tanh_: GeluTanh, gelu_tanh, 5.0, 5.0, least 0.125;
    rsqrt: Rsqrt, |x| 1.0 / x.sqrt(), 1.6, 1.0;
}

#[test]
fn pow_of_ordinary_and_special_values() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        0.5,
        -0.5,
        -3.0,
        1e30,
        1e-30,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for a in special {
        for b in special {
            x.push(a);
            y.push(b);
        }
    }
    for slice in floats() {
        for (i, v) in slice.iter().enumerate() {
            x.push(*v);
            y.push(if i % 2 == 0 { (i % 41) as f32 - 20.0 } else { i as f32 / 8192.0 - 4.0 });
        }
    }
    let meta = Meta::contiguous(DType::F32, x.len());
    for isa in Isa::supported() {
        let kernel = with_isa(isa, || binary("pow", Pow, &meta, &meta, &meta).unwrap());
        let mut z = vec![0f32; x.len()];
        // SAFETY: the slices have the meta's length.
        unsafe { kernel.run(&[x.as_ptr().cast(), y.as_ptr().cast()], &[z.as_mut_ptr().cast()]).unwrap() };
        let mut greatest = 0.0;
        for ((x, y), z) in x.iter().zip(&y).zip(&z) {
            let want = f64::from(*x).powf((*y).into());
            let error = ulps(*z, want, 0.0);
            assert!(error <= 0.6, "{x:e} ^ {y:e} = {z:e}, want {want:e}, {isa:?}");
            assert!(z.is_nan() || z.is_sign_negative() == want.is_sign_negative(), "{x:e} ^ {y:e} = {z:e}");
            greatest = error.max(greatest);
        }
        println!("pow f32 {isa:?}: {greatest:.3} ULP");
    }
}

#[test]
fn signed_zeros_and_subnormals_survive() {
    fn odd<F: UnaryFn>(f: F) {
        for isa in Isa::supported() {
            let y = with_isa(isa, || apply(f, &[0.0f32, -0.0, 1e-45, -1e-45, 1e-40]));
            let bits: Vec<u32> = y.into_iter().map(f32::to_bits).collect();
            assert_eq!(bits, [0.0f32, -0.0, 1e-45, -1e-45, 1e-40].map(f32::to_bits), "{isa:?}");
        }
    }
    odd(ExpM1);
    odd(Asin);
    odd(Atan);
    odd(Sinh);
    odd(Asinh);
    odd(Atanh);
    odd(Log1p);
    odd(Sin);
    odd(Tanh);
}

#[derive(Clone, Copy)]
struct Atan2;
impl BinaryFn for Atan2 {
    #[inline(always)]
    fn float<V: Float>(self, y: V, x: V) -> V {
        opforge_tile::math::atan2(y, x)
    }
}

#[derive(Clone, Copy)]
struct Hypot;
impl BinaryFn for Hypot {
    #[inline(always)]
    fn float<V: Float>(self, y: V, x: V) -> V {
        opforge_tile::math::hypot(y, x)
    }
}

/// Every pair of special values, and ordinary ones.
fn pairs() -> (Vec<f64>, Vec<f64>) {
    let inf = f64::INFINITY;
    let special = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-30, -1e30, inf, -inf, f64::NAN, 1e-40];
    let random = doubles().into_iter().skip(200_000).filter(|x| x.abs() < 1e30);
    let ordinary: Vec<f64> = random.map(|x| f64::from(x as f32)).collect();
    let (half, rest) = ordinary.split_at(ordinary.len() / 2);
    let all = special.iter().flat_map(|&a| special.map(|b| (f64::from(a as f32), f64::from(b as f32))));
    all.chain(half.iter().copied().zip(rest.iter().copied())).unzip()
}

#[test]
fn angles_and_distances_of_points() {
    fn check<F: BinaryFn, T: WithDType>(name: &str, f: F, want: fn(f64, f64) -> f64, limit: f64) {
        let (a, b) = pairs();
        let [x, y] = [&a, &b].map(|v| v.iter().map(|&x| T::from_f64(x)).collect::<Vec<T>>());
        let meta = Meta::contiguous(T::DTYPE, x.len());
        for isa in Isa::supported() {
            let kernel = with_isa(isa, || binary("test", f, &meta, &meta, &meta).unwrap());
            let mut z = vec![T::from_f64(0.0); x.len()];
            // SAFETY: the slices have the meta's length.
            unsafe { kernel.run(&[x.as_ptr().cast(), y.as_ptr().cast()], &[z.as_mut_ptr().cast()]).unwrap() };
            let mut greatest = 0f64;
            for (i, &z) in z.iter().enumerate() {
                let want = want(a[i], b[i]);
                let error = ulps(z, want, 0.0);
                assert!(error <= limit, "{name} of {:e}, {:e} = {z}, want {want:e}: {error} ULP, {isa:?}", a[i], b[i]);
                let negative = z.to_f64().is_sign_negative() == want.is_sign_negative();
                assert!(want.is_nan() || negative, "{name} of {:e}, {:e} = {z:e}", a[i], b[i], z = z.to_f64());
                greatest = greatest.max(error);
            }
            println!("{name} {} {isa:?}: {greatest:.3} ULP", T::DTYPE);
        }
    }
    check::<_, f32>("atan2", Atan2, f64::atan2, 0.51);
    check::<_, f64>("atan2", Atan2, f64::atan2, 3.0);
    check::<_, f32>("hypot", Hypot, f64::hypot, 0.51);
    check::<_, f64>("hypot", Hypot, f64::hypot, 1.0);
}
