//! Every kernel that adds up many floats, against exact sums: rounding errors may grow with the root of their number, never with the number.

use opforge_core::{DType, Layout, Meta, Result, Shape, Strides};
use opforge_cpu::conv::{Geometry, MAX_SPATIAL, Window};
use opforge_cpu::index::Special;
use opforge_cpu::norm::Over;
use opforge_cpu::pool::{Average, Divisor, Windows};
use opforge_cpu::reduce::{Integers, Reducer};
use opforge_cpu::simd::{Float, Isa, with_isa};
use opforge_runtime::HostKernel;
use opforge_tile::Softmax;
use opforge_tile::forms::{Running, Scan};

use crate::testing::{Array, epsilon, run};

/// Elements of a sum. One running sum in f32 of as many tenths is off by a thousandth.
const N: usize = 1 << 16;
/// What each element is.
const TENTH: f64 = 0.1f32 as f64;

/// Contiguous, with gaps, and one element for all.
fn layouts(dims: &[usize]) -> Vec<Layout> {
    let strides = Layout::contiguous(dims).stride().to_vec();
    let layout = |factor: usize| {
        let strides = Strides::from_vec(strides.iter().map(|s| s * factor).collect());
        Layout::new(Shape::from_dims(dims), strides, 0, "test").expect("small layouts are valid")
    };
    vec![layout(1), layout(2), layout(0)]
}

fn tenths(layout: Layout) -> Array {
    Array::new(DType::F32, layout, |_| TENTH)
}

fn ones(dims: &[usize]) -> Array {
    Array::contiguous(DType::F32, dims, |_| 1.0)
}

/// Every output must be the number but for errors of as many roundings as the root of `N`.
fn assert_sums(got: &Array, expected: f64, what: &dyn std::fmt::Debug) {
    let bound = (N as f64).sqrt() * epsilon(DType::F32);
    for (i, got) in got.values().into_iter().enumerate() {
        assert!((got / expected - 1.0).abs() < bound, "{what:?} element {i}: {got}, not {expected}");
    }
}

fn check(kernel: &dyn HostKernel, inputs: &[&Array], dims: &[usize], expected: f64, what: &dyn std::fmt::Debug) {
    assert_sums(&run(kernel, inputs, &[Meta::contiguous(DType::F32, dims)])[0], expected, what);
}

fn on_every_isa(test: impl Fn() -> Result<()>) {
    Isa::supported().for_each(|isa| with_isa(isa, || test().expect("valid kernels")));
}

#[test]
fn matrix_products() {
    on_every_isa(|| {
        for (m, n) in [(1, 1), (1, 20), (3, 1), (2, 3)] {
            let (a_layouts, b_layouts) = (layouts(&[m, N]), layouts(&[N, n]));
            let turned = layouts(&[n, N]).into_iter().map(|l| l.transpose(0, 1));
            let b_layouts = b_layouts.into_iter().map(Ok).chain(turned);
            for (a, b) in a_layouts.iter().cycle().zip(b_layouts) {
                let (a, b) = (tenths(a.clone()), tenths(b?));
                let output = Meta::contiguous(DType::F32, [m, n]);
                let kernel = opforge_cpu::matmul::matmul("matmul", &a.meta, &b.meta, &output)?;
                check(&*kernel, &[&a, &b], &[m, n], N as f64 * TENTH * TENTH, &(&a.meta, &b.meta));
            }
        }
        Ok(())
    });
}

/// One spatial dimension.
const LINE: Geometry = Geometry { windows: [Window::UNIT; MAX_SPATIAL], groups: 1 };

#[test]
fn long_kernels_of_convolutions() {
    on_every_isa(|| {
        for outputs in [1, 4] {
            for layout in layouts(&[1, 1, N]) {
                let (x, w) = (tenths(layout), ones(&[outputs, 1, N]));
                let y = Meta::contiguous(DType::F32, [1, outputs, 1]);
                let kernel = opforge_cpu::conv::convolve("conv", &LINE, &x.meta, &w.meta, None, &y)?;
                check(&*kernel, &[&x, &w], y.dims(), N as f64 * TENTH, &(outputs, &x.meta));
            }
        }
        Ok(())
    });
}

#[test]
fn gradients_of_convolutions() {
    on_every_isa(|| {
        for inputs in [1, 2] {
            for layout in layouts(&[1, 2, N]) {
                let (x, y) = (ones(&[1, inputs, N + 2]), tenths(layout));
                let w = Meta::contiguous(DType::F32, [2, inputs, 3]);
                let kernel = opforge_cpu::conv::weight_gradient("conv", &LINE, &x.meta, &y.meta, &w)?;
                check(&*kernel, &[&x, &y], w.dims(), N as f64 * TENTH, &(inputs, &y.meta));
            }
        }
        Ok(())
    });
}

#[test]
fn large_windows_of_averages() {
    on_every_isa(|| {
        let mut kernel = [1; MAX_SPATIAL];
        kernel[MAX_SPATIAL - 1] = N;
        let sliding = Windows::Sliding { kernel, windows: LINE.windows };
        for (windows, len, outputs) in [(sliding, N + 1, 2), (Windows::Adaptive, N, 1)] {
            for layout in layouts(&[1, 1, len]) {
                let (x, y) = (tenths(layout), Meta::contiguous(DType::F32, [1, 1, outputs]));
                let average = Average { windows, divisor: Divisor::Number(1) };
                let kernel = opforge_cpu::pool::average_pool("avg_pool", &average, 1, &x.meta, &y)?;
                check(&*kernel, &[&x], y.dims(), N as f64 * TENTH, &(windows, &x.meta));
            }
        }
        Ok(())
    });
}

/// All into one place, of few and of many, in rows and element by element.
#[test]
fn additions_at_indices() -> Result<()> {
    for (places, width) in [(1, 1), (5, 1), (1, 12), (5, 12), (N, 12)] {
        // With rows short ones are enough; the first rows of many places are no hidden ones.
        let last = places - 1;
        let ids = Array::contiguous(DType::I64, &[N], |_| last as f64);
        for layout in layouts(&[N, width]) {
            let (base, src) = (ones(&[places, width]), tenths(layout));
            let output = Meta::contiguous(DType::F32, [places, width]);
            let kernel = opforge_cpu::index::index_add(
                "index_add",
                &base.meta,
                &ids.meta,
                &src.meta,
                0,
                Special::None,
                &output,
            )?;
            let got = run(&*kernel, &[&base, &ids, &src], &[output]);
            let row = got[0].values().split_off(last * width);
            let row = Array::contiguous(DType::F32, &[width], |i| row[i]);
            assert_sums(&row, 1.0 + N as f64 * TENTH, &(places, width, &src.meta));
        }
    }
    Ok(())
}

/// Where one index is frequent among others that share its bucket, each of these is added up too.
#[test]
fn frequent_indices_among_others() -> Result<()> {
    let (places, width) = (1 << 14, 8);
    let id = |i: usize| if i.is_multiple_of(2) { 77 } else { ((i * 2654435761) >> 7) % places };
    let mut expected = vec![0.0; places];
    (0..1 << 15).for_each(|i| expected[id(i)] += 1.0);
    for dtype in [DType::F32, DType::F16, DType::F64] {
        let ids = Array::contiguous(DType::U32, &[1 << 15], |i| id(i) as f64);
        let (base, src) =
            (Array::contiguous(dtype, &[places, width], |_| 0.0), Array::contiguous(dtype, &[1 << 15, width], |_| 1.0));
        let kernel =
            opforge_cpu::index::index_add("index_add", &base.meta, &ids.meta, &src.meta, 0, Special::None, &base.meta)?;
        let got = run(&*kernel, &[&base, &ids, &src], std::slice::from_ref(&base.meta));
        let expected = Array::contiguous(dtype, &[places, width], |i| expected[i / width]).values();
        for (i, (got, expected)) in got[0].values().into_iter().zip(expected).enumerate() {
            assert_eq!(got, expected, "{dtype} element {i}");
        }
    }
    Ok(())
}

/// As many places as additions, and nearly all of them to one: of vectors, of rows too short to be walked as such, of halves.
#[test]
fn skewed_indices_into_many_places() -> Result<()> {
    let (n, places) = (1 << 18, 1 << 18);
    for (dtype, width) in [(DType::F32, 1), (DType::F32, 2), (DType::BF16, 1), (DType::F64, 1)] {
        let ids = Array::contiguous(DType::I64, &[n], |i| if i % 16 == 5 { i as f64 } else { 7.0 });
        let (base, src) =
            (Array::contiguous(dtype, &[places, width], |_| 0.0), Array::contiguous(dtype, &[n, width], |_| TENTH));
        let kernel =
            opforge_cpu::index::index_add("index_add", &base.meta, &ids.meta, &src.meta, 0, Special::None, &base.meta)?;
        let sums = run(&*kernel, &[&base, &ids, &src], std::slice::from_ref(&base.meta))[0].values();
        let (tenth, most) = (src.values()[0], (n - n / 16) as f64);
        let relative = if dtype == DType::BF16 { 1.0 / 256.0 } else { 1e-6 };
        for (i, sum) in sums.iter().enumerate() {
            let times = if i / width == 7 {
                most
            } else if i / width % 16 == 5 {
                1.0
            } else {
                0.0
            };
            assert!((sum - times * tenth).abs() <= relative * times * tenth, "{dtype}, {width}: {sum} for {times}");
        }
    }
    Ok(())
}

/// `e^x` is 1 for the first row and a tenth for all others.
#[test]
fn softmax_down_columns() {
    on_every_isa(|| {
        let dims = [N, 8];
        let x = Array::contiguous(DType::F32, &dims, |i| if i < 8 { 0.0 } else { TENTH.ln() });
        let kernel = opforge_cpu::rows::rows("softmax", Softmax::Plain, 0, [&x.meta], &[&x.meta])?;
        let got = run(&*kernel, &[&x], std::slice::from_ref(&x.meta))[0].values();
        let first = Array::contiguous(DType::F32, &[8], |i| got[i]);
        assert_sums(&first, 1.0 / (1.0 + (N - 1) as f64 * f64::from(TENTH.ln() as f32).exp()), &"softmax");
        Ok(())
    });
}

#[derive(Clone, Copy)]
struct Sum;
impl Reducer for Sum {
    const INTEGERS: Integers = Integers::Refuse;
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

#[test]
fn reductions_and_running_sums() {
    on_every_isa(|| {
        for (dims, axis) in [([N, 1], 0), ([1, N], 1), ([N, 3], 0), ([3, N], 1), ([N, 70], 0)] {
            for layout in layouts(&dims) {
                let x = tenths(layout);
                let kernel = opforge_cpu::reduce::reduce(
                    "sum",
                    Sum,
                    &x.meta,
                    &[axis],
                    &Meta::contiguous(DType::F32, dims[1 - axis]),
                )?;
                check(&*kernel, &[&x], &[dims[1 - axis]], N as f64 * TENTH, &(&x.meta, axis));
            }
        }
        let x = tenths(Layout::contiguous(N));
        let kernel = opforge_cpu::scan::scan("cumsum", Scan { running: Running::Sum, axis: 0 }, &x.meta, &x.meta)?;
        let last = run(&*kernel, &[&x], std::slice::from_ref(&x.meta))[0].values()[N - 1];
        assert_sums(&Array::contiguous(DType::F32, &[1], |_| last), N as f64 * TENTH, &"cumsum");
        Ok(())
    });
}

#[test]
fn means_of_batches() {
    on_every_isa(|| {
        for (dims, over) in [([N, 2, 1], Over::Batch), ([2, 2, N / 2], Over::Batch), ([1, 2, N], Over::Groups(1))] {
            for layout in layouts(&dims) {
                let x = tenths(layout);
                let sets = match over {
                    Over::Batch => vec![2],
                    Over::Groups(_) => vec![1, 1],
                };
                let (y, stat) = (Meta::contiguous(DType::F32, dims), Meta::contiguous(DType::F32, sets));
                let kernel = opforge_cpu::norm::batch_norm("norm", over, &x.meta, [None; 2], 1e-5, [&y, &stat, &stat])?;
                let got = run(&*kernel, &[&x], &[y, stat.clone(), stat]);
                assert_sums(&got[1], TENTH, &(&x.meta, over));
            }
        }
        Ok(())
    });
}
