//! Pooling beside plain loops over all windows.

use opforge_core::{DType, Error, Meta};
use opforge_cpu::conv::{MAX_SPATIAL, Window};
use opforge_cpu::pool::*;
use opforge_cpu::simd::{Isa, with_isa};

use crate::testing::{Array, Threads, epsilon, layouts, noise, run};

/// Input and output dimensions, three of them spatial, and kernel, stride, padding and dilation; without them the windows are adaptive.
type Case = ([usize; 4], [usize; 4], Option<[usize; 4]>);

const CASES: [Case; 15] = [
    ([2, 1, 6, 70], [2, 1, 3, 35], Some([3, 2, 1, 1])),
    ([1, 1, 8, 45], [1, 1, 8, 45], Some([5, 1, 2, 1])),
    ([2, 1, 9, 40], [2, 1, 4, 20], Some([2, 2, 0, 1])),
    ([3, 4, 5, 33], [3, 4, 5, 33], Some([3, 1, 1, 1])),
    ([1, 1, 12, 37], [1, 1, 5, 17], Some([3, 2, 1, 2])),
    ([2, 3, 7, 8], [2, 2, 3, 3], Some([2, 3, 1, 1])),
    ([2, 3, 7, 20], [2, 2, 3, 6], None),
    ([70, 1, 16, 16], [70, 1, 4, 4], None),
    ([2, 1, 7, 70], [2, 1, 1, 10], Some([7, 7, 0, 1])),
    ([1, 1, 8, 270], [1, 1, 2, 67], Some([4, 4, 0, 1])),
    ([1, 1, 9, 100], [1, 1, 3, 33], Some([5, 3, 1, 1])),
    ([2, 1, 5, 150], [2, 1, 3, 11], None),
    ([3, 1, 1, 100], [3, 1, 1, 50], Some([2, 2, 0, 1])),
    ([3, 1, 1, 100], [3, 1, 1, 98], Some([3, 1, 0, 1])),
    ([3, 1, 1, 101], [3, 1, 1, 34], Some([5, 3, 2, 1])),
];

fn windows(case: &Case) -> Windows {
    let Some([kernel, stride, padding, dilation]) = case.2 else { return Windows::Adaptive };
    // A dimension of length 1 is not there.
    let there = |d: usize| case.0[d + 1] > 1;
    let window = Window { stride, padding, dilation };
    Windows::Sliding {
        kernel: std::array::from_fn(|d| if there(d) { kernel } else { 1 }),
        windows: std::array::from_fn(|d| if there(d) { window } else { Window::UNIT }),
    }
}

/// The places in a plane of the input under each output's window.
fn places(case: &Case) -> Vec<Vec<usize>> {
    let (x, y, sliding) = case;
    let along = |d: usize, i: usize| -> Vec<usize> {
        let (n, m) = (x[d + 1], y[d + 1]);
        match sliding {
            _ if n == 1 => vec![0],
            Some([kernel, stride, padding, dilation]) => {
                let at = |k: usize| (i * stride + k * dilation).checked_sub(*padding).filter(|&at| at < n);
                (0..*kernel).filter_map(at).collect()
            }
            None => (i * n / m..((i + 1) * n).div_ceil(m)).collect(),
        }
    };
    let mut all = Vec::new();
    for i in 0..y[1] * y[2] * y[3] {
        let at = [i / y[3] / y[2], i / y[3] % y[2], i % y[3]];
        let mut under = vec![0];
        for d in 0..MAX_SPATIAL {
            let next = along(d, at[d]);
            under = under.iter().flat_map(|p| next.iter().map(move |n| p * x[d + 1] + n)).collect();
        }
        all.push(under);
    }
    all
}

/// `f` of each output: the values of its plane and the places under its window.
fn outputs<R>(case: &Case, x: &[f64], f: impl Fn(&[f64], &[usize]) -> R) -> Vec<R> {
    let places = places(case);
    let plane = case.0[1..].iter().product();
    x.chunks(plane).flat_map(|plane| places.iter().map(|under| f(plane, under)).collect::<Vec<_>>()).collect()
}

#[test]
fn the_greatest_and_its_place_in_every_dtype_and_layout() {
    for case in CASES {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::U8, DType::I32, DType::I64] {
            for (layout, isa) in
                layouts(&case.0).into_iter().flat_map(|l| Isa::supported().map(move |i| (l.clone(), i)))
            {
                let special = |i: usize| dtype.is_float() && i % 23 == 5;
                let value = |i: usize| if special(i) { f64::NAN } else { noise(i).abs() };
                let x = Array::new(dtype, layout, value);
                let metas = [Meta::contiguous(dtype, case.1), Meta::contiguous(DType::I64, case.1)];
                let kernel =
                    with_isa(isa, || max_pool("test", &windows(&case), 3, &x.meta, &metas[0], Some(&metas[1])));
                let got = run(&*kernel.unwrap(), &[&x], &metas);
                let (values, found) = (got[0].values(), got[1].values());
                let best = outputs(&case, &x.values(), |plane, under| {
                    let better = |best: usize, &at: &usize| {
                        if plane[at] > plane[best] || plane[at].is_nan() { at } else { best }
                    };
                    let at = under.iter().fold(under[0], better);
                    (plane[at], at as f64)
                });
                let kernel = with_isa(isa, || max_pool("test", &windows(&case), 3, &x.meta, &metas[0], None));
                let alone = run(&*kernel.unwrap(), &[&x], &metas[..1])[0].values();
                let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
                for (i, (value, place)) in best.into_iter().enumerate() {
                    let (v, p) = (values[i], found[i]);
                    assert!(
                        same(v, value) && p == place && same(alone[i], value),
                        "{case:?} in {dtype}, {isa:?}: {v} at {p}, expected {value} at {place}"
                    );
                }
            }
        }
    }
}

#[test]
fn averages_and_their_gradients_in_every_dtype() {
    for (case, isa) in CASES.into_iter().flat_map(|case| Isa::supported().map(move |isa| (case, isa))) {
        for (dtype, divisor) in [
            (DType::F32, Divisor::Inside),
            (DType::F64, Divisor::Number(-3)),
            (DType::F16, Divisor::Inside),
            (DType::BF16, Divisor::Number(2)),
        ] {
            let average = Average { windows: windows(&case), divisor };
            let count = |under: &[usize]| match divisor {
                Divisor::Number(n) => n as f64,
                _ => under.len() as f64,
            };
            let x = Array::new(dtype, layouts(&case.0).swap_remove(3), noise);
            let expected = outputs(&case, &x.values(), |plane, under| {
                under.iter().map(|&at| plane[at]).sum::<f64>() / count(under)
            });
            let y = Meta::contiguous(dtype, case.1);
            let kernel = with_isa(isa, || average_pool("test", &average, 3, &x.meta, &y)).unwrap();
            near(&run(&*kernel, &[&x], &[y])[0], &expected, dtype);

            let dy = Array::new(dtype, layouts(&case.1).swap_remove(2), noise);
            let mut expected = vec![0.0; case.0.iter().product()];
            let plane: usize = case.0[1..].iter().product();
            let places = places(&case);
            for (i, dy) in dy.values().into_iter().enumerate() {
                let under = &places[i % places.len()];
                under.iter().for_each(|at| expected[i / places.len() * plane + at] += dy / count(under));
            }
            let dx = Meta::contiguous(dtype, case.0);
            let kernel = with_isa(isa, || average_pool_gradient("test", &average, 3, &dy.meta, &dx)).unwrap();
            near(&run(&*kernel, &[&dy], &[dx])[0], &expected, dtype);
        }
    }
}

fn near(got: &Array, expected: &[f64], dtype: DType) {
    for (got, want) in got.values().into_iter().zip(expected) {
        assert!((got - want).abs() <= 8.0 * epsilon(dtype) * (1.0 + want.abs()), "{got} in {dtype}, expected {want}");
    }
}

#[test]
fn padding_counts_up_to_its_end() {
    // Windows of 3 at -1, 1 and 3 on a line of 4, the last of which ends beyond the padding.
    let windows = Windows::Sliding {
        kernel: [1, 1, 3],
        windows: [Window::UNIT, Window::UNIT, Window { stride: 2, padding: 1, dilation: 1 }],
    };
    let x = Array::contiguous(DType::F64, &[1, 4], |_| 6.0);
    for (divisor, expected) in [(Divisor::Padded, [4.0, 6.0, 3.0]), (Divisor::Inside, [6.0, 6.0, 6.0])] {
        let y = Meta::contiguous(DType::F64, [1, 3]);
        let kernel = average_pool("test", &Average { windows, divisor }, 1, &x.meta, &y).unwrap();
        assert_eq!(run(&*kernel, &[&x], &[y])[0].values(), expected);
    }
}

#[test]
fn gradients_go_to_the_places_and_nowhere_else() {
    let (dy, dx) = ([2, 3], Meta::contiguous(DType::F32, [2, 5]));
    let gradient = Array::contiguous(DType::F32, &dy, |i| i as f64 + 1.0);
    let places = |at: [f64; 6]| Array::contiguous(DType::I64, &dy, |i| at[i]);
    let kernel = max_pool_gradient("test", 1, &gradient.meta, &places([0.0; 6]).meta, &dx).unwrap();
    for threads in [1, 3] {
        let _threads = Threads::set(threads);
        let got = run(&*kernel, &[&gradient, &places([1.0, 4.0, 1.0, 0.0, -1.0, 2.0])], std::slice::from_ref(&dx));
        assert_eq!(got[0].values(), [0.0, 4.0, 0.0, 0.0, 2.0, 4.0, 0.0, 6.0, 0.0, 0.0]);
    }
    let beyond = places([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]);
    let mut out = Array::contiguous(DType::F32, &[2, 5], |_| 0.0);
    // SAFETY: the arrays are those the kernel was prepared for.
    let result = unsafe { kernel.run(&[gradient.ptr(), beyond.ptr()], &[out.ptr_mut()]) };
    assert!(matches!(result, Err(Error::Index(_))));
}

#[test]
fn empty_lines_are_not_walked_however_many() {
    let x = Array::contiguous(DType::F32, &[1, 3, 3], |i| i as f64);
    let [y, places] = [DType::F32, DType::I64].map(|dtype| Meta::contiguous(dtype, [1, 1 << 40, 0]));
    let kernel = max_pool("test", &Windows::Adaptive, 2, &x.meta, &y, Some(&places)).unwrap();
    assert!(run(&*kernel, &[&x], &[y.clone(), places])[0].values().is_empty());
    let average = Average { windows: Windows::Adaptive, divisor: Divisor::Inside };
    let kernel = average_pool("test", &average, 2, &x.meta, &y).unwrap();
    assert!(run(&*kernel, &[&x], &[y])[0].values().is_empty());
}

#[test]
fn elements_beyond_the_input_are_not_walked_however_many() {
    let window = Window { stride: 1 << 40, padding: 0, dilation: 1 };
    let windows = Windows::Sliding { kernel: [1, 1, 1 << 40], windows: [Window::UNIT, Window::UNIT, window] };
    let x = Array::contiguous(DType::F32, &[1, 2], |i| i as f64);
    let [y, places] = [DType::F32, DType::I64].map(|dtype| Meta::contiguous(dtype, [1, 1]));
    let kernel = max_pool("test", &windows, 1, &x.meta, &y, Some(&places)).unwrap();
    assert_eq!(run(&*kernel, &[&x], &[y.clone(), places])[1].values(), [1.0]);
    let average = Average { windows, divisor: Divisor::Inside };
    let kernel = average_pool("test", &average, 1, &x.meta, &y).unwrap();
    assert_eq!(run(&*kernel, &[&x], &[y])[0].values(), [0.5]);
}
