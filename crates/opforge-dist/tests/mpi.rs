//! The engine of MPI: this test starts itself under `mpiexec`, where there is one, and says so where there is none.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use opforge_core::{DType, Error, Result, Shape};
use opforge_dist::{Buffer, Collectives, Engine, Fault, Guard, LIMIT, Mpi, Reduction, Sbp, Settings};

mod common;
mod definition;
mod launcher;

use launcher::{Launch, launcher};

/// Longer than any of these programs takes; what still runs then is killed.
const PATIENCE: Duration = Duration::from_secs(60);

fn run(launch: &Launch, ranks: usize, program: &str) -> (Output, Duration) {
    let begin = Instant::now();
    let output = launch.run(ranks, program, false, PATIENCE);
    (output, begin.elapsed())
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_call_in_every_dtype() {
    let Some(launch) = launcher() else { return };
    for ranks in 1..=3 {
        let (output, _) = run(&launch, ranks, "rank_everything");
        assert!(output.status.success(), "{ranks} ranks: {}", text(&output));
        assert_eq!(text(&output).matches("1 passed").count(), ranks, "{}", text(&output));
    }
}

#[test]
fn an_mpi_that_others_began_is_used_by_its_thread() {
    let Some(launch) = launcher() else { return };
    let (output, _) = run(&launch, 3, "rank_with_an_mpi_of_others");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_library_that_is_none_is_an_error_that_says_what_helps() {
    let this = std::env::current_exe().unwrap();
    let mut command = Command::new(this);
    command.args(["--ignored", "--exact", "--nocapture", "rank_without_library"]);
    let output = command.env("OPFORGE_MPI", "/nowhere/libmpi_abi.so").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn what_agrees_runs_under_a_guard() {
    let Some(launch) = launcher() else { return };
    let (output, _) = run(&launch, 3, "rank_guarded");
    assert!(output.status.success(), "{}", text(&output));
}

/// Steps of large calls interleave with other calls, in another order on each rank.
#[test]
fn calls_that_overlap_are_kept_apart() {
    let Some(launch) = launcher() else { return };
    let (output, _) = run(&launch, 2, "rank_overlapping");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn boxing_gives_what_the_definition_says() {
    let Some(launch) = launcher() else { return };
    let (output, _) = run(&launch, 4, "rank_boxing");
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn ranks_that_differ_or_are_late_have_an_error_each() {
    let Some(launch) = launcher() else { return };
    for program in ["rank_diverged", "rank_late"] {
        let (output, took) = run(&launch, 2, program);
        assert!(output.status.success(), "{program}: {}", text(&output));
        assert_eq!(text(&output).matches("1 passed").count(), 2, "{program}: {}", text(&output));
        assert!(took < LIMIT, "{program} took {took:?}");
    }
}

/// The launcher leaves the other ranks alone, so that they find out by themselves.
#[test]
fn a_killed_rank_is_an_error_at_the_others() {
    let Some(launch) = launcher() else { return };
    for program in ["rank_killed_before_a_call", "rank_killed_in_the_middle"] {
        let begin = Instant::now();
        let output = launch.run(3, program, true, PATIENCE);
        assert_eq!(text(&output).matches("survivor has its error").count(), 2, "{program}: {}", text(&output));
        assert!(begin.elapsed() < LIMIT, "{program} took {:?}", begin.elapsed());
        assert_eq!(launch.left_running(), 0, "{program}");
    }
}

#[test]
fn a_subgroup_whose_ranks_do_not_come_is_an_error() {
    let Some(launch) = launcher() else { return };
    let (output, took) = run(&launch, 2, "rank_without_its_group");
    assert_eq!(text(&output).matches("rank 0 has its error").count(), 1, "{}", text(&output));
    assert!(took < LIMIT, "it took {took:?}");
    assert_eq!(launch.left_running(), 0);
}

/// As users start it: the launcher ends all.
#[test]
fn a_killed_rank_ends_the_run() {
    let Some(launch) = launcher() else { return };
    let (output, took) = run(&launch, 3, "rank_killed_before_a_call");
    assert!(!output.status.success(), "{}", text(&output));
    assert!(took < LIMIT, "it took {took:?}");
    assert_eq!(launch.left_running(), 0);
}

/// Short, for ranks that do not come.
const SOON: Settings = Settings { limit: Duration::from_millis(700), least_speed: u64::MAX, same_place: false };

fn guard(settings: Settings) -> Result<(&'static Mpi, Guard)> {
    let mpi = Mpi::start()?;
    Ok((mpi, Guard::new(mpi.world()?, settings)))
}

fn sum(engine: &dyn Engine, len: usize) -> Result<Vec<f32>> {
    engine.all_reduce(Buffer::of(&vec![1f32; len])?, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec()
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_guarded() -> Result<()> {
    let (mpi, guard) = guard(Settings::default())?;
    common::everything(&guard)?;
    guard.close()?;
    drop(guard);
    mpi.finish(LIMIT)
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_overlapping() -> Result<()> {
    let (mpi, guard) = guard(Settings::default())?;
    let engines: [std::sync::Arc<dyn Engine>; 2] = [mpi.world()?, std::sync::Arc::new(guard)];
    for engine in engines {
        let start = |k: usize| {
            let buffer = Buffer::of(&vec![k as f32; 3000 + 400_000 * (k % 2)])?;
            engine.all_reduce(buffer, DType::F32, Reduction::Sum)
        };
        let mut requests = (0..6).map(start).collect::<Result<Vec<_>>>()?;
        let until = Instant::now() + LIMIT;
        let mut left: Vec<usize> = (0..6).collect();
        while !left.is_empty() && Instant::now() < until {
            if engine.rank() == 1 {
                left.reverse();
            }
            left.retain(|&k| !matches!(requests[k].test(), Ok(true)));
        }
        for (k, request) in requests.into_iter().enumerate() {
            let sums = request.wait(LIMIT)?.to_vec::<f32>()?;
            assert!(sums.iter().all(|&sum| sum == 2.0 * k as f32), "call {k} of {engine:?}");
        }
    }
    mpi.finish(LIMIT)
}

/// Pairs whose ends are not partial: every rank knows what it must have.
#[test]
#[ignore = "what a rank of another test runs"]
fn rank_boxing() -> Result<()> {
    let (mpi, guard) = guard(Settings::default())?;
    let guard = std::sync::Arc::new(guard);
    let partial = Sbp::Partial(Reduction::Sum);
    let mesh = |sbp: [Sbp; 2]| definition::distribution(&[2, 2], &[3, 1, 0, 2], &sbp);
    let row = |sbp: Sbp| definition::distribution(&[3], &[1, 2, 0], &[sbp]);
    let (split, other, whole) = (Sbp::Split(0), Sbp::Split(1), Sbp::Broadcast);
    let froms =
        [mesh([split, partial]), mesh([partial, partial]), mesh([split, split]), mesh([whole, other]), row(partial)];
    let tos = [mesh([whole, whole]), mesh([other, split]), mesh([whole, split]), row(split), row(whole)];
    let pairs: Vec<_> = froms.iter().flat_map(|from| tos.iter().map(|to| (from.clone(), to.clone()))).collect();
    for dims in [[3, 5], [40, 30]] {
        let tensor = definition::Tensor { dtype: DType::F32, shape: Shape::from_dims(&dims) };
        let parts = definition::execute(guard.clone(), &tensor, &pairs)?;
        for ((from, to), part) in pairs.iter().zip(parts) {
            assert_eq!(part, tensor.expected(to, guard.rank())?, "{from} to {to}");
        }
    }
    guard.close()?;
    drop(guard);
    mpi.finish(LIMIT)
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_diverged() -> Result<()> {
    let (mpi, guard) = guard(Settings::default())?;
    let rank = guard.rank();
    for len in [1, 100_000] {
        assert_eq!(sum(&guard, len)?, vec![2.0; len]);
    }
    let error = sum(&guard, 100_000 + rank).unwrap_err();
    let Some(Fault::Diverged { rank: here, other, .. }) = Fault::of(&error) else { panic!("{error}") };
    assert_eq!((*here, *other), (rank, 1 - rank));
    drop(guard);
    mpi.finish(LIMIT)
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_late() -> Result<()> {
    let (mpi, guard) = guard(SOON)?;
    let begin = Instant::now();
    if guard.rank() == 1 {
        std::thread::sleep(2 * SOON.limit);
    }
    let error = sum(&guard, 100_000).unwrap_err();
    match Fault::of(&error) {
        Some(Fault::Missing { ranks, .. }) if guard.rank() == 0 => assert_eq!(ranks, &[1]),
        Some(Fault::Left { other: 0, how, .. }) if guard.rank() == 1 => assert!(how.contains("for rank 1"), "{how}"),
        _ => panic!("{error}"),
    }
    assert!(guard.rank() == 1 || begin.elapsed() < 2 * SOON.limit, "{:?}", begin.elapsed());
    drop(guard);
    mpi.finish(LIMIT)
}

/// `MPI_Init` offers `MPI_THREAD_SINGLE`.
#[test]
#[ignore = "what a rank of another test runs"]
fn rank_with_an_mpi_of_others() -> Result<()> {
    type Init = unsafe extern "C" fn(*const (), *const ()) -> i32;
    type Finalize = unsafe extern "C" fn() -> i32;
    let file = std::path::Path::new(&std::env::var_os("OPFORGE_MPI").unwrap()).join("libmpi_abi.so.1");
    // SAFETY: it is the MPI library that this test was started with, and MPI's functions have these signatures.
    let library = unsafe { libloading::Library::new(file) }.unwrap();
    // SAFETY: MPI's function has this signature; null stands for the program's arguments.
    assert_eq!(unsafe { library.get::<Init>(b"MPI_Init").unwrap()(std::ptr::null(), std::ptr::null()) }, 0);
    let mpi = Mpi::start()?;
    assert!(mpi.describe().ends_with("threads: single"), "{}", mpi.describe());
    let world = mpi.world()?;
    common::everything(&*world)?;
    let elsewhere = std::thread::scope(|scope| scope.spawn(|| world.barrier().err()).join().unwrap());
    assert!(elsewhere.unwrap().to_string().contains("the thread that started MPI"));
    mpi.finish(LIMIT)?;
    // It was not ours to finish.
    world.barrier()?.wait(LIMIT)?;
    // SAFETY: MPI's function has this signature; no call is under way.
    assert_eq!(unsafe { library.get::<Finalize>(b"MPI_Finalize").unwrap()() }, 0);
    Ok(())
}

/// Without a guard, which would see it before.
#[test]
#[ignore = "what a rank of another test runs"]
fn rank_without_its_group() -> Result<()> {
    let mpi = Mpi::start()?;
    let world = mpi.world_within(SOON.limit)?;
    if world.rank() == 1 {
        std::thread::sleep(2 * SOON.limit);
        return Ok(());
    }
    let error = world.subgroup(&[0, 1]).unwrap_err();
    assert!(matches!(Fault::of(&error), Some(Fault::TimedOut { .. })), "{error}");
    let error = mpi.finish(LIMIT).unwrap_err();
    assert!(error.to_string().contains("subgroup"), "{error}");
    println!("rank 0 has its error");
    Ok(())
}

/// Rank 1 is killed; the others call something with it.
fn with_a_killed_rank(kill: impl FnOnce(&Guard) -> Result<()>, call: impl FnOnce(&Guard) -> Result<()>) -> Result<()> {
    let (_, guard) = guard(SOON)?;
    guard.barrier()?.wait(LIMIT)?;
    if guard.rank() == 1 {
        kill(&guard)?;
        Command::new("kill").args(["-9", &std::process::id().to_string()]).status()?;
        std::thread::sleep(PATIENCE);
    }
    let begin = Instant::now();
    let error = call(&guard).unwrap_err();
    assert!(matches!(Fault::of(&error), Some(Fault::Missing { .. } | Fault::Left { .. })), "{error}");
    assert!(begin.elapsed() < 3 * SOON.limit, "{:?}", begin.elapsed());
    println!("survivor has its error: {error}");
    Ok(())
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_killed_before_a_call() -> Result<()> {
    with_a_killed_rank(|_| Ok(()), |guard| sum(guard, 3).map(drop))
}

/// Rank 1 agrees to the call, and takes no part in it.
#[test]
#[ignore = "what a rank of another test runs"]
fn rank_killed_in_the_middle() -> Result<()> {
    let begin = |guard: &Guard| guard.all_reduce(Buffer::zeros(4 << 20)?, DType::F32, Reduction::Sum);
    with_a_killed_rank(|guard| begin(guard).map(drop), |guard| begin(guard)?.wait(LIMIT).map(drop))
}

#[test]
#[ignore = "what a rank of another test runs"]
fn rank_everything() -> Result<()> {
    let mpi = Mpi::start()?;
    common::everything(&*mpi.world()?)?;
    mpi.finish(LIMIT)?;
    let error = mpi.world().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("finished"), "{error}");
    Ok(())
}

#[test]
#[ignore = "what a process of another test runs"]
fn rank_without_library() {
    let error: Error = Mpi::start().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("pip install mpich") && text.contains("OPFORGE_MPI"), "{text}");
}
