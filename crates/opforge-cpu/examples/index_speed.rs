//! Times reads and writes at indices: `cargo run --release -p opforge-cpu --example index_speed`.

use std::sync::Arc;
use std::time::Instant;

use opforge_core::{DType, Meta, Result};
use opforge_cpu::index::{Combine, Special, gather, index_add, index_select, scatter};
use opforge_runtime::HostKernel;

const F32: DType = DType::F32;
const ERROR: Special = Special::None;

/// Prints the least and median time of a run, and the rate at which it moves `bytes`.
fn report(
    name: &str,
    kernel: Arc<dyn HostKernel>,
    inputs: &[*const u8],
    output: &mut [f32],
    bytes: usize,
) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..101 {
        let start = Instant::now();
        // SAFETY: `main` makes buffers of the layouts' spans.
        unsafe { kernel.run(inputs, &[output.as_mut_ptr().cast()])? };
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("{name:48} {:9.1} us {:9.1} us {:8.1} GB/s", least * 1e6, median * 1e6, bytes as f64 / least / 1e9);
    Ok(())
}

/// Irregular numbers below `below`.
fn indices(n: usize, below: usize) -> (Vec<i64>, Vec<u32>) {
    let long = (0..n as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i64 % below as i64);
    let long: Vec<i64> = long.collect();
    (long.clone(), long.into_iter().map(|i| i as u32).collect())
}

/// Elements with an index each, along each dimension of `dims`.
fn of_elements(dims: [usize; 3]) -> Result<()> {
    let n = dims.iter().product();
    let x = Meta::contiguous(F32, dims);
    let (data, mut out) = (vec![0.5f32; n], vec![0f32; n]);
    for axis in (0..3).filter(|&axis| dims[axis] > 1) {
        let (long, short) = indices(n, dims[axis]);
        for (dtype, ids) in [(DType::I64, long.as_ptr().cast::<u8>()), (DType::U32, short.as_ptr().cast())] {
            let meta = Meta::contiguous(dtype, dims);
            let data = data.as_ptr().cast::<u8>();
            let name = |what: &str| format!("{what} {dims:?} along {axis}, {dtype}");
            let bytes = n * (2 * 4 + dtype.size_in_bytes());
            let kernel = gather("gather", &x, &meta, axis, ERROR, &x)?;
            report(&name("gather"), kernel, &[data, ids], &mut out, bytes)?;
            let kernel = scatter("scatter", [&x, &meta, &x], axis, ERROR, Combine::Set, &x)?;
            report(&name("scatter"), kernel, &[data, ids, data], &mut out, bytes + 4 * n)?;
            let kernel = scatter("scatter_add", [&x, &meta, &x], axis, ERROR, Combine::Add, &x)?;
            report(&name("scatter_add"), kernel, &[data, ids, data], &mut out, bytes + 4 * n)?;
        }
    }
    Ok(())
}

/// Rows that share an index.
fn of_rows(rows: usize, columns: usize) -> Result<()> {
    let x = Meta::contiguous(F32, [rows, columns]);
    let (data, mut out) = (vec![0.5f32; rows * columns], vec![0f32; rows * columns]);
    let ((ids, _), meta) = (indices(rows, rows), Meta::contiguous(DType::I64, rows));
    let (data, ids) = (data.as_ptr().cast::<u8>(), ids.as_ptr().cast::<u8>());
    let bytes = 4 * rows * columns;
    let kernel = index_select("index_select", &x, &meta, 0, ERROR, &x)?;
    report(&format!("index_select {rows} x {columns}"), kernel, &[data, ids], &mut out, 2 * bytes)?;
    let kernel = index_add("index_add", &x, &meta, &x, 0, ERROR, &x)?;
    report(&format!("index_add {rows} x {columns}"), kernel, &[data, ids, data], &mut out, 4 * bytes)
}

fn main() -> Result<()> {
    of_elements([1, 1024, 1024])?;
    of_elements([1, 2048, 1024])?;
    of_elements([64, 64, 512])?;
    of_rows(2048, 1024)?;
    of_rows(8192, 256)
}
