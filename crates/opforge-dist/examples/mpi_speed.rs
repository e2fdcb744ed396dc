//! Times of all-reduces over MPI, without and with a guard: `mpiexec -n 2 target/release/examples/mpi_speed [DTYPE]`.

use std::time::Instant;

use opforge_core::{DType, Result};
use opforge_dist::{Buffer, Collectives, Engine, Guard, LIMIT, Mpi, Reduction, Settings};

fn main() -> Result<()> {
    let dtype: DType = std::env::args().nth(1).as_deref().unwrap_or("f32").parse()?;
    let mpi = Mpi::start()?;
    let engine = mpi.world()?;
    let guard = Guard::new(mpi.world()?, Settings::default());
    let first = engine.rank() == 0;
    if first {
        println!("{}, {} ranks; medians, in us", mpi.describe(), engine.size());
        println!("{:>20} {:>10} {:>10}", format!("bytes of {dtype}"), "engine", "guarded");
    }
    for bytes in [4, 512, 4 << 10, 256 << 10, 4 << 20, 64 << 20] {
        let times = [all_reduces(&*engine, dtype, bytes)?, all_reduces(&guard, dtype, bytes)?];
        if first {
            println!("{bytes:>20} {:>10.1} {:>10.1}", times[0] * 1e6, times[1] * 1e6);
        }
    }
    guard.close()?;
    drop(guard);
    mpi.finish(LIMIT)
}

/// The median time of a call, in seconds.
fn all_reduces(engine: &dyn Engine, dtype: DType, bytes: usize) -> Result<f64> {
    let mut buffer = Buffer::zeros(bytes)?;
    let mut times = Vec::new();
    for _ in 0..if bytes > 1 << 20 { 12 } else { 400 } {
        engine.barrier()?.wait(LIMIT)?;
        let begin = Instant::now();
        buffer = engine.all_reduce(buffer, dtype, Reduction::Sum)?.wait(LIMIT)?;
        times.push(begin.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
