//! Times of all-reduces, without and with a guard: over MPI by `mpiexec -n 2 target/release/examples/speed [DTYPE]`; over sockets by
//! `target/release/examples/speed [DTYPE]`, which starts a second process.

use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use opforge_core::{DType, Result};
use opforge_dist::{Buffer, Collectives, Engine, Guard, LIMIT, Meeting, Mpi, Reduction, Settings, Sockets};

/// Where rank 0 listens, for the process that it starts.
const ADDRESS: &str = "OPFORGE_SPEED_ADDRESS";

fn main() -> Result<()> {
    let dtype: DType = std::env::args().nth(1).as_deref().unwrap_or("f32").parse()?;
    if ["PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"].iter().any(|name| std::env::var_os(name).is_some()) {
        let mpi = Mpi::start()?;
        measure(mpi.world()?, mpi.world()?, dtype, &mpi.describe())?;
        return mpi.finish(LIMIT);
    }
    if let Ok(address) = std::env::var(ADDRESS) {
        let world = Sockets::world(&address, 1, 2, LIMIT)?;
        return measure(world.subgroup(&[0, 1])?, world, dtype, "sockets");
    }
    let listener = Sockets::listen("127.0.0.1:0")?;
    let mut other = Command::new(std::env::current_exe()?);
    let mut other = other.args(std::env::args().skip(1)).env(ADDRESS, listener.local_addr()?.to_string()).spawn()?;
    let world = Meeting { rank: 0, ranks: 2, limit: LIMIT, go_on: &|| true }.host(listener)?;
    measure(world.subgroup(&[0, 1])?, world, dtype, "sockets")?;
    other.wait()?;
    Ok(())
}

fn measure(engine: Arc<dyn Engine>, guarded: Arc<dyn Engine>, dtype: DType, what: &str) -> Result<()> {
    let guard = Guard::new(guarded, Settings::default());
    let first = engine.rank() == 0;
    if first {
        println!("{what}, {} ranks; medians, in us", engine.size());
        println!("{:>20} {:>10} {:>10}", format!("bytes of {dtype}"), "engine", "guarded");
    }
    for bytes in [4, 512, 4 << 10, 256 << 10, 4 << 20, 64 << 20] {
        let times = [all_reduces(&*engine, dtype, bytes)?, all_reduces(&guard, dtype, bytes)?];
        if first {
            println!("{bytes:>20} {:>10.1} {:>10.1}", times[0] * 1e6, times[1] * 1e6);
        }
    }
    guard.close()
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
