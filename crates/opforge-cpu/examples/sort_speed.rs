//! Times sorting and running sums: `cargo run --release -p opforge-cpu --example sort_speed`.

use std::time::Instant;

use opforge_core::{DType, Meta, Result};
use opforge_cpu::{scan, sort};
use opforge_runtime::HostKernel;
use opforge_tile::forms::{Running, Scan};

fn best_of(kernel: &dyn HostKernel, input: &[f32], output: &mut [u32]) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        // SAFETY: both buffers are as large as the metas that the kernels were made for, whose elements have 4 bytes.
        unsafe { kernel.run(&[input.as_ptr().cast()], &[output.as_mut_ptr().cast()])? };
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn main() -> Result<()> {
    println!("{:>16} {:>12} {:>12} {:>14} {:>14}", "shape", "sort ms", "M keys/s", "cumsum GB/s", "first 8, ms");
    for [rows, len] in [
        [1usize, 1 << 20],
        [1 << 10, 1 << 10],
        [1 << 16, 3],
        [1 << 16, 8],
        [1 << 16, 12],
        [1 << 16, 16],
        [16, 1 << 16],
        [1 << 10, 1 << 12],
    ] {
        let n = rows * len;
        // Knuth's multiplicative hash makes an irregular order.
        let input: Vec<f32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) as f32).collect();
        let mut output = vec![0; n];
        let x = Meta::contiguous(DType::F32, [rows, len]);
        let order = sort::arg_sort("argsort", &x, 1, false, &Meta::contiguous(DType::U32, [rows, len]))?;
        let first = sort::arg_sort("topk", &x, 1, true, &Meta::contiguous(DType::U32, [rows, len.min(8)]))?;
        let first = best_of(&*first, &input, &mut output)? * 1e3;
        let sums = scan::scan("cumsum", Scan { running: Running::Sum, axis: 1 }, &x, &x)?;
        let (sort, sum) = (best_of(&*order, &input, &mut output)?, best_of(&*sums, &input, &mut output)?);
        let rate = (8 * n) as f64 / sum / 1e9;
        let (shape, keys) = (format!("{rows} x {len}"), n as f64 / sort / 1e6);
        println!("{shape:>16} {:>12.2} {keys:>12.1} {rate:>14.1} {first:>14.3}", sort * 1e3);
    }
    Ok(())
}
