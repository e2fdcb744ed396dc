//! The engine of threads.

use std::time::{Duration, Instant};

use opforge_core::{DType, Error};
use opforge_dist::{Buffer, Collectives, Engine, Fault, LIMIT, Reduction, Threads};

#[test]
fn every_call_in_every_dtype() {
    for ranks in 1..=4 {
        for result in Threads::run(ranks, |engine| crate::common::everything(&*engine)) {
            result.unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
        }
    }
}

/// Floats whose sum depends on the order, by ranks that come at different times.
#[test]
fn results_do_not_depend_on_timing() {
    let values = [1e8f32, 1.0, -1e8, 0.25];
    let sum = |late: usize| {
        let program = |engine: std::sync::Arc<dyn Engine>| {
            std::thread::sleep(Duration::from_millis(if engine.rank() == late { 20 } else { 0 }));
            let mine = Buffer::of(&[values[engine.rank()]])?;
            Ok(engine.all_reduce(mine, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec::<f32>()?[0].to_bits())
        };
        Threads::run(4, program).into_iter().map(Result::unwrap).collect::<Vec<u32>>()
    };
    let expected = (((values[0] + values[1]) + values[2]) + values[3]).to_bits();
    for late in 0..4 {
        assert_eq!(sum(late), [expected; 4]);
    }
}

#[test]
fn a_rank_that_returns_or_panics_is_an_error_at_the_others() {
    let begin = Instant::now();
    let results = Threads::run(3, |engine| match engine.rank() {
        0 => Ok(()),
        1 => panic!("out of luck"),
        _ => engine.barrier()?.wait(LIMIT).map(drop),
    });
    let faults: Vec<_> = results.iter().map(|result| result.as_ref().err().and_then(Fault::of)).collect();
    assert_eq!(faults[0], None);
    assert_eq!(faults[1], Some(&Fault::Panicked { rank: 1, message: "out of luck".into() }));
    assert!(matches!(faults[2], Some(Fault::Left { rank: 2, other: 0 | 1, .. })), "{faults:?}");
    assert!(begin.elapsed() < LIMIT);
}

#[test]
fn a_wait_ends_at_its_limit() {
    let results = Threads::run(2, |engine| {
        if engine.rank() == 0 {
            let error = engine.barrier()?.wait(Duration::from_millis(30)).err();
            // The other rank has not left yet: it waits for this message.
            engine.send(Buffer::empty(), DType::U8, 1, 0)?.wait(LIMIT)?;
            return error.ok_or(Error::UnwrapNone);
        }
        engine.receive(0, DType::U8, 0, 0)?.wait(LIMIT)?;
        Ok(Error::UnwrapNone)
    });
    let error = results.into_iter().next().unwrap().unwrap();
    assert!(matches!(Fault::of(&error), Some(Fault::TimedOut { .. })), "{error}");
}

#[test]
fn messages_of_another_length_are_errors() {
    let results = Threads::run(2, |engine| match engine.rank() {
        0 => engine.send(Buffer::of(&[1u8, 2])?, DType::U8, 1, 0)?.wait(LIMIT).map(drop),
        _ => engine.receive(3, DType::U8, 0, 0)?.wait(LIMIT).map(drop),
    });
    let error = results[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("2 bytes") && error.contains("3 bytes"), "{error}");
}
