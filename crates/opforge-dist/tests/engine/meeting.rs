//! Sockets: how ranks find each other, what they refuse, and what becomes of processes that die.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opforge_core::{DType, Error, Result};
use opforge_dist::{Buffer, Collectives, Engine, Fault, Guard, LIMIT, Meeting, Reduction, Settings, Sockets};

/// Short, for ranks that do not come.
const SOON: Duration = Duration::from_millis(400);

type Joined = Result<Arc<dyn Engine>>;

fn listener() -> (TcpListener, String) {
    let listener = Sockets::listen("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

fn host(listener: TcpListener, ranks: usize, limit: Duration) -> Joined {
    Meeting { rank: 0, ranks, limit, go_on: &|| true }.host(listener)
}

/// Another rank, in a thread of its own.
fn join(address: &str, rank: usize, ranks: usize, limit: Duration) -> JoinHandle<Joined> {
    let address = address.to_owned();
    std::thread::spawn(move || Sockets::world(&address, rank, ranks, limit))
}

fn fault(error: &Error) -> &Fault {
    Fault::of(error).unwrap_or_else(|| panic!("no fault: {error}"))
}

#[test]
fn strangers_are_refused_and_do_not_disturb() {
    let (listener, address) = listener();
    let silent = TcpStream::connect(&address).unwrap();
    let mut stranger = TcpStream::connect(&address).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\nHost: nobody\r\nAccept: everything\r\n\r\n").unwrap();
    let other = join(&address, 1, 2, LIMIT);
    let engine = host(listener, 2, LIMIT).unwrap();
    let other = other.join().unwrap().unwrap();
    let barrier = other.barrier().unwrap();
    engine.barrier().unwrap().wait(LIMIT).unwrap();
    barrier.wait(LIMIT).unwrap();
    drop(silent);
}

#[test]
fn a_world_of_another_size_is_an_error_of_both() {
    let (listener, address) = listener();
    let other = join(&address, 1, 3, LIMIT);
    let begin = Instant::now();
    let error = host(listener, 2, LIMIT).unwrap_err();
    assert!(matches!(fault(&error), Fault::Diverged { rank: 0, other: 1, .. }), "{error}");
    let error = other.join().unwrap().unwrap_err();
    let Fault::Left { other: 0, how, .. } = fault(&error) else { panic!("{error}") };
    assert!(how.contains("a world of 2 ranks") && how.contains("a world of 3 ranks"), "{how}");
    assert!(begin.elapsed() < LIMIT);
}

#[test]
fn two_ranks_of_a_number_are_an_error_of_all() {
    let (listener, address) = listener();
    let others = [join(&address, 1, 3, LIMIT), join(&address, 1, 3, LIMIT)];
    let error = host(listener, 3, LIMIT).unwrap_err();
    assert!(error.to_string().contains("rank 1 of a world of 3 ranks too"), "{error}");
    for other in others {
        assert!(matches!(fault(&other.join().unwrap().unwrap_err()), Fault::Left { other: 0, .. }));
    }
}

#[test]
fn ranks_that_do_not_come_are_named() {
    let (listener, address) = listener();
    let other = join(&address, 2, 4, LIMIT);
    let error = host(listener, 4, SOON).unwrap_err();
    let Fault::Missing { rank: 0, ranks, .. } = fault(&error) else { panic!("{error}") };
    assert!(ranks.ends_with(&[3]) && ranks.contains(&1), "{ranks:?}");
    let error = other.join().unwrap().unwrap_err();
    assert!(error.to_string().contains("for ranks 1"), "{error}");
}

#[test]
fn a_rank_0_that_is_not_there_is_an_error_within_the_limit() {
    let (listener, address) = listener();
    drop(listener);
    let begin = Instant::now();
    let error = Sockets::world(&address, 1, 2, SOON).unwrap_err();
    assert!(matches!(fault(&error), Fault::Network { message } if message.contains(&address)), "{error}");
    assert!(begin.elapsed() >= SOON && begin.elapsed() < LIMIT);
    let stop = Meeting { rank: 1, ranks: 2, limit: LIMIT, go_on: &|| false };
    assert!(stop.join(&|| Ok(None)).is_err() && begin.elapsed() < LIMIT);
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let (_listener, address) = listener();
    let error = Sockets::world(&address, 0, 2, LIMIT).unwrap_err();
    assert!(matches!(fault(&error), Fault::Network { message } if message.contains("this port")), "{error}");
}

#[test]
fn a_port_serves_one_world_after_the_other() {
    let (listener, address) = listener();
    drop(listener);
    for ranks in [2, 4, 3] {
        let others: Vec<_> = (1..ranks).map(|rank| join(&address, rank, ranks, LIMIT)).collect();
        let mut engines = vec![Sockets::world(&address, 0, ranks, LIMIT).unwrap()];
        engines.extend(others.into_iter().map(|other| other.join().unwrap().unwrap()));
        let barriers: Vec<_> = engines.iter().map(|engine| engine.barrier().unwrap()).collect();
        barriers.into_iter().for_each(|barrier| drop(barrier.wait(LIMIT).unwrap()));
    }
}

/// More than the system holds between two processes goes both ways before anything is received; tags are taken in another order.
#[test]
fn what_is_sent_at_once_does_not_stand_still() {
    const COUNT: usize = 3 << 20;
    let results = Sockets::run(2, |engine| {
        let other = 1 - engine.rank();
        let begin = Instant::now();
        let send = |tag: u16| {
            engine.send(Buffer::of(&vec![f32::from(tag) + engine.rank() as f32; COUNT])?, DType::F32, other, tag)
        };
        let sends = [send(1)?, send(2)?];
        let waited = begin.elapsed();
        for tag in [2, 1] {
            let values = engine.receive(COUNT, DType::F32, other, tag)?.wait(LIMIT)?.to_vec::<f32>()?;
            assert!(values.iter().all(|&value| value == f32::from(tag) + other as f32));
        }
        sends.into_iter().try_for_each(|send| send.wait(LIMIT).map(drop))?;
        Ok(waited)
    });
    results.into_iter().for_each(|result| assert!(result.unwrap() < LIMIT));
}

/// What a rank has sent arrives although it has left.
#[test]
fn a_rank_may_leave_before_others_have_received() {
    let results = Sockets::run(2, |engine| match engine.rank() {
        0 => engine.send(Buffer::of(&vec![7i64; 1 << 20])?, DType::I64, 1, 0)?.wait(LIMIT).map(|_| 0),
        _ => {
            std::thread::sleep(Duration::from_millis(100));
            let values = engine.receive(1 << 20, DType::I64, 0, 0)?.wait(LIMIT)?.to_vec::<i64>()?;
            let error = engine.receive(1, DType::I64, 0, 0)?.wait(LIMIT).unwrap_err();
            assert!(matches!(fault(&error), Fault::Left { other: 0, how, .. } if how == "has left"), "{error}");
            Ok(values.into_iter().filter(|&value| value == 7).count())
        }
    });
    assert_eq!(results.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [0, 1 << 20]);
}

#[test]
fn a_process_that_is_killed_is_an_error_at_once() {
    for is_guarded in [false, true] {
        let (listener, address) = listener();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "meeting::rank_that_is_killed"]);
        let mut child = command.env("OPFORGE_TEST_ADDRESS", &address).spawn().unwrap();
        let world = host(listener, 2, LIMIT).unwrap();
        let engine: Arc<dyn Engine> = match is_guarded {
            true => Arc::new(Guard::new(world, Settings::default())),
            false => world,
        };
        let begin = Instant::now();
        let zeros = Buffer::zeros(4 << 20).unwrap();
        let error = engine.all_reduce(zeros, DType::F32, Reduction::Sum).unwrap().wait(LIMIT).unwrap_err();
        let Fault::Left { rank: 0, other: 1, how, .. } = fault(&error) else { panic!("{error}") };
        assert!(how.contains("without a goodbye") && begin.elapsed() < LIMIT / 2, "{how}");
        child.wait().unwrap();
    }
}

#[test]
#[ignore = "what a process of another test runs"]
fn rank_that_is_killed() {
    let address = std::env::var("OPFORGE_TEST_ADDRESS").unwrap();
    let _engine = Sockets::world(&address, 1, 2, LIMIT).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    Command::new("kill").args(["-9", &std::process::id().to_string()]).status().unwrap();
    std::thread::sleep(LIMIT);
}
