//! Prints how fast reductions and normalisations run on 8 M floats, against a plain read of the same memory.
//!
//! `cargo run --release -p opforge-cpu --example reduce_speed`

use opforge_core::{DType, Meta, Result, Scalar};
use opforge_cpu::norm::layer_norm;
use opforge_cpu::reduce::{Integers, Reducer, arg_reduce, reduce, spread};
use opforge_cpu::rows::rows;
use opforge_cpu::simd::{Float, Int};
use opforge_runtime::HostKernel;
use opforge_tile::Softmax;
use opforge_tile::forms::Extreme;
use opforge_tile::forms::Spread;
use std::hint::black_box;
use std::time::Instant;

#[derive(Clone, Copy)]
struct Sum;
impl Reducer for Sum {
    const INTEGERS: Integers = Integers::Widen;
    fn identity(self) -> f64 {
        0.0
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a + b
    }
    #[inline(always)]
    fn int_combine<T: Int>(self, a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

#[derive(Clone, Copy)]
struct Max;
impl Reducer for Max {
    fn identity(self) -> f64 {
        f64::NEG_INFINITY
    }
    #[inline(always)]
    fn combine<V: Float>(self, a: V, b: V) -> V {
        a.max(b)
    }
}

/// The least time of one run, in seconds.
fn time(kernel: &dyn HostKernel, inputs: &[*const u8], outputs: &[*mut u8]) -> f64 {
    let mut best = f64::MAX;
    let begin = Instant::now();
    let mut repeat = 1;
    while begin.elapsed().as_secs_f64() < 0.2 {
        let start = Instant::now();
        for _ in 0..repeat {
            // SAFETY: the buffers hold N elements of 8 bytes, more than any tensor here.
            unsafe { kernel.run(black_box(inputs), black_box(outputs)) }.expect("the kernel runs");
        }
        let once = start.elapsed().as_secs_f64() / repeat as f64;
        best = best.min(once);
        if once * (repeat as f64) < 1e-4 {
            repeat *= 4;
        }
    }
    best
}

const N: usize = 8 << 20;

fn report(name: &str, bytes: usize, seconds: f64) {
    println!("{name:48} {:9.3} us {:7.1} GB/s", seconds * 1e6, bytes as f64 / seconds / 1e9);
}

fn bench<R: Reducer>(name: &str, r: R, input: &Meta, axes: &[usize], buffers: (&[f64], &mut [f64])) -> Result<()> {
    let outputs: usize = (0..input.rank()).filter(|d| !axes.contains(d)).map(|d| input.dims()[d]).product();
    let kernel = reduce("reduce", r, input, axes, &Meta::contiguous(input.dtype, outputs))?;
    let seconds = time(&*kernel, &[buffers.0.as_ptr().cast()], &[buffers.1.as_mut_ptr().cast()]);
    let bytes = (input.elem_count() + outputs) * input.dtype.size_in_bytes();
    report(&format!("{name} {:?} {:?} over {axes:?}", input.dtype, input.dims()), bytes, seconds);
    Ok(())
}

fn main() -> Result<()> {
    let input: Vec<f64> = (0..N).map(|i| (i % 17) as f64).collect();
    let mut output = vec![0.0; N];
    let all = Meta::contiguous(DType::F32, N);
    let shapes: [(&[usize], &[&[usize]]); 8] = [
        (&[N], &[&[0]]),
        (&[8192, 1024], &[&[0], &[1], &[]]),
        (&[256, 32, 1024], &[&[0], &[1], &[2], &[0, 1], &[1, 2], &[0, 2]]),
        (&[N / 64, 64], &[&[0], &[1]]),
        (&[N / 8, 8], &[&[0], &[1]]),
        (&[8, N / 8], &[&[0], &[1]]),
        (&[N / 16, 4, 4], &[&[0], &[1], &[2], &[0, 2], &[1, 2]]),
        (&[64, 128, 1024], &[&[0, 2]]),
    ];
    println!("{} inputs, reading all", all.elem_count());
    for (dims, axes) in shapes {
        for axes in axes {
            bench("sum", Sum, &Meta::contiguous(DType::F32, dims), axes, (&input, &mut output))?;
        }
    }
    let mut permuted = Meta::contiguous(DType::F32, (1024, 8, 1024));
    permuted.layout = permuted.layout.permute(&[2, 0, 1])?;
    for axes in [&[0][..], &[1], &[2]] {
        bench("permuted sum", Sum, &permuted, axes, (&input, &mut output))?;
    }
    for dtype in [DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8] {
        let n = N.min(8 * N / dtype.size_in_bytes() / 2);
        for axis in 0..2 {
            bench("sum", Sum, &Meta::contiguous(dtype, (n / 1024, 1024)), &[axis], (&input, &mut output))?;
        }
    }
    bench("max", Max, &all, &[0], (&input, &mut output))?;
    bench("max", Max, &Meta::contiguous(DType::F32, (8192, 1024)), &[0], (&input, &mut output))?;
    let (inputs, outputs) = ([input.as_ptr().cast(); 3], [output.as_mut_ptr().cast()]);
    let square = Meta::contiguous(DType::F32, (8192, 1024));
    for axis in 0..2 {
        let out = |dtype| Meta::contiguous(dtype, square.dims()[1 - axis]);
        let kernel = arg_reduce("argmax", Extreme::Max, &square, axis, &out(DType::I64))?;
        report(&format!("argmax over {axis}"), 4 * N, time(&*kernel, &inputs[..1], &outputs));
        let form = Spread { axes: vec![axis], correction: Scalar::Int(0), root: false };
        let kernel = spread("var", &form, &square, &out(DType::F32))?;
        report(&format!("variance over {axis}"), 4 * N, time(&*kernel, &inputs[..1], &outputs));
        for kind in [Softmax::Plain, Softmax::Log] {
            let kernel = rows("softmax", kind, axis, [&square], &[&square])?;
            report(&format!("softmax {kind:?} over {axis}"), 8 * N, time(&*kernel, &inputs[..1], &outputs));
        }
    }
    let kernel = arg_reduce("argmax", Extreme::Max, &all, 0, &Meta::contiguous(DType::I64, ()))?;
    report("argmax over all", 4 * N, time(&*kernel, &inputs[..1], &outputs));
    let parameter = Meta::contiguous(DType::F32, 1024);
    let kernel = layer_norm("layer_norm", &square, Some(&parameter), Some(&parameter), 1e-5, &square, false)?;
    report("layer_norm", 8 * N, time(&*kernel, &inputs, &outputs));
    for dims in [&[4usize][..], &[64], &[1024], &[4, 4], &[64, 64]] {
        for axis in 0..dims.len() {
            bench("small sum", Sum, &Meta::contiguous(DType::F32, dims), &[axis], (&input, &mut output))?;
        }
    }
    Ok(())
}
