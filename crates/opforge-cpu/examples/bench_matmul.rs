//! Times matrix products: `cargo run --release -p opforge-cpu --example bench_matmul`.

use std::time::Instant;

use opforge_core::{Meta, WithDType, bf16};
use opforge_cpu::matmul;
use opforge_runtime::parallel::set_num_threads;

/// The best time of one run, in seconds.
fn best(work: usize, mut f: impl FnMut()) -> f64 {
    let repeats = (20_000_000 / work.max(1)).clamp(1, 1000);
    let mut time = || {
        let start = Instant::now();
        (0..repeats).for_each(|_| f());
        start.elapsed().as_secs_f64() / repeats as f64
    };
    time();
    (0..7).map(|_| time()).fold(f64::INFINITY, f64::min)
}

/// Seconds that `[m, k] x [k, n]` takes.
fn time<T: WithDType>(m: usize, k: usize, n: usize, transposed: bool) -> f64 {
    let values = |n: usize| -> Vec<T> { (0..n).map(|i| T::from_f64((i % 17) as f64 / 16.0)).collect() };
    let (a, b, mut c) = (values(m * k), values(k * n), values(m * n));
    let (am, cm) = (Meta::contiguous(T::DTYPE, [m, k]), Meta::contiguous(T::DTYPE, [m, n]));
    let kernel = if transposed {
        matmul::linear("linear", &am, &Meta::contiguous(T::DTYPE, [n, k]), None, &cm).unwrap()
    } else {
        matmul::matmul("matmul", &am, &Meta::contiguous(T::DTYPE, [k, n]), &cm).unwrap()
    };
    best(m * k * n, || {
        // SAFETY: the buffers are of the layouts' sizes.
        unsafe { kernel.run(&[a.as_ptr().cast(), b.as_ptr().cast()], &[c.as_mut_ptr().cast()]) }.unwrap();
    })
}

fn main() {
    println!(
        "{:22} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "GFLOP/s", "f32 x1", "f32 x2", "linear x2", "f64 x2", "bf16 x2", "i32 x2"
    );
    let squares = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048].map(|n| (n, n, n));
    let others = [(60, 384, 1536), (128, 784, 512), (8, 2048, 2048), (1, 4096, 4096), (4096, 4096, 1)];
    for (m, k, n) in squares.into_iter().chain(others) {
        let flops = 2.0 * (m * k * n) as f64;
        let rate = |seconds: f64| flops / seconds / 1e9;
        set_num_threads(1);
        let one = time::<f32>(m, k, n, false);
        set_num_threads(2);
        let rates = [
            rate(time::<f32>(m, k, n, false)),
            rate(time::<f32>(m, k, n, true)),
            rate(time::<f64>(m, k, n, false)),
            rate(time::<bf16>(m, k, n, false)),
            rate(time::<i32>(m, k, n, false)),
        ];
        let rates: String = rates.iter().map(|r| format!(" {r:9.1}")).collect();
        println!("{:22} {:9.1}{rates}   ({:.2} us)", format!("{m} x {k} x {n}"), rate(one), one * 1e6);
    }
}
