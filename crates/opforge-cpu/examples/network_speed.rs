//! Times convolutions, pooling, resampling, norms and attention: `cargo run --release -p opforge-cpu --example network_speed`.

use std::sync::Arc;
use std::time::Instant;

use opforge_core::{DType, Meta, Result, Scalar};
use opforge_cpu::attention::{Attention, attention, attention_gradients};
use opforge_cpu::conv::{Geometry, Window, convolve, transposed, weight_gradient};
use opforge_cpu::norm::{Over, batch_norm, batch_norm_backward};
use opforge_cpu::pool::{Average, Divisor, Windows, average_pool, average_pool_gradient, max_pool};
use opforge_cpu::resample::{Filter, Stretch, resample, resample_gradient};
use opforge_runtime::HostKernel;

const F32: DType = DType::F32;

/// Prints the median time of a run, and the rate of `work` thousand millions of what `unit` names.
fn report(name: &str, kernel: &dyn HostKernel, metas: [&[&Meta]; 2], work: usize, unit: &str) -> Result<()> {
    let buffer = |meta: &&Meta| vec![0.5f32; 2 * meta.elem_count().max(1)];
    let inputs: Vec<Vec<f32>> = metas[0].iter().map(buffer).collect();
    let mut outputs: Vec<Vec<f32>> = metas[1].iter().map(buffer).collect();
    let from: Vec<*const u8> = inputs.iter().map(|b| b.as_ptr().cast()).collect();
    let to: Vec<*mut u8> = outputs.iter_mut().map(|b| b.as_mut_ptr().cast()).collect();
    let mut times = Vec::new();
    for _ in 0..25 {
        let start = Instant::now();
        // SAFETY: the buffers hold twice as many f32 as the tensors have elements, of up to 8 bytes.
        unsafe { kernel.run(&from, &to)? };
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("{name:56} {:9.1} us {:9.1} us {:8.1} {unit}", least * 1e6, median * 1e6, work as f64 / least / 1e9);
    Ok(())
}

/// What a kernel computes, the kernel, its inputs and its output.
type Step<'a> = (&'a str, Arc<dyn HostKernel>, [&'a Meta; 2], &'a Meta);

/// A two-dimensional convolution: batch, input channels, output channels, height and width, kernel, stride, groups.
fn convolution([n, c, o, size, k, stride, groups]: [usize; 7]) -> Result<()> {
    let window = Window { stride, padding: k / 2, dilation: 1 };
    let geometry = Geometry { windows: [Window::UNIT, window, window], groups };
    let out = (size + 2 * (k / 2) - k) / stride + 1;
    let x = Meta::contiguous(F32, [n, c, size, size]);
    let w = Meta::contiguous(F32, [o, c / groups, k, k]);
    let y = Meta::contiguous(F32, [n, o, out, out]);
    let flops = 2 * n * o * out * out * (c / groups) * k * k;
    let name = format!("conv {n}x{c}x{size}x{size} to {o}, {k}x{k}, stride {stride}, {groups} groups");
    let kernels: [Step<'_>; 3] = [
        ("", convolve("conv", &geometry, &x, &w, None, &y)?, [&x, &w], &y),
        (", by input", transposed("conv", &geometry, &y, &w, None, &x)?, [&y, &w], &x),
        (", by weight", weight_gradient("conv", &geometry, &x, &y, &w)?, [&x, &y], &w),
    ];
    for (what, kernel, inputs, output) in kernels {
        report(&format!("{name}{what}"), &*kernel, [&inputs, &[output]], flops, "GFLOP/s")?;
    }
    Ok(())
}

fn pools() -> Result<()> {
    for (from, to) in [([16, 64, 32, 32], [16, 64, 16, 16]), ([16, 64, 88, 88], [16, 64, 44, 44])] {
        let (x, y) = (Meta::contiguous(F32, from), Meta::contiguous(F32, to));
        let places = Meta::contiguous(DType::I64, to);
        for (k, padding) in [(2, 0), (3, 1)] {
            let window = Window { stride: 2, padding, dilation: 1 };
            let windows = Windows::Sliding { kernel: [1, k, k], windows: [Window::UNIT, window, window] };
            let average = Average { windows, divisor: Divisor::Padded };
            let bytes = 4 * (x.elem_count() + y.elem_count());
            let name = format!("16x64x{}x{0}, {k}x{k}", from[2]);
            let kernel = max_pool("pool", &windows, 2, &x, &y, None)?;
            report(&format!("max_pool {name}"), &*kernel, [&[&x], &[&y]], bytes, "GB/s")?;
            let kernel = max_pool("pool", &windows, 2, &x, &y, Some(&places))?;
            report(&format!("max_pool {name}, with places"), &*kernel, [&[&x], &[&y, &places]], bytes, "GB/s")?;
            let kernel = average_pool("pool", &average, 2, &x, &y)?;
            report(&format!("avg_pool {name}"), &*kernel, [&[&x], &[&y]], bytes, "GB/s")?;
            let kernel = average_pool_gradient("pool", &average, 2, &y, &x)?;
            report(&format!("avg_pool {name}, gradient"), &*kernel, [&[&y], &[&x]], bytes, "GB/s")?;
        }
    }
    Ok(())
}

fn resizes() -> Result<()> {
    for (from, to) in [([8, 32, 64, 64], [8, 32, 128, 128]), ([8, 32, 128, 128], [8, 32, 96, 96])] {
        let (x, y) = (Meta::contiguous(F32, from), Meta::contiguous(F32, to));
        for filter in [Filter::Nearest, Filter::Linear, Filter::Cubic, Filter::Triangle] {
            let scale = Scalar::Float(from[2] as f64 / to[2] as f64);
            let how =
                [Stretch::NONE, Stretch { filter, scale, corners: false }, Stretch { filter, scale, corners: false }];
            let bytes = 4 * (x.elem_count() + y.elem_count());
            let name = format!("resample 8x32x{} to {}, {filter:?}", from[2], to[2]);
            report(&name, &*resample("resample", &how, 2, &x, &y)?, [&[&x], &[&y]], bytes, "GB/s")?;
            let kernel = resample_gradient("resample", &how, 2, &y, &x)?;
            report(&format!("{name}, gradient"), &*kernel, [&[&y], &[&x]], bytes, "GB/s")?;
        }
    }
    Ok(())
}

fn norms() -> Result<()> {
    let (x, w) = (Meta::contiguous(F32, [16, 64, 32, 32]), Meta::contiguous(F32, 64));
    for (name, over, stats, sums) in [
        ("batch_norm", Over::Batch, Meta::contiguous(F32, 64), Meta::contiguous(F32, 64)),
        ("group_norm", Over::Groups(8), Meta::contiguous(F32, (16, 8)), Meta::contiguous(F32, (16, 64))),
    ] {
        let kernel = batch_norm(name, over, &x, [Some(&w), Some(&w)], 1e-5, [&x, &stats, &stats])?;
        let metas: [&[&Meta]; 2] = [&[&x, &w, &w], &[&x, &stats, &stats]];
        report(&format!("{name} 16x64x32x32"), &*kernel, metas, 8 * x.elem_count(), "GB/s")?;
        let kernel = batch_norm_backward(name, over, [&x, &x, &stats, &stats], Some(&w), 1e-5, [&x, &sums, &sums])?;
        let metas: [&[&Meta]; 2] = [&[&x, &x, &stats, &stats, &w], &[&x, &sums, &sums]];
        report(&format!("{name} 16x64x32x32, gradient"), &*kernel, metas, 12 * x.elem_count(), "GB/s")?;
    }
    Ok(())
}

fn attentions() -> Result<()> {
    for (length, causal) in [(128, false), (1024, false), (1024, true)] {
        let x = Meta::contiguous(F32, [2, 8, length, 64]);
        let how = Attention { scale: Scalar::Float(0.125), causal, gradient: false };
        let flops = 4 * 16 * length * length * 64;
        let name = format!("attention 2x8x{length}x64{}", if causal { ", causal" } else { "" });
        let kernel = attention("attention", how, [&x; 3], None, &x)?;
        report(&name, &*kernel, [&[&x; 3], &[&x]], flops, "GFLOP/s")?;
        let kernel = attention_gradients("attention", how, [&x; 4], None, [&x; 3])?;
        report(&format!("{name}, gradients"), &*kernel, [&[&x; 4], &[&x; 3]], 5 * flops / 2, "GFLOP/s")?;
    }
    Ok(())
}

fn main() -> Result<()> {
    println!("{:56} {:>12} {:>12}", "", "least", "median");
    convolution([16, 16, 32, 28, 3, 1, 1])?;
    convolution([8, 64, 64, 56, 3, 1, 1])?;
    for images in [1, 8] {
        convolution([images, 256, 256, 14, 3, 1, 1])?;
        convolution([images, 512, 512, 7, 3, 1, 1])?;
    }
    convolution([8, 3, 64, 112, 7, 2, 1])?;
    convolution([8, 256, 256, 14, 1, 1, 1])?;
    convolution([64, 1, 16, 28, 3, 1, 1])?;
    convolution([16, 64, 64, 32, 3, 1, 64])?;
    convolution([16, 64, 64, 32, 3, 2, 64])?;
    pools()?;
    resizes()?;
    norms()?;
    attentions()
}
