//! The guard over an engine: what diverges, stops or leaves is an error on every rank, soon.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opforge_core::{DType, Result};
use opforge_dist::{Buffer, Collectives, Engine, Fault, Guard, LIMIT, Reduction, Settings};

use super::Ranks;

/// Short, for ranks that do not come; long enough for those that do.
const SOON: Duration = Duration::from_millis(300);

/// Runs a program under guards, and fails if it takes as long as a test that hangs would.
fn guarded<T: Send>(ranks: usize, limit: Duration, program: impl Fn(Guard) -> Result<T> + Sync) -> Vec<Result<T>> {
    let begin = Instant::now();
    let results = Ranks::run(ranks, |engine| program(Guard::new(engine, Settings { limit, ..Settings::default() })));
    assert!(begin.elapsed() < LIMIT, "it took {:?}", begin.elapsed());
    results
}

fn fault<T: std::fmt::Debug>(result: &Result<T>) -> &Fault {
    Fault::of(result.as_ref().unwrap_err()).unwrap()
}

/// Both sides of a difference, if it is one.
fn sides(fault: &Fault) -> (usize, &str, usize, &str) {
    match fault {
        Fault::Diverged { rank, call, other, other_call } => (*rank, call, *other, other_call),
        other => panic!("no difference: {other}"),
    }
}

fn sum(engine: &dyn Engine, values: &[f32]) -> Result<Vec<f32>> {
    engine.all_reduce(Buffer::of(values)?, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec()
}

#[test]
fn what_agrees_runs() {
    for ranks in 1..=3 {
        for result in guarded(ranks, LIMIT, |guard| crate::common::everything(&guard).and_then(|()| guard.close())) {
            result.unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
        }
    }
}

#[test]
fn records_may_go_by_another_engine() {
    let results = Ranks::run(3, |engine| {
        let data = engine.subgroup(&[0, 1, 2])?;
        let guard = Guard::with_records(data, engine, Settings::default())?;
        crate::common::everything(&guard)?;
        guard.close()
    });
    results.into_iter().for_each(|result| result.unwrap());
    let alone =
        |engine: Arc<dyn Engine>| Guard::with_records(engine.subgroup(&[engine.rank()])?, engine, Settings::default());
    assert!(Ranks::run(2, alone).iter().all(Result::is_err));
}

#[test]
fn limits_may_be_without_end() {
    let results = guarded(2, Duration::MAX, |guard| guard.barrier()?.wait(Duration::MAX));
    results.into_iter().for_each(|result| drop(result.unwrap()));
}

#[test]
fn another_operation_shows_both_sides_on_both_ranks() {
    let results = guarded(2, LIMIT, |guard| match guard.rank() {
        0 => sum(&guard, &[1.0]).map(drop),
        _ => guard.broadcast(Buffer::of(&[1f32])?, DType::F32, 0)?.wait(LIMIT).map(drop),
    });
    let here = |call: &str| call.contains("guard.rs:") && call.contains("f32 [1]");
    let (rank, call, other, other_call) = sides(fault(&results[0]));
    assert!((rank, other) == (0, 1) && call.starts_with("all_reduce(sum)") && here(call), "{call}");
    assert!(other_call.starts_with("broadcast(root 0)") && here(other_call), "{other_call}");
    let (rank, call, other, other_call) = sides(fault(&results[1]));
    assert!((rank, other) == (1, 0) && call.starts_with("broadcast") && other_call.starts_with("all_reduce"));
}

#[test]
fn other_shapes_dtypes_reductions_roots_and_counts_are_errors() {
    type Program = fn(&dyn Engine, usize) -> Result<()>;
    let programs: [(&str, Program); 6] = [
        ("shape", |engine, rank| sum(engine, &vec![1.0; 1000 + rank]).map(drop)),
        ("dtype", |engine, rank| {
            let dtype = [DType::F32, DType::I32][rank];
            engine.all_reduce(Buffer::of(&[1f32])?, dtype, Reduction::Sum)?.wait(LIMIT).map(drop)
        }),
        ("reduction", |engine, rank| {
            let op = [Reduction::Sum, Reduction::Max][rank];
            engine.all_reduce(Buffer::of(&[1f32])?, DType::F32, op)?.wait(LIMIT).map(drop)
        }),
        ("root", |engine, rank| engine.broadcast(Buffer::of(&[1f32])?, DType::F32, rank)?.wait(LIMIT).map(drop)),
        ("counts", |engine, rank| {
            let counts = [[1, 2], [2, 1]][rank];
            engine.all_gather(Buffer::of(&vec![1f32; counts[rank]])?, DType::F32, &counts)?.wait(LIMIT).map(drop)
        }),
        ("counts of pairs", |engine, rank| {
            // Rank 0 expects two elements of rank 1, which sends one.
            let (sent, received) = [([0, 1], [0, 2]), ([1, 0], [1, 0])][rank];
            let mine = Buffer::of(&vec![1f32; sent.iter().sum()])?;
            engine.all_to_all(mine, DType::F32, &sent, &received)?.wait(LIMIT).map(drop)
        }),
    ];
    for (what, program) in programs {
        let results = guarded(2, LIMIT, |guard| program(&guard, guard.rank()));
        for (rank, result) in results.iter().enumerate() {
            let (here, _, other, _) = sides(fault(result));
            assert_eq!((here, other), (rank, 1 - rank), "{what}");
        }
    }
}

#[test]
fn every_rank_of_three_learns_that_one_differs() {
    let results = guarded(3, LIMIT, |guard| sum(&guard, &vec![1.0; if guard.rank() == 1 { 3 } else { 2 }]));
    for (rank, result) in results.iter().enumerate() {
        match fault(result) {
            Fault::Diverged { rank: here, other, .. } => assert!(*here == rank && (rank == 1) != (*other == 1)),
            // Whoever differs may say so before this rank looks.
            Fault::Left { how, .. } => assert!(how.contains("ranks differ"), "{how}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn another_group_is_seen_at_once() {
    let results = guarded(3, LIMIT, |guard| {
        if guard.rank() == 2 {
            return guard.barrier()?.wait(LIMIT).map(drop);
        }
        let pair = guard.subgroup(&[0, 1])?;
        match guard.rank() {
            0 => pair.barrier()?.wait(LIMIT).map(drop),
            _ => guard.barrier()?.wait(LIMIT).map(drop),
        }
    });
    let (_, call, _, other_call) = sides(fault(&results[0]));
    assert!(call.contains("ranks [0, 1]") && other_call.contains("ranks [0, 1, 2]"), "{call}; {other_call}");
    assert!(results.iter().all(Result::is_err));
}

#[test]
fn the_same_place_is_demanded_where_asked_for() {
    for same_place in [false, true] {
        let results = Ranks::run(2, |engine| {
            let guard = Guard::new(engine, Settings { same_place, ..Settings::default() });
            match guard.rank() {
                0 => sum(&guard, &[1.0]),
                _ => guard.all_reduce(Buffer::of(&[1f32])?, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec(),
            }
        });
        assert!(results.iter().all(|result| result.is_err() == same_place), "{results:?}");
    }
}

#[test]
fn a_rank_that_returns_early_is_an_error_at_once() {
    let results = guarded(3, LIMIT, |guard| match guard.rank() {
        1 => Ok(()),
        _ => guard.barrier()?.wait(LIMIT).map(drop),
    });
    assert!(results[1].is_ok());
    for rank in [0, 2] {
        // The other one of them may have stopped before this rank looks.
        let Fault::Left { call, how, .. } = fault(&results[rank]) else { panic!("{:?}", results[rank]) };
        assert!(call.starts_with("barrier") && how.contains("has left the program"), "{how}");
    }
}

#[test]
fn a_rank_that_panics_is_an_error_at_once() {
    let results = guarded(2, LIMIT, |guard| match guard.rank() {
        1 => panic!("out of luck"),
        _ => sum(&guard, &[1.0]),
    });
    assert!(matches!(fault(&results[0]), Fault::Left { other: 1, how, .. } if how == "panicked"), "{:?}", results[0]);
    assert!(matches!(fault(&results[1]), Fault::Panicked { rank: 1, .. }));
}

/// Rank 1 does nothing until the others have their errors.
fn stuck(program: impl Fn(&Guard) -> Result<()> + Sync) -> Vec<Result<()>> {
    let waiting = AtomicUsize::new(2);
    let begin = Instant::now();
    let results = guarded(3, SOON, |guard| {
        if guard.rank() == 1 {
            while waiting.load(Ordering::Acquire) > 0 && begin.elapsed() < LIMIT {
                std::thread::sleep(Duration::from_millis(1));
            }
            return program(&guard);
        }
        let result = program(&guard);
        waiting.fetch_sub(1, Ordering::Release);
        result
    });
    assert!(begin.elapsed() >= SOON && begin.elapsed() < 10 * SOON, "{:?}", begin.elapsed());
    results
}

#[test]
fn a_stuck_rank_is_an_error_within_the_limit() {
    let large = vec![1.0; 1000];
    for result in stuck(|guard| sum(guard, &large).map(drop)) {
        match fault(&result) {
            Fault::Missing { ranks, waited, .. } => assert_eq!((&ranks[..], *waited), (&[1][..], SOON)),
            // The other waiting rank was first, or this one is late itself.
            Fault::Left { how, .. } => assert!(how.contains("for rank 1"), "{how}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn after_an_error_a_rank_makes_no_calls() {
    let results = guarded(2, LIMIT, |guard| {
        let first = sum(&guard, &vec![1.0; 2 + guard.rank()]).unwrap_err().to_string();
        Ok((first, sum(&guard, &[1.0]).unwrap_err()))
    });
    for (rank, result) in results.into_iter().enumerate() {
        let (first, second) = result.unwrap();
        let Some(Fault::Failed { rank: here, earlier, .. }) = Fault::of(&second) else { panic!("{second}") };
        assert_eq!((*here, earlier), (rank, &first));
    }
}

#[test]
fn messages_are_compared_by_their_receiver() {
    for (large, other) in [(2, 3), (1000, 1001), (2, 1000), (1000, 2)] {
        let results = guarded(2, SOON, |guard| match guard.rank() {
            0 => guard.send(Buffer::of(&vec![1f32; large])?, DType::F32, 1, 3)?.wait(LIMIT).map(drop),
            _ => guard.receive(other, DType::F32, 0, 3)?.wait(LIMIT).map(drop),
        });
        let (rank, call, sender, sent) = sides(fault(&results[1]));
        assert!((rank, sender) == (1, 0) && call.starts_with("receive(from 0, tag 3)"), "{call}");
        assert!(sent.starts_with("send(to 1, tag 3)"), "{sent}");
    }
}

#[test]
fn a_message_that_does_not_come_is_an_error() {
    let results = guarded(2, SOON, |guard| match guard.rank() {
        0 => Ok(()),
        _ => guard.receive(4, DType::F32, 0, 0)?.wait(LIMIT).map(drop),
    });
    assert!(matches!(fault(&results[1]), Fault::Missing { .. } | Fault::Left { .. }), "{:?}", results[1]);
}

#[test]
fn closing_is_a_call_like_others() {
    let results = guarded(2, LIMIT, |guard| match guard.rank() {
        0 => guard.close(),
        _ => sum(&guard, &[1.0]).map(drop),
    });
    let (_, call, _, other_call) = sides(fault(&results[0]));
    assert!(call.starts_with("close") && other_call.starts_with("all_reduce"), "{call}; {other_call}");
    assert!(matches!(fault(&results[1]), Fault::Diverged { .. }));
}

#[test]
fn requests_may_be_given_up_and_waited_for_in_any_order() {
    let results = guarded(2, LIMIT, |guard| {
        let guard = Arc::new(guard);
        let begin = |len: usize| guard.all_reduce(Buffer::of(&vec![1f32; len])?, DType::F32, Reduction::Sum);
        let (first, second, third) = (begin(500)?, begin(2)?, begin(700)?);
        drop(second);
        let third = third.wait(LIMIT)?.to_vec::<f32>()?;
        let first = first.wait(LIMIT)?.to_vec::<f32>()?;
        guard.close()?;
        Ok((first, third))
    });
    for result in results {
        assert_eq!(result.unwrap(), (vec![2.0; 500], vec![2.0; 700]));
    }
}
