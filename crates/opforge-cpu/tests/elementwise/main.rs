//! Every constructor of element-by-element kernels beside plain scalar code, over layouts of all kinds and on every instruction-set level.

mod accuracy;
mod functions;
mod special;

use half::{bf16, f16};
use num_complex::Complex;
use opforge_core::{DType, Element, Error, ErrorKind, F8E4M3, F8E5M2, Layout, Meta, Result, Scalar, Shape, WithDType};
use opforge_cpu::elementwise::*;
use opforge_cpu::simd::{Float, Int, Isa, Mask, with_isa};

use functions::{Add, Affine, Div, IsNan, Lerp, Less};

/// A tensor with its memory.
#[derive(Clone)]
struct Array<T> {
    data: Vec<T>,
    meta: Meta,
}

impl<T: Element> Array<T> {
    fn new(layout: Layout, value: impl Fn(usize) -> T) -> Self {
        let data = (0..layout.start_offset() + layout.span() + 1).map(value).collect();
        Array { data, meta: Meta { dtype: T::DTYPE, layout } }
    }
    fn ptr(&self) -> *const u8 {
        self.data[self.meta.layout.start_offset()..].as_ptr().cast()
    }
    fn mut_ptr(&mut self) -> *mut u8 {
        let start = self.meta.layout.start_offset();
        self.data[start..].as_mut_ptr().cast()
    }
    fn values(&self) -> Vec<T> {
        self.meta.layout.indices().map(|i| self.data[i]).collect()
    }
}

/// Layouts of the shape: contiguous, reversed axes, strided, padded rows, and each broadcast along one axis.
fn layouts(dims: &[usize], output: bool) -> Vec<Layout> {
    let shape = Shape::from_dims(dims);
    let of = |strides: Vec<usize>| Layout::new(shape.clone(), strides.into(), 3, "test").unwrap();
    let contiguous = shape.stride_contiguous();
    let mut reversed = vec![0; dims.len()];
    let mut n = 1;
    for (stride, len) in reversed.iter_mut().zip(dims) {
        *stride = n;
        n *= len.max(&1);
    }
    let mut all = vec![of(contiguous.clone()), of(reversed), of(contiguous.iter().map(|s| s * 2).collect())];
    let padded = contiguous.iter().enumerate().map(|(i, s)| if i + 1 < dims.len() { s * 3 } else { *s });
    all.push(of(padded.collect()));
    if !output {
        for axis in 0..dims.len() {
            let mut stride = contiguous.clone();
            stride[axis] = 0;
            all.push(of(stride));
        }
        all.push(of(vec![0; dims.len()]));
    }
    all
}

const SHAPES: [&[usize]; 14] = [
    &[],
    &[0],
    &[1],
    &[7],
    &[3, 0, 2],
    &[67],
    &[5, 3],
    &[33, 40],
    &[3, 1, 19],
    &[4, 5, 3, 2],
    &[2, 70, 65],
    &[5000],
    &[1500, 3],
    &[3, 700, 5],
];

fn on_every_isa(test: impl Fn()) {
    for isa in Isa::supported() {
        with_isa(isa, &test);
    }
}

#[track_caller]
fn assert_same<T: Element>(got: &[T], want: &[T], context: impl std::fmt::Debug) {
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let nan = |x: &T| x.to_scalar().to_f64().is_nan();
        assert!(got == want || nan(got) && nan(want), "{context:?}, element {i}: {got:?}, want {want:?}");
    }
}

/// Checks a kernel of one input over all layouts.
fn check_unary<T: Element, U: Element>(
    make: impl Fn(&Meta, &Meta) -> Result<std::sync::Arc<dyn opforge_runtime::HostKernel>>,
    value: impl Fn(usize) -> T,
    want: impl Fn(T) -> U,
) {
    for dims in SHAPES {
        for input in layouts(dims, false) {
            for output in layouts(dims, true) {
                let x = Array::new(input.clone(), &value);
                let mut y = Array::new(output.clone(), |_| U::default());
                let kernel = make(&x.meta, &y.meta).unwrap();
                // SAFETY: the arrays have the metas' layouts.
                unsafe { kernel.run(&[x.ptr()], &[y.mut_ptr()]).unwrap() };
                let wanted: Vec<U> = x.values().into_iter().map(&want).collect();
                assert_same(&y.values(), &wanted, (T::DTYPE, U::DTYPE, &input, &output));
                let written = y.meta.layout.indices().collect::<std::collections::HashSet<_>>();
                let rest = y.data.iter().enumerate().filter(|(i, _)| !written.contains(i));
                assert!(rest.into_iter().all(|(_, v)| *v == U::default()), "written outside: {output:?}");
            }
        }
    }
}

fn check_binary<T: Element, U: Element>(
    make: impl Fn(&Meta, &Meta, &Meta) -> Result<std::sync::Arc<dyn opforge_runtime::HostKernel>>,
    value: impl Fn(usize) -> T,
    want: impl Fn(T, T) -> U,
) {
    for dims in SHAPES {
        for (i, a) in layouts(dims, false).into_iter().enumerate() {
            for (j, b) in layouts(dims, false).into_iter().enumerate() {
                let outputs = layouts(dims, true);
                let output = outputs[(i + j) % outputs.len()].clone();
                let (a, b) = (Array::new(a.clone(), &value), Array::new(b, |i| value(i * 7 + 1)));
                let mut y = Array::new(output, |_| U::default());
                let kernel = make(&a.meta, &b.meta, &y.meta).unwrap();
                // SAFETY: the arrays have the metas' layouts.
                unsafe { kernel.run(&[a.ptr(), b.ptr()], &[y.mut_ptr()]).unwrap() };
                let wanted: Vec<U> = a.values().into_iter().zip(b.values()).map(|(a, b)| want(a, b)).collect();
                assert_same(&y.values(), &wanted, (T::DTYPE, &a.meta, &b.meta, &y.meta));
            }
        }
    }
}

/// Small whole numbers, halves, NaN and infinity; exact in every float type.
fn mixed<T: WithDType>(i: usize) -> T {
    match i % 11 {
        3 => T::from_f64(f64::NAN),
        5 => T::from_f64(f64::INFINITY),
        k => T::from_f64((i % 29) as f64 / 2.0 - k as f64),
    }
}

#[test]
fn unary_functions_of_every_dtype() {
    let f = Affine { mul: 2.0, add: 3.0 };
    let make = |x: &Meta, y: &Meta| unary("affine", f, x, y);
    on_every_isa(|| {
        check_unary(make, mixed::<f32>, |x| x * 2.0 + 3.0);
        check_unary(make, mixed::<f64>, |x| x * 2.0 + 3.0);
        check_unary(make, mixed::<f16>, |x| f16::from_f32(x.to_f32() * 2.0 + 3.0));
        check_unary(make, mixed::<bf16>, |x| bf16::from_f32(x.to_f32() * 2.0 + 3.0));
        check_unary(make, |i| i as u8, |x| x.wrapping_mul(2).wrapping_add(3));
        check_unary(make, |i| i as i64 - 40, |x| x.wrapping_mul(2).wrapping_add(3));
    });
}

#[test]
fn binary_functions_of_every_dtype() {
    let make = |a: &Meta, b: &Meta, y: &Meta| binary("add", Add, a, b, y);
    on_every_isa(|| {
        check_binary(make, mixed::<f32>, |a, b| a + b);
        check_binary(make, mixed::<f64>, |a, b| a + b);
        check_binary(make, mixed::<bf16>, |a, b| bf16::from_f32(a.to_f32() + b.to_f32()));
        check_binary(make, |i| i as i8, |a, b| a.wrapping_add(b));
        check_binary(make, |i| i as u32, |a, b| a.wrapping_add(b));
        check_binary(make, |i| i % 3 == 0, |a, b| a | b);
    });
}

#[test]
fn predicates_give_truth_values() {
    on_every_isa(|| {
        let make = |a: &Meta, b: &Meta, y: &Meta| compare("lt", Less, a, b, y);
        check_binary(make, mixed::<f32>, |a, b| a < b);
        check_binary(make, mixed::<f64>, |a, b| u8::from(a < b));
        check_binary(make, mixed::<f16>, |a, b| a < b);
        check_binary(make, |i| i as i16, |a, b| a < b);
        check_binary(make, |i| i % 3 == 0, |a, b| !a & b);
        let make = |x: &Meta, y: &Meta| test("isnan", IsNan, x, y);
        check_unary(make, mixed::<f32>, |x| x.is_nan());
        check_unary(make, |i| i as i32, |_| false);
    });
}

#[test]
fn casts_between_all_dtypes() {
    fn from<T: Element>(value: impl Fn(usize) -> T + Copy) {
        fn to<T: Element, U: Element>(value: impl Fn(usize) -> T) {
            let make = |x: &Meta, y: &Meta| cast("to_dtype", x, y);
            let dims = [3usize, 50];
            let layout = |reversed| {
                let stride = if reversed { [1usize, 3] } else { [50, 1] };
                Layout::new(Shape::from_dims(&dims), stride.into_iter().collect(), 0, "test").unwrap()
            };
            for reversed in [false, true] {
                let x = Array::new(layout(reversed), &value);
                let mut y = Array::new(layout(false), |_| U::default());
                let kernel = make(&x.meta, &y.meta).unwrap();
                // SAFETY: the arrays have the metas' layouts.
                unsafe { kernel.run(&[x.ptr()], &[y.mut_ptr()]).unwrap() };
                let wanted: Vec<U> = x.values().into_iter().map(|v| reference(v.to_scalar())).collect();
                assert_same(&y.values(), &wanted, (T::DTYPE, U::DTYPE));
            }
        }
        to::<T, bool>(value);
        to::<T, u8>(value);
        to::<T, u16>(value);
        to::<T, u32>(value);
        to::<T, u64>(value);
        to::<T, i8>(value);
        to::<T, i16>(value);
        to::<T, i32>(value);
        to::<T, i64>(value);
        to::<T, F8E4M3>(value);
        to::<T, F8E5M2>(value);
        to::<T, f16>(value);
        to::<T, bf16>(value);
        to::<T, f32>(value);
        to::<T, f64>(value);
        to::<T, Complex<f32>>(value);
        to::<T, Complex<f64>>(value);
    }
    /// Whole numbers wrap between integers; everything else is the scalar's own conversion.
    fn reference<U: Element>(v: Scalar) -> U {
        match v {
            Scalar::Int(i) if U::DTYPE.is_int() => {
                let bits = 64 - 8 * U::DTYPE.size_in_bytes() as u32;
                let wrapped =
                    if U::DTYPE.is_signed() { i << bits >> bits } else { ((i as u64) << bits >> bits) as i64 };
                U::from_scalar(if U::DTYPE == DType::U64 { Scalar::UInt(wrapped as u64) } else { Scalar::Int(wrapped) })
            }
            Scalar::Complex(re, _) if !U::DTYPE.is_complex() && U::DTYPE != DType::Bool => {
                U::from_scalar(Scalar::Float(re))
            }
            v => U::from_scalar(v),
        }
    }
    on_every_isa(|| {
        from(|i| i % 2 == 0);
        from(|i| i as u8);
        from(|i| i as u32);
        from(|i| i as u64 * 3);
        from(|i| i as i8);
        from(|i| i as i32 * 7 - 400);
        from(|i| i as i64 * 7 - 400);
        from(|i| F8E4M3::from_bits(i as u8));
        from(|i| F8E5M2::from_bits(i as u8));
        from(mixed::<f16>);
        from(mixed::<bf16>);
        from(mixed::<f32>);
        from(|i| mixed::<f64>(i) * 1e3);
        from(|i| Complex::new(mixed::<f32>(i), 1.0));
        from(|i| Complex::new(mixed::<f64>(i), i as f64 - 1.0));
    });
}

#[test]
fn ternary_select_and_fill() {
    on_every_isa(|| {
        for dims in SHAPES {
            for (i, layout) in layouts(dims, false).into_iter().enumerate() {
                let outputs = layouts(dims, true);
                let output = outputs[i % outputs.len()].clone();
                let a = Array::new(layout.clone(), mixed::<f32>);
                let b = Array::new(outputs[0].clone(), |i| i as f32);
                let mut y = Array::new(output.clone(), |_| 0f32);
                let kernel = ternary("lerp", Lerp, [&a.meta, &b.meta, &a.meta], &y.meta).unwrap();
                // SAFETY: the arrays have the metas' layouts.
                unsafe { kernel.run(&[a.ptr(), b.ptr(), a.ptr()], &[y.mut_ptr()]).unwrap() };
                let wanted: Vec<f32> = a.values().into_iter().zip(b.values()).map(|(a, b)| a + a * (b - a)).collect();
                assert_same(&y.values(), &wanted, &layout);

                let cond = Array::new(layout.clone(), |i| i % 3 == 0);
                let p = Array::new(layout.clone(), |i| Complex::new(i as f64, 1.0));
                let q = Array::new(outputs[0].clone(), |i| Complex::new(-(i as f64), 2.0));
                let mut y = Array::new(output.clone(), |_| Complex::new(0.0, 0.0));
                let kernel = select("where", &cond.meta, &p.meta, &q.meta, &y.meta).unwrap();
                // SAFETY: the arrays have the metas' layouts.
                unsafe { kernel.run(&[cond.ptr(), p.ptr(), q.ptr()], &[y.mut_ptr()]).unwrap() };
                let wanted = cond.values().into_iter().zip(p.values()).zip(q.values());
                assert_same(&y.values(), &wanted.map(|((c, p), q)| if c { p } else { q }).collect::<Vec<_>>(), &layout);

                let mut y = Array::new(output, |_| f16::ZERO);
                let kernel = fill("fill", Scalar::Float(1.5), &y.meta).unwrap();
                // SAFETY: the array has the meta's layout.
                unsafe { kernel.run(&[], &[y.mut_ptr()]).unwrap() };
                assert!(y.values().iter().all(|v| v.to_f32() == 1.5));
            }
        }
    });
}

#[test]
fn an_input_may_be_the_output() {
    on_every_isa(|| {
        for layout in SHAPES.into_iter().flat_map(|dims| layouts(dims, true)) {
            let x = Array::new(layout.clone(), mixed::<f32>);
            let mut y = x.clone();
            let kernel = binary("add", Add, &x.meta, &x.meta, &y.meta).unwrap();
            let ptr = y.mut_ptr();
            // SAFETY: the array has the metas' layout.
            unsafe { kernel.run(&[ptr, ptr], &[ptr]).unwrap() };
            let wanted: Vec<f32> = x.values().into_iter().map(|x| x + x).collect();
            assert_same(&y.values(), &wanted, layout);
        }
    });
}

#[test]
fn division_by_zero_is_an_error_and_overflow_wraps() {
    let meta = Meta::contiguous(DType::I32, 100usize);
    let kernel = binary("div", Div, &meta, &meta, &meta).unwrap();
    let run = |a: &[i32], b: &[i32]| {
        let mut y = vec![0i32; 100];
        // SAFETY: the arrays have 100 elements.
        unsafe { kernel.run(&[a.as_ptr().cast(), b.as_ptr().cast()], &[y.as_mut_ptr().cast()]).map(|()| y) }
    };
    let a: Vec<i32> = (0..100).map(|i| if i == 9 { i32::MIN } else { i * 10 }).collect();
    let mut b = vec![-1; 100];
    let y = run(&a, &b).unwrap();
    assert!(y.iter().zip(&a).all(|(y, a)| *y == a.wrapping_neg()));
    for i in [0, 31, 50, 99] {
        b[i] = 0;
        let error = run(&a, &b).unwrap_err();
        assert!(matches!(&error, Error::Value(r) if r.op == "div" && r.given[0].0 == "rhs"), "{error}");
        b[i] = 1;
    }
}

#[test]
fn large_tensors_on_several_threads() {
    let n = 3_000_001usize;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let mut y = vec![0f32; n];
    let meta = Meta::contiguous(DType::F32, n);
    let kernel = binary("add", Add, &meta, &meta, &meta).unwrap();
    // SAFETY: the arrays have n elements.
    unsafe { kernel.run(&[x.as_ptr().cast(), x.as_ptr().cast()], &[y.as_mut_ptr().cast()]).unwrap() };
    assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x));
}

#[test]
fn bad_arguments_are_refused_by_name() {
    let meta = |dtype| Meta::contiguous(dtype, (2usize, 3usize));
    let kind = |result: Result<std::sync::Arc<dyn opforge_runtime::HostKernel>>| result.err().unwrap();
    let f32s = meta(DType::F32);
    assert_eq!(kind(binary("add", Add, &f32s, &meta(DType::F64), &f32s)).kind(), ErrorKind::DType);
    assert!(matches!(kind(binary("add", Add, &f32s, &f32s, &Meta::contiguous(DType::F32, 6usize))), Error::Shape(_)));
    let complex = meta(DType::C64);
    assert!(matches!(
        kind(binary("add", Add, &complex, &complex, &complex)),
        Error::UnsupportedDTypeForOp(DType::C64, "add")
    ));
    let ints = meta(DType::I32);
    assert!(matches!(kind(ternary("lerp", Lerp, [&ints; 3], &ints)), Error::UnsupportedDTypeForOp(DType::I32, "lerp")));
    assert_eq!(kind(compare("lt", Less, &f32s, &f32s, &ints)).kind(), ErrorKind::DType);
    assert_eq!(kind(select("where", &ints, &f32s, &f32s, &f32s)).kind(), ErrorKind::DType);
    let overlapping = Layout::new(Shape::from_dims(&[2, 3]), [0, 1].into_iter().collect(), 0, "test").unwrap();
    let overlapping = Meta { dtype: DType::F32, layout: overlapping };
    assert!(matches!(kind(unary("affine", Affine { mul: 1.0, add: 0.0 }, &f32s, &overlapping)), Error::Value(_)));
}
