//! Speed of elementwise kernels against the memory floor: a plain loop over the same bytes.
//!
//! `cargo run --release -p opforge-cpu --example elementwise_speed`

use std::hint::black_box;
use std::time::Instant;

use opforge_core::{DType, Layout, Meta, Shape};
use opforge_cpu::elementwise::{BinaryFn, UnaryFn, binary, cast, unary};
use opforge_cpu::math;
use opforge_cpu::simd::Float;
use opforge_runtime::HostKernel;
use opforge_runtime::parallel::{num_threads, parallel_for};

#[derive(Clone, Copy)]
struct Add;
impl BinaryFn for Add {
    #[inline(always)]
    fn float<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
}

#[derive(Clone, Copy)]
struct Relu;
impl UnaryFn for Relu {
    #[inline(always)]
    fn float<V: Float>(self, x: V) -> V {
        x.max(V::splat(0.0))
    }
}

/// A functor per mathematical function.
macro_rules! functions {
    ($($name:ident),*) => {
        $(#[allow(non_camel_case_types)]
        #[derive(Clone, Copy)]
        struct $name;
        impl UnaryFn for $name {
            #[inline(always)]
            fn float<V: Float>(self, x: V) -> V {
                math::$name(x)
            }
        })*

        /// Times each in the cache, on one thread.
        fn maths(x: *const u8, y: *mut u8) {
            for dtype in [DType::F32, DType::F64] {
                let m = Meta::contiguous(dtype, 4096usize);
                $(let kernel = unary(stringify!($name), $name, &m, &m).expect("supported");
                let ns = run(&*kernel, &[x], y, 100);
                println!("{:<10} {dtype} {:>8.2} ns for 16 elements", stringify!($name), ns / 256.0);)*
            }
        }
    };
}
functions!(exp, exp_m1, log, log_1p, sin, cos, tanh, erf, sigmoid, silu, gelu, gelu_tanh);

/// The least of several runs, in nanoseconds a call.
fn time(calls: usize, mut f: impl FnMut()) -> f64 {
    (0..9)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| f());
            start.elapsed().as_nanos() as f64 / calls as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn meta(dtype: DType, dims: &[usize], stride: &[usize]) -> Meta {
    Meta { dtype, layout: Layout::new(Shape::from_dims(dims), stride.into(), 0, "bench").expect("a valid layout") }
}

/// Shares raw pointers with the threads of a loop.
#[derive(Clone, Copy)]
struct Shared(*const f32, *mut f32);
// SAFETY: the loops below write disjoint ranges.
unsafe impl Sync for Shared {}

/// A plain loop on all threads: one input and the output, or the sum of two inputs.
fn floor(a: &[f32], b: Option<&[f32]>, y: &mut [f32]) -> f64 {
    let (shared, other, n) = (Shared(a.as_ptr(), y.as_mut_ptr()), b.map(<[f32]>::as_ptr).map(|b| b.addr()), y.len());
    time(3, || {
        parallel_for(n, 65536, |range| {
            let shared = &shared;
            // SAFETY: the ranges are disjoint and within the slices.
            unsafe {
                let (x, y) = (shared.0.add(range.start), shared.1.add(range.start));
                let x = std::slice::from_raw_parts(x, range.len());
                let y = std::slice::from_raw_parts_mut(y, range.len());
                match other {
                    None => y.copy_from_slice(x),
                    Some(b) => {
                        let b = std::slice::from_raw_parts((b as *const f32).add(range.start), range.len());
                        y.iter_mut().zip(x).zip(b).for_each(|((y, x), b)| *y = x + b);
                    }
                }
            }
        });
    })
}

fn report(name: &str, bytes: usize, ns: f64, floor: f64) {
    println!("{name:<44} {:>9.1} us {:>7.1} GB/s {:>6.2} of the floor", ns / 1e3, bytes as f64 / ns, floor / ns);
}

fn run(kernel: &dyn HostKernel, inputs: &[*const u8], output: *mut u8, calls: usize) -> f64 {
    time(calls, || {
        // SAFETY: the buffers are larger than every layout below.
        unsafe { kernel.run(black_box(inputs), black_box(&[output])).expect("these kernels do not fail") }
    })
}

fn main() {
    const N: usize = 8 << 20;
    let a: Vec<f32> = (0..N).map(|i| i as f32 * 1e-6 - 3.0).collect();
    let b = a.clone();
    let mut y = vec![0f32; N];
    let (pa, pb, py): (*const u8, *const u8, *mut u8) = (a.as_ptr().cast(), b.as_ptr().cast(), y.as_mut_ptr().cast());
    println!("{} threads", num_threads());

    let small = Meta::contiguous(DType::F32, 4usize);
    let kernel = binary("add", Add, &small, &small, &small).expect("supported");
    println!("add of 4 floats: {:.1} ns", run(&*kernel, &[pa, pb], py, 100_000));
    for n in [1000usize, 30_000, 100_000, 1_000_000] {
        let m = Meta::contiguous(DType::F32, n);
        let kernel = binary("add", Add, &m, &m, &m).expect("supported");
        let floor = floor(&a[..n], Some(&b[..n]), &mut y[..n]);
        report(&format!("add, {n}"), 12 * n, run(&*kernel, &[pa, pb], py, 100), floor);
    }

    maths(pa, py);

    let copy_floor = floor(&a, None, &mut y);
    let add_floor = floor(&a, Some(&b), &mut y);
    report("copy by memcpy", 8 * N, copy_floor, copy_floor);
    report("add by a plain loop", 12 * N, add_floor, add_floor);
    let flat = Meta::contiguous(DType::F32, N);
    let kernel = unary("relu", Relu, &flat, &flat).expect("supported");
    report("relu, 8 M", 8 * N, run(&*kernel, &[pa], py, 3), copy_floor);
    report("relu in place, 8 M", 8 * N, run(&*kernel, &[py.cast_const()], py, 3), copy_floor);
    let kernel = binary("add", Add, &flat, &flat, &flat).expect("supported");
    report("add, 8 M", 12 * N, run(&*kernel, &[pa, pb], py, 3), add_floor);
    for dtype in [DType::F16, DType::BF16] {
        let half = Meta::contiguous(dtype, N);
        let mut converted = vec![0u16; N];
        let kernel = cast("cast", &flat, &half).expect("supported");
        run(&*kernel, &[pa], converted.as_mut_ptr().cast(), 1);
        let (kernel, x) = (binary("add", Add, &half, &half, &half).expect("supported"), converted.as_ptr().cast());
        report(&format!("add {dtype}, 8 M"), 6 * N, run(&*kernel, &[x, x], py, 3), add_floor / 2.0);
    }

    let dims = [32, 630, 12, 32];
    let n: usize = dims.iter().product();
    let floor_here = floor(&a[..n], None, &mut y[..n]);
    let full = Meta::contiguous(DType::F32, dims);
    let kernel = binary("add", Add, &full, &meta(DType::F32, &dims, &[32, 0, 0, 1]), &full).expect("supported");
    report("(32,630,12,32) + (32,1,1,32)", 8 * n, run(&*kernel, &[pa, pb], py, 3), floor_here);

    let kernel = |a: Meta, b: Meta, y: Meta| binary("add", Add, &a, &b, &y).expect("supported");
    let square = |stride: &[usize]| meta(DType::F32, &[2048, 4096], stride);
    let k = kernel(square(&[4096, 1]), square(&[0, 1]), square(&[4096, 1]));
    report("(2048,4096) + (4096)", 8 * N, run(&*k, &[pa, pb], py, 3), copy_floor);
    let k = kernel(square(&[4096, 1]), square(&[1, 0]), square(&[4096, 1]));
    report("(2048,4096) + (2048,1)", 8 * N, run(&*k, &[pa, pb], py, 3), copy_floor);
    let k = kernel(square(&[4096, 1]), square(&[1, 2048]), square(&[4096, 1]));
    report("(2048,4096) + (4096,2048).T", 12 * N, run(&*k, &[pa, pb], py, 3), add_floor);
    let narrow = |stride: &[usize]| meta(DType::F32, &[N / 3, 3], stride);
    let k = kernel(narrow(&[3, 1]), narrow(&[0, 1]), narrow(&[3, 1]));
    report("(n,3) + (3)", 8 * N, run(&*k, &[pa, pb], py, 3), copy_floor);
    let strided = |stride: &[usize]| meta(DType::F32, &[N / 2], stride);
    let k = kernel(strided(&[2]), strided(&[1]), strided(&[1]));
    report("x[::2] + y", 8 * N, run(&*k, &[pa, pb], py, 3), copy_floor);
}
