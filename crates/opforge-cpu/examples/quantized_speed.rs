//! Times of products with a quantized matrix, and of making one: `cargo run --release -p opforge-cpu --example quantized_speed`.
//!
//! For one row the floor is reading the matrix; the time of that is printed beside.

use std::time::{Duration, Instant};

use opforge_core::{DType, Meta};
use opforge_cpu::quantized::{self, GgmlDType};

const SIZE: usize = 4096;

/// The median of several runs.
fn timed(mut run: impl FnMut()) -> Duration {
    run();
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn main() {
    let values: Vec<f32> = (0..SIZE * SIZE).map(|i| (i as f32 * 0.37).sin()).collect();
    println!("{SIZE} x {SIZE}       bytes    pack      1 row  (GB/s)    32 rows");
    for dtype in GgmlDType::ALL.into_iter().filter(|dtype| dtype.float().is_none()) {
        let mut w = vec![0u8; dtype.bytes_of("speed", values.len()).expect("whole blocks")];
        let metas = [Meta::contiguous(DType::F32, values.len()), Meta::contiguous(DType::U8, w.len())];
        let kernel = quantized::pack("speed", dtype, &metas[0], &metas[1]).expect("a kernel");
        // SAFETY: the slices are as long as the metas say.
        let pack = timed(|| unsafe { kernel.run(&[values.as_ptr().cast()], &[w.as_mut_ptr()]) }.expect("packed"));
        let [one, many] = [1, 32].map(|m: usize| {
            let mut y = vec![0f32; m * SIZE];
            let (x, out) = (Meta::contiguous(DType::F32, m * SIZE), Meta::contiguous(DType::F32, y.len()));
            let kernel = quantized::linear("speed", dtype, [m, SIZE, SIZE], [&x, &metas[1]], &out).expect("a kernel");
            // SAFETY: the slices are as long as the metas say; `values` is longer.
            timed(|| unsafe { kernel.run(&[values.as_ptr().cast(), w.as_ptr()], &[y.as_mut_ptr().cast()]) }.expect("y"))
        });
        let rate = w.len() as f64 / one.as_secs_f64() / 1e9;
        println!("{:12} {:>10} {pack:>9.2?} {one:>9.2?} ({rate:5.1}) {many:>9.2?}", format!("{dtype:?}"), w.len());
    }
}
