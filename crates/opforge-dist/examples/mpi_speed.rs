//! Times of all-reduces over MPI: `mpiexec -n 2 target/release/examples/mpi_speed`.

use std::time::Instant;

use opforge_core::{DType, Result};
use opforge_dist::{Buffer, Collectives, Engine, LIMIT, Mpi, Reduction};

fn main() -> Result<()> {
    let mpi = Mpi::start()?;
    let engine = mpi.world()?;
    if engine.rank() == 0 {
        println!("{}, {} ranks; medians", mpi.describe(), engine.size());
    }
    for bytes in [4, 4 << 10, 256 << 10, 4 << 20, 64 << 20] {
        let took = all_reduces(&*engine, bytes)?;
        if engine.rank() == 0 {
            println!("all_reduce f32 {bytes:>9} bytes: {:>10.1} us", took * 1e6);
        }
    }
    mpi.finish(LIMIT)
}

/// The median time of a call, in seconds.
fn all_reduces(engine: &dyn Engine, bytes: usize) -> Result<f64> {
    let mut buffer = Buffer::zeros(bytes)?;
    let mut times = Vec::new();
    for _ in 0..if bytes > 1 << 20 { 12 } else { 200 } {
        engine.barrier()?.wait(LIMIT)?;
        let begin = Instant::now();
        buffer = engine.all_reduce(buffer, DType::F32, Reduction::Sum)?.wait(LIMIT)?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
