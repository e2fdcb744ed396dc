//! Convolutions of all kinds beside plain loops.

use std::sync::Arc;

use opforge_core::{DType, Meta};
use opforge_cpu::conv::*;
use opforge_cpu::simd::{Isa, with_isa};
use opforge_runtime::HostKernel;

use crate::testing::{Array, Threads, epsilon, layouts, noise, run};

/// A convolution's sizes: batch, groups, channels of a group, and for each spatial dimension x, kernel, stride, padding, dilation.
struct Case {
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    spatial: &'static [[usize; 5]],
    bias: bool,
}

const CASES: &[Case] = &[
    case(2, 1, 3, 5, &[[7, 3, 1, 1, 1], [9, 3, 1, 1, 1]], true),
    case(1, 1, 4, 13, &[[8, 1, 1, 0, 1], [6, 1, 1, 0, 1]], true),
    case(3, 2, 2, 3, &[[8, 3, 2, 1, 1], [7, 2, 3, 0, 2]], false),
    case(1, 1, 5, 4, &[[30, 4, 2, 3, 3]], true),
    case(2, 1, 2, 3, &[[4, 2, 1, 1, 1], [5, 3, 2, 1, 1], [6, 2, 1, 0, 2]], true),
    case(2, 6, 1, 1, &[[9, 3, 1, 1, 1], [40, 3, 1, 1, 1]], true),
    case(1, 3, 1, 2, &[[9, 3, 2, 1, 1], [9, 3, 2, 1, 1]], false),
    case(9, 1, 17, 26, &[[12, 3, 1, 0, 1], [37, 3, 1, 2, 1]], true),
    case(1, 1, 33, 14, &[[32, 3, 1, 1, 1], [40, 3, 1, 1, 1]], false),
    case(2, 1, 3, 4, &[[6, 2, 4, 0, 1], [6, 1, 3, 0, 1]], true),
    case(2, 1, 3, 4, &[[3, 2, 1, 4, 1]], false),
    case(1, 1, 40, 3, &[[16, 4, 4, 0, 1], [16, 4, 4, 0, 1]], true),
    case(3, 1, 1, 6, &[[9, 3, 1, 1, 1], [37, 3, 1, 1, 1]], true),
    case(2, 3, 1, 1, &[[9, 3, 3, 1, 2], [70, 5, 3, 2, 2]], true),
    case(2, 1, 7, 9, &[[9, 3, 2, 1, 1], [41, 4, 2, 1, 3]], true),
    case(2, 4, 1, 1, &[[30, 7, 30, 0, 1]], false),
    // Lines that are joined: some end within a register block, some at its end; and planes of them.
    case(2, 1, 9, 5, &[[20, 3, 1, 1, 1], [20, 3, 1, 1, 1]], true),
    case(1, 2, 8, 15, &[[9, 3, 1, 1, 1], [56, 3, 1, 1, 1]], false),
    case(1, 1, 8, 4, &[[3, 2, 1, 1, 1], [7, 3, 1, 1, 1], [18, 3, 1, 1, 1]], true),
    case(1, 1, 33, 3, &[[5, 3, 2, 2, 1], [5, 3, 1, 2, 1]], true),
    // Images side by side, in the source and in slabs, with more of them than fit.
    case(19, 1, 6, 7, &[[5, 1, 1, 0, 1], [5, 1, 1, 0, 1]], true),
    case(13, 2, 5, 4, &[[13, 3, 2, 1, 1], [13, 3, 2, 1, 1]], false),
    // In panels, or, where threads share rows, of the slab as it is.
    case(1, 1, 33, 96, &[[8, 3, 1, 1, 1], [8, 3, 1, 1, 1]], true),
    // Systems of a transpose of which the one with fewer reads has deeper blocks.
    case(2, 1, 9, 33, &[[9, 3, 1, 1, 1], [49, 5, 2, 1, 1]], true),
];

const fn case(
    batch: usize,
    groups: usize,
    inputs: usize,
    outputs: usize,
    spatial: &'static [[usize; 5]],
    bias: bool,
) -> Case {
    Case { batch, groups, inputs, outputs, spatial, bias }
}

impl Case {
    fn geometry(&self) -> Geometry {
        let mut windows = [Window::UNIT; MAX_SPATIAL];
        for (window, s) in windows[MAX_SPATIAL - self.spatial.len()..].iter_mut().zip(self.spatial) {
            *window = Window { stride: s[2], padding: s[3], dilation: s[4] };
        }
        Geometry { windows, groups: self.groups }
    }

    /// The dimensions of x, w and y.
    fn dims(&self) -> [Vec<usize>; 3] {
        let length = |s: &[usize; 5]| (s[0] + 2 * s[3] - s[4] * (s[1] - 1) - 1) / s[2] + 1;
        let with = |lead: [usize; 2], f: &dyn Fn(&[usize; 5]) -> usize| {
            lead.into_iter().chain(self.spatial.iter().map(f)).collect::<Vec<_>>()
        };
        [
            with([self.batch, self.groups * self.inputs], &|s| s[0]),
            with([self.groups * self.outputs, self.inputs], &|s| s[1]),
            with([self.batch, self.groups * self.outputs], &length),
        ]
    }

    /// Calls `f` with the flat places of x, w and y of every product.
    fn each_product(&self, mut f: impl FnMut([usize; 3])) {
        let [x, w, y] = self.dims();
        let planes = [&x, &w, &y].map(|dims| dims[2..].iter().product::<usize>());
        for (t, at_t) in positions(&y[2..]).iter().enumerate() {
            for (k, at_k) in positions(&w[2..]).iter().enumerate() {
                let meet = |d: usize| {
                    let [length, _, stride, padding, dilation] = self.spatial[d];
                    (at_t[d] * stride + at_k[d] * dilation).checked_sub(padding).filter(|&at| at < length)
                };
                let step = |flat: Option<usize>, d: usize| Some(flat? * x[d + 2] + meet(d)?);
                let Some(at) = (0..at_t.len()).fold(Some(0), step) else { continue };
                for n in 0..self.batch {
                    for o in 0..y[1] {
                        for c in 0..self.inputs {
                            let from = n * x[1] + o / self.outputs * self.inputs + c;
                            let of = o * self.inputs + c;
                            f([from * planes[0] + at, of * planes[1] + k, (n * y[1] + o) * planes[2] + t]);
                        }
                    }
                }
            }
        }
    }
}

/// All positions in row-major order.
fn positions(dims: &[usize]) -> Vec<Vec<usize>> {
    let one = |mut i: usize| {
        let mut at: Vec<usize> = dims.iter().rev().map(|n| (i % n, i /= n).0).collect();
        at.reverse();
        at
    };
    (0..dims.iter().product()).map(one).collect()
}

/// Which tensor is computed from the other two.
#[derive(Clone, Copy, Debug)]
enum Computed {
    Y,
    X,
    W,
}

const ALL: [Computed; 3] = [Computed::Y, Computed::X, Computed::W];

/// Where a tensor stands in [`Case::dims`].
fn places(computed: Computed) -> [usize; 3] {
    match computed {
        Computed::Y => [0, 1, 2],
        Computed::X => [2, 1, 0],
        Computed::W => [0, 2, 1],
    }
}

fn kernel(case: &Case, computed: Computed, inputs: &[&Meta], output: &Meta) -> Arc<dyn HostKernel> {
    let (geometry, bias) = (case.geometry(), inputs.get(2).copied());
    match computed {
        Computed::Y => convolve("test", &geometry, inputs[0], inputs[1], bias, output),
        Computed::X => transposed("test", &geometry, inputs[0], inputs[1], bias, output),
        Computed::W => weight_gradient("test", &geometry, inputs[0], inputs[1], output),
    }
    .expect("a right call")
}

/// Inputs, and what loops in f64 make of them.
struct Reference {
    inputs: Vec<Array>,
    expected: Vec<f64>,
    /// The sum of the magnitudes of each result's terms.
    size: Vec<f64>,
}

/// The numbers are so coarse that every dtype holds them.
fn reference(case: &Case, computed: Computed, dtype: DType, variant: usize) -> Reference {
    let dims = case.dims();
    let [a, b, out] = places(computed);
    let make =
        |dims: &[usize], seed: usize| Array::new(dtype, layouts(dims).swap_remove(variant), |i| noise(i + seed) / 4.0);
    let mut inputs = vec![make(&dims[a], 1), make(&dims[b], 1000)];
    let len: usize = dims[out].iter().product();
    let (mut expected, mut size) = (vec![0.0; len], vec![0.0; len]);
    if case.bias && !matches!(computed, Computed::W) {
        inputs.push(make(&dims[out][1..2], 5000));
        let (bias, plane) = (inputs[2].values(), dims[out][2..].iter().product::<usize>());
        expected.iter_mut().enumerate().for_each(|(i, e)| *e = bias[i / plane % dims[out][1]]);
    }
    let (a_values, b_values) = (inputs[0].values(), inputs[1].values());
    case.each_product(|at| {
        let term = a_values[at[a]] * b_values[at[b]];
        expected[at[out]] += term;
        size[at[out]] += term.abs();
    });
    Reference { inputs, expected, size }
}

/// Runs one kernel on the reference's inputs, or others of equal value, and compares.
fn check(case: &Case, computed: Computed, inputs: &[Array], reference: &Reference) -> Vec<f64> {
    let dims = &case.dims()[places(computed)[2]];
    let dtype = inputs[0].meta.dtype;
    let output = Meta::contiguous(dtype, &dims[..]);
    let kernel = kernel(case, computed, &inputs.iter().map(|a| &a.meta).collect::<Vec<_>>(), &output);
    let inputs: Vec<&Array> = inputs.iter().collect();
    let got = run(&*kernel, &inputs, std::slice::from_ref(&output))[0].values();
    if let Some(packed) = with_packed_weight(&*kernel, &inputs, output) {
        assert_eq!(packed, got);
    }
    for (i, (got, want)) in got.iter().zip(&reference.expected).enumerate() {
        let tolerance = 2.0 * epsilon(dtype) * want.abs() + 16.0 * epsilon(dtype).min(1e-6) * (1.0 + reference.size[i]);
        assert!((got - want).abs() <= tolerance, "{computed:?} of {dims:?} in {dtype}: {got} at {i}, expected {want}");
    }
    got
}

/// What the kernel makes of a weight that is packed before, if it gains from that.
fn with_packed_weight(kernel: &dyn HostKernel, inputs: &[&Array], output: Meta) -> Option<Vec<f64>> {
    let prepack = kernel.prepack()?;
    let weight = inputs[prepack.input];
    let dtype = weight.meta.dtype;
    let packed = Meta::contiguous(dtype, prepack.bytes / dtype.size_in_bytes());
    let packed = run(&*prepack.pack, &[weight], &[packed]).swap_remove(0);
    let mut inputs = inputs.to_vec();
    inputs[prepack.input] = &packed;
    Some(run(&*prepack.kernel, &inputs, &[output])[0].values())
}

/// [`check`] compares what kernels make of packed weights: there are such kernels.
#[test]
fn weights_are_packed_where_few_positions_use_them() {
    let gains = |case: &Case, computed| {
        let reference = reference(case, computed, DType::F32, 0);
        let metas: Vec<&Meta> = reference.inputs.iter().map(|a| &a.meta).collect();
        let output = Meta::contiguous(DType::F32, &case.dims()[places(computed)[2]][..]);
        kernel(case, computed, &metas, &output).prepack().is_some()
    };
    let packed = CASES.iter().filter(|case| gains(case, Computed::Y) && gains(case, Computed::X)).count();
    assert!(packed > 10, "{packed} of {}", CASES.len());
    let direct = case(2, 6, 1, 1, &[[9, 3, 1, 1, 1], [40, 3, 1, 1, 1]], true);
    let long = case(1, 1, 3, 5, &[[64, 3, 1, 1, 1], [64, 3, 1, 1, 1]], true);
    assert!(!gains(&direct, Computed::Y) && !gains(&long, Computed::Y) && !gains(&long, Computed::W));
}

#[test]
fn agrees_with_loops_in_every_dtype_and_instruction_set() {
    for (case, computed) in CASES.iter().flat_map(|case| ALL.map(|computed| (case, computed))) {
        let reference = reference(case, computed, DType::F64, 0);
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let cast = |a: &Array| {
                let values = a.values();
                Array::contiguous(dtype, a.meta.dims(), |i| values[i])
            };
            let inputs: Vec<Array> = reference.inputs.iter().map(cast).collect();
            for isa in Isa::supported() {
                with_isa(isa, || check(case, computed, &inputs, &reference));
            }
        }
    }
}

#[test]
fn takes_any_strides() {
    for (case, computed) in CASES.iter().take(7).flat_map(|case| ALL.map(|computed| (case, computed))) {
        for variant in 1..5 {
            let reference = reference(case, computed, DType::F32, variant);
            check(case, computed, &reference.inputs, &reference);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (case, computed) in CASES.iter().flat_map(|case| ALL.map(|computed| (case, computed))) {
        let reference = reference(case, computed, DType::F32, 0);
        let results = [1, 2, 5].map(|threads| {
            let _threads = Threads::set(threads);
            check(case, computed, &reference.inputs, &reference)
        });
        assert!(results.iter().all(|r| *r == results[0]));
    }
}

/// Each element is told of once, when it is there, and left alone afterwards.
#[test]
fn rectangles_are_told_of_when_they_are_there() {
    let mut told = 0;
    for (case, computed) in CASES.iter().flat_map(|case| [Computed::Y, Computed::X].map(|computed| (case, computed))) {
        let reference = reference(case, computed, DType::F32, 0);
        let (dims, inputs) = (&case.dims()[places(computed)[2]], reference.inputs.iter().collect::<Vec<_>>());
        let output = Meta::contiguous(DType::F32, &dims[..]);
        for threads in [1, 2, 5] {
            let _threads = Threads::set(threads);
            let kernel = kernel(case, computed, &inputs.iter().map(|a| &a.meta).collect::<Vec<_>>(), &output);
            let Some(rectangles) = kernel.rectangles() else { continue };
            let ([.., columns], sizes) = (rectangles.shape(), rectangles.sizes());
            let whole = run(&*kernel, &inputs, std::slice::from_ref(&output))[0].values();
            let mut made = Array::new(DType::F32, output.layout.clone(), |_| 55.0);
            let (to, found) = (made.ptr_mut() as usize, std::sync::Mutex::new(vec![None; whole.len()]));
            let then = |at: [usize; 2], size: [usize; 2]| {
                assert!(
                    sizes.contains(&size) && size[0] <= sizes[0][0] && size[1] <= sizes[0][1],
                    "{size:?} of {sizes:?}"
                );
                for place in (0..size[0] * size[1]).map(|i| (at[0] + i / size[1]) * columns + at[1] + i % size[1]) {
                    // SAFETY: the rectangle is of the output, and nobody else's while this runs.
                    let value = unsafe { std::ptr::replace((to as *mut f32).add(place), -1.0) };
                    assert_eq!(
                        found.lock().unwrap()[place].replace(f64::from(value)),
                        None,
                        "{place} is told of twice"
                    );
                }
                Ok(())
            };
            let from: Vec<*const u8> = inputs.iter().map(|a| a.ptr()).collect();
            // SAFETY: the arrays cover the metas that the kernel was prepared for.
            unsafe { rectangles.run_then(&from, &[to as *mut u8], &then) }.expect("the kernel runs");
            assert_eq!(found.into_inner().unwrap(), whole.iter().copied().map(Some).collect::<Vec<_>>());
            assert!(made.values().iter().all(|&x| x == -1.0));
            told += 1;
        }
    }
    assert!(told > 60, "{told}");
}

#[test]
fn windows_beyond_the_address_space_are_refused() {
    let meta = |dims: &[usize]| Meta::contiguous(DType::F32, dims);
    let (x, w, y) = (meta(&[1, 1, 4]), meta(&[1, 1, 2]), meta(&[1, 1, 3]));
    let refused = |stride, padding, dilation, groups| {
        let mut windows = [Window::UNIT; MAX_SPATIAL];
        windows[2] = Window { stride, padding, dilation };
        convolve("test", &Geometry { windows, groups }, &x, &w, None, &y).is_err()
    };
    assert!(!refused(1, 0, 1, 1));
    assert!(refused(0, 0, 1, 1) && refused(1, 0, 0, 1) && refused(1, 0, 1, 0) && refused(1, 0, 1, 2));
    assert!(refused(usize::MAX, 0, 1, 1) && refused(1, usize::MAX, 1, 1) && refused(1, 0, usize::MAX / 2, 1));
}

/// Shapes drawn at random: working memory is divided between slabs, panels and sums in ways that depend on all lengths.
#[test]
fn drawn_shapes_agree_with_loops() {
    let mut state = 11u64;
    let mut draw = |among: &[usize]| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        among[(state >> 33) as usize % among.len()]
    };
    let mut drawn = 0;
    while drawn < 80 {
        let spatial: Vec<[usize; 5]> = (0..draw(&[1, 2, 2, 3]))
            .map(|_| {
                [
                    draw(&[1, 5, 7, 9, 14, 18, 24, 40]),
                    draw(&[1, 2, 3, 5]),
                    draw(&[1, 1, 2, 3]),
                    draw(&[0, 1, 2]),
                    draw(&[1, 1, 2]),
                ]
            })
            .collect();
        let fits = |&[x, k, _, padding, dilation]: &[usize; 5]| x + 2 * padding > dilation * (k - 1);
        let channels = [draw(&[1, 3, 8, 33]), draw(&[1, 2, 5, 31])];
        let work = spatial.iter().map(|s| s[0] * s[1]).product::<usize>() * channels[0] * channels[1];
        if !spatial.iter().all(fits) || work > 4_000_000 {
            continue;
        }
        let (batch, groups) = (draw(&[1, 2, 9]), draw(&[1, 1, 2]));
        let case = case(batch, groups, channels[0], channels[1], spatial.leak(), draw(&[0, 1]) == 1);
        for computed in ALL {
            let reference = reference(&case, computed, DType::F32, 0);
            check(&case, computed, &reference.inputs, &reference);
        }
        drawn += 1;
    }
}
