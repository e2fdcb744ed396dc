//! What engines do.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opforge_core::{DType, DeviceLocation, Error};
use opforge_dist::{Buffer, Collectives, Engine, Fault, LIMIT, Reduction};

use super::Ranks;

#[test]
fn every_call_in_every_dtype() {
    for ranks in 1..=4 {
        for result in Ranks::run(ranks, |engine| crate::common::everything(&*engine)) {
            result.unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
        }
    }
}

/// Floats whose sum depends on the order, by ranks that come at different times.
#[test]
fn results_do_not_depend_on_timing() {
    let values = [1e8f32, 1.0, -1e8, 0.25];
    let sum = |late: usize| {
        let program = |engine: Arc<dyn Engine>| {
            std::thread::sleep(Duration::from_millis(if engine.rank() == late { 20 } else { 0 }));
            let mine = Buffer::of(&[values[engine.rank()]])?;
            Ok(engine.all_reduce(mine, DType::F32, Reduction::Sum)?.wait(LIMIT)?.to_vec::<f32>()?[0].to_bits())
        };
        Ranks::run(4, program).into_iter().map(Result::unwrap).collect::<Vec<u32>>()
    };
    let expected = (((values[0] + values[1]) + values[2]) + values[3]).to_bits();
    for late in 0..4 {
        assert_eq!(sum(late), [expected; 4]);
    }
}

#[test]
fn a_rank_that_returns_or_panics_is_an_error_at_the_others() {
    let begin = Instant::now();
    let results = Ranks::run(3, |engine| match engine.rank() {
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
    let results = Ranks::run(2, |engine| {
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
    let results = Ranks::run(2, |engine| match engine.rank() {
        0 => engine.send(Buffer::of(&[1u8, 2])?, DType::U8, 1, 0)?.wait(LIMIT).map(drop),
        _ => engine.receive(3, DType::U8, 0, 0)?.wait(LIMIT).map(drop),
    });
    let error = results[1].as_ref().unwrap_err().to_string();
    assert!(error.contains("2 bytes") && error.contains("3 bytes"), "{error}");
}

#[test]
fn lent_memory_may_be_written_when_a_call_is_done() {
    const LEN: usize = 100_000;
    let results = Ranks::run(2, |engine| {
        if engine.rank() == 1 {
            engine.receive(0, DType::U8, 0, 1)?.wait(LIMIT)?;
            return engine.receive(LEN, DType::U8, 0, 0)?.wait(LIMIT)?.to_vec::<u8>();
        }
        let address = NonNull::from(vec![1u8; LEN].leak()).cast::<u8>();
        // SAFETY: the memory is initialised, lives forever, and is not used until the buffer is dropped, with the request.
        let lent = unsafe { Buffer::from_raw(address, LEN, DeviceLocation::Cpu, Arc::new(())) };
        engine.send(lent, DType::U8, 1, 0)?.wait(LIMIT)?;
        // SAFETY: as many bytes are there; the request is done.
        unsafe { address.write_bytes(2, LEN) };
        engine.send(Buffer::empty(), DType::U8, 1, 1)?.wait(LIMIT)?;
        Ok(Vec::new())
    });
    assert_eq!(results[1].as_ref().unwrap(), &vec![1; LEN]);
}
