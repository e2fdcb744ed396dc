//! Nanoseconds a matrix: of batches of small ones, and of large ones by themselves.

use std::hint::black_box;
use std::time::Instant;

use opforge_core::{DType, Meta};
use opforge_cpu::dense::{Dense, dense};

fn time(what: Dense, n: usize, columns: usize) -> f64 {
    let batch = (200_000 / (n * n)).max(1);
    let element = |x: usize| {
        ((x * 7919 % 1000) as f32 - 500.0) / 1000.0 + if (x % (n * n)).is_multiple_of(n + 1) { n as f32 } else { 0.0 }
    };
    let a: Vec<f32> = (0..batch * n * n).map(element).collect();
    let b: Vec<f32> = (0..batch * n * columns).map(element).collect();
    let (mut x, mut pivots) = (vec![0f32; batch * n * n.max(columns)], vec![0i32; batch * n]);
    let [square, right, order] = [(DType::F32, n), (DType::F32, columns), (DType::I32, 1)].map(|(dtype, columns)| {
        Meta::contiguous(dtype, if columns == 1 { vec![batch, n] } else { vec![batch, n, columns] })
    });
    let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = match what {
        Dense::Lu => (vec![&square], vec![&square, &order]),
        Dense::Cholesky => (vec![&square], vec![&square]),
        _ => (vec![&square, &right], vec![&right]),
    };
    let kernel = dense("speed", what, &inputs, &outputs).expect("metas that fit");
    let mut run = || {
        let (from, to) = ([a.as_ptr().cast(), b.as_ptr().cast()], [x.as_mut_ptr().cast(), pivots.as_mut_ptr().cast()]);
        // SAFETY: the vectors have the metas' elements.
        unsafe { kernel.run(&from[..inputs.len()], &to[..outputs.len()]) }.expect("matrices with results");
        black_box(&mut x);
    };
    run();
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as f64 / batch as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    println!("   n  cholesky        lu     solve  triangular");
    for n in [2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 128, 256, 512, 1024] {
        let of = |what| time(what, n, 2);
        let triangular = Dense::Triangular { upper: false, unit: false };
        println!(
            "{n:4} {:9.0} {:9.0} {:9.0} {:9.0}",
            of(Dense::Cholesky),
            of(Dense::Lu),
            of(Dense::Solve),
            of(triangular)
        );
    }
}
