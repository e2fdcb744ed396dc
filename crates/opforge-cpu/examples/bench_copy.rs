//! Times copies against the memory's own speed: `cargo run --release -p opforge-cpu --example bench_copy`.

use std::time::Instant;

use opforge_core::{DType, Layout, Meta};
use opforge_cpu::copy;

/// The best of several runs, in seconds.
fn best(mut f: impl FnMut()) -> f64 {
    f();
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    (0..9).map(|_| time(&mut f)).fold(f64::INFINITY, f64::min)
}

fn main() {
    const N: usize = 8 << 20;
    let src = vec![1.5f32; N];
    let mut dst = vec![0f32; N];
    let report =
        |name: &str, bytes: usize, seconds: f64| println!("{name:32} {:6.1} GB/s", bytes as f64 / seconds / 1e9);

    let seconds = best(|| dst.copy_from_slice(&src));
    report("copy_from_slice, one thread", N * 8, seconds);

    let mut case = |name: &str, dtype: DType, source: Layout| {
        let output = Meta::contiguous(dtype, source.shape().clone());
        let read = source.span().min(source.elem_count());
        let bytes = (output.elem_count() + read) * dtype.size_in_bytes();
        let kernel = copy::copy("copy", &Meta { dtype, layout: source }, &output).unwrap();
        // SAFETY: no layout below spans more than N * 4 bytes.
        let run = || unsafe { kernel.run(&[src.as_ptr().cast()], &[dst.as_mut_ptr().cast()]) }.unwrap();
        report(name, bytes, best(run));
    };
    let plain = |dims: &[usize]| Layout::contiguous(dims);
    case("contiguous", DType::F32, plain(&[N]));
    case("transpose 4096x2048 f32", DType::F32, plain(&[4096, 2048]).transpose(0, 1).unwrap());
    case("transpose 2896x2896 f32", DType::F32, plain(&[2896, 2896]).transpose(0, 1).unwrap());
    case("transpose 3001x2777 f32", DType::F32, plain(&[3001, 2777]).transpose(0, 1).unwrap());
    case("transpose 2048x2048 f64", DType::F64, plain(&[2048, 2048]).transpose(0, 1).unwrap());
    case("transpose 4096x4096 bf16", DType::BF16, plain(&[4096, 4096]).transpose(0, 1).unwrap());
    case("transpose 4096x8192 u8", DType::U8, plain(&[4096, 8192]).transpose(0, 1).unwrap());
    case("transpose 512x512 f32", DType::F32, plain(&[512, 512]).transpose(0, 1).unwrap());
    case("NCHW to NHWC 32x64x56x56", DType::F32, plain(&[32, 64, 56, 56]).permute(&[0, 2, 3, 1]).unwrap());
    case("NHWC to NCHW 32x56x56x64", DType::F32, plain(&[32, 56, 56, 64]).permute(&[0, 3, 1, 2]).unwrap());
    case("NCHW to NHWC 32x3x224x224", DType::F32, plain(&[32, 3, 224, 224]).permute(&[0, 2, 3, 1]).unwrap());
    case("heads 16x512x12x64", DType::F32, plain(&[16, 512, 12, 64]).permute(&[0, 2, 1, 3]).unwrap());
    case("every other column", DType::F32, plain(&[2048, 4096]).slice(1, 0, 4096, 2).unwrap());
    case("row to 4096x2048", DType::F32, plain(&[2048]).broadcast_as(&[4096, 2048].into(), "expand").unwrap());
    case("column to 4096x2048", DType::F32, plain(&[4096, 1]).broadcast_as(&[4096, 2048].into(), "expand").unwrap());

    let tiny = Meta::contiguous(DType::F32, [4]);
    let kernel = copy::copy("copy", &tiny, &tiny).unwrap();
    let seconds = best(|| {
        for _ in 0..1000 {
            // SAFETY: both buffers hold four floats.
            unsafe { std::hint::black_box(&kernel).run(&[src.as_ptr().cast()], &[dst.as_mut_ptr().cast()]) }.unwrap();
        }
    });
    println!("copy of 4 floats                 {:6.1} ns", seconds * 1e6);
}
