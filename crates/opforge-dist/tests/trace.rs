//! Recordings of what ran when show the calls between ranks, with the bytes that they bring.

use opforge_core::DType;
use opforge_dist::{Buffer, Collectives, Engine, Guard, LIMIT, Reduction, Settings, Threads};
use opforge_runtime::vm::trace::{self, Kind};

#[test]
fn recordings_show_calls_and_their_bytes() {
    trace::start();
    let ranks = Threads::run(3, |engine| {
        let guard = Guard::new(engine, Settings::default());
        let (rank, counts) = (guard.rank(), [1, 2, 0]);
        let bytes = |count: usize| Buffer::zeros(count * 4);
        guard.all_reduce(bytes(300)?, DType::F32, Reduction::Sum)?.wait(LIMIT)?;
        guard.all_gather(bytes(counts[rank])?, DType::F32, &counts)?.wait(LIMIT)?;
        guard.reduce_scatter(bytes(3)?, DType::F32, Reduction::Sum, &counts)?.wait(LIMIT)?;
        guard.broadcast(bytes(5)?, DType::F32, 1)?.wait(LIMIT)?;
        // Each rank sends its number to each.
        guard.all_to_all(bytes(3 * rank)?, DType::F32, &[rank; 3], &[0, 1, 2])?.wait(LIMIT)?;
        match rank {
            0 => guard.send(bytes(7)?, DType::F32, 2, 0)?.wait(LIMIT)?,
            1 => Buffer::empty(),
            _ => guard.receive(7, DType::F32, 0, 0)?.wait(LIMIT)?,
        };
        guard.close()
    });
    ranks.into_iter().for_each(|rank| rank.unwrap());
    let events = trace::stop();
    assert!(events.iter().all(|event| event.kind == Kind::Communication && event.start <= event.end));
    let bytes_of = |call: &str| {
        let of_call = events.iter().filter(|event| event.op == format!("threads:{call}"));
        let mut bytes: Vec<usize> = of_call.map(|event| event.bytes).collect();
        bytes.sort_unstable();
        bytes
    };
    assert_eq!(bytes_of("all_reduce"), [1600; 3]);
    assert_eq!(bytes_of("all_gather"), [4, 8, 12]);
    assert_eq!(bytes_of("reduce_scatter"), [0, 8, 16]);
    assert_eq!(bytes_of("broadcast"), [0, 20, 20]);
    assert_eq!(bytes_of("all_to_all"), [4, 8, 12]);
    assert_eq!((bytes_of("send"), bytes_of("receive")), (vec![0], vec![28]));
}
