//! Times of distances between rows and of their gradients, in microseconds.
//!
//! `cargo run --release -p opforge-cpu --example distance_speed`

use std::time::Instant;

use opforge_core::{DType, Meta, Scalar};
use opforge_cpu::distance::distances;
use opforge_tile::forms::Distances;

/// The median of the times that runs of a kernel for these tensors take.
fn time(form: Distances, inputs: &[Meta], output: &Meta) -> f64 {
    let metas: Vec<&Meta> = inputs.iter().collect();
    let kernel = distances("distances", form, &metas, output).expect("shapes that go together");
    let number = |i: usize| (i * 7919 % 1013) as f32 / 506.5 - 1.0;
    let filled = |meta: &Meta| (0..meta.elem_count()).map(number).collect::<Vec<f32>>();
    let (tensors, mut made) = (inputs.iter().map(filled).collect::<Vec<_>>(), filled(output));
    let from: Vec<*const u8> = tensors.iter().map(|tensor| tensor.as_ptr().cast()).collect();
    let to = [made.as_mut_ptr().cast::<u8>()];
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < 5 || begin.elapsed().as_millis() < 300 {
        let begin = Instant::now();
        // SAFETY: the vectors hold what the metas say.
        unsafe { kernel.run(&from, &to) }.expect("memory");
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let of = |dims: &[usize]| Meta::contiguous(DType::F32, dims);
    for (n, width) in [(512, 64), (2048, 3), (100, 16)] {
        for order in [0.0, 1.0, 2.0, 3.0, 1.5, f64::INFINITY] {
            let form = |pairs, gradient| Distances { order: Scalar::Float(order), pairs, gradient };
            let (x, all, pairs) = (of(&[n, width]), of(&[n, n]), of(&[n * (n - 1) / 2]));
            let transposed = Meta { dtype: DType::F32, layout: all.layout.transpose(0, 1).expect("a matrix") };
            let both = [x.clone(), x.clone()];
            let times = [
                time(form(false, false), &both, &all),
                time(form(false, true), &[all.clone(), x.clone(), x.clone(), all.clone()], &x),
                time(form(false, true), &[transposed.clone(), x.clone(), x.clone(), transposed.clone()], &x),
                time(form(true, false), &both[..1], &pairs),
                time(form(true, true), &[pairs.clone(), x.clone(), pairs.clone()], &x),
            ];
            println!("{n}x{width}, order {order}: all, gradients, pairs, gradient: {times:.0?}");
        }
    }
}
