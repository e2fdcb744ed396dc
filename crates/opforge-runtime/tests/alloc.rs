//! The allocator: figures, reuse, limits, errors. Its state is the process's, so these tests take turns.
#![cfg(not(loom))]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opforge_core::{Error, ErrorKind, Result};
use opforge_runtime::{Device, Storage, alloc, vm};

const MIB: usize = 1 << 20;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    alloc::empty_cache();
    alloc::reset_peak();
    turn
}

/// A storage whose memory is reserved.
fn reserved(nbytes: usize) -> Result<Arc<Storage>> {
    let storage = Storage::new(Device::Cpu, nbytes)?;
    storage.data()?;
    Ok(storage)
}

fn address(storage: &Storage) -> usize {
    storage.data().unwrap().addr().get()
}

/// Sets a limit for the rest of its scope.
struct Limit(usize);
impl Limit {
    fn set(bytes: usize) -> Self {
        let before = alloc::limit();
        alloc::set_limit(bytes);
        Limit(before)
    }
}
impl Drop for Limit {
    fn drop(&mut self) {
        alloc::set_limit(self.0);
    }
}

#[test]
fn figures_follow_every_block() {
    let _turn = turn();
    let start = alloc::stats();
    assert_eq!(start.in_use, 0);
    let small = reserved(1000).unwrap();
    let large = reserved(5 * MIB).unwrap();
    let both = alloc::stats();
    assert_eq!(both.in_use, 1024 + 5 * MIB);
    assert_eq!(both.allocations - start.allocations, 2);
    drop((small, large));
    let end = alloc::stats();
    assert_eq!((end.in_use, end.peak), (0, both.in_use));
    assert_eq!(end.frees - start.frees, 2);
    assert!(end.cached >= 5 * MIB);
    alloc::empty_cache();
    assert_eq!(alloc::stats().cached, 0);
    alloc::reset_peak();
    assert_eq!(alloc::stats().peak, 0);
}

#[test]
fn a_new_storage_takes_no_memory() {
    let _turn = turn();
    let storage = Storage::new(Device::Cpu, 64 * MIB).unwrap();
    assert!(!storage.is_reserved());
    assert_eq!(alloc::stats().in_use, 0);
    assert_eq!(address(&storage), address(&storage));
    assert_eq!(alloc::stats().in_use, 64 * MIB);
}

#[test]
fn blocks_are_aligned_and_apart() {
    let _turn = turn();
    let sizes = [1, 64, 511, 512, 513, 4096, 5000, 100_000, 262_144, 262_145, 3 * MIB, 9 * MIB + 1];
    let storages: Vec<_> = sizes.iter().flat_map(|&size| [size, size]).map(|size| reserved(size).unwrap()).collect();
    let mut spans: Vec<_> = storages.iter().map(|s| (address(s), address(s) + s.nbytes())).collect();
    spans.sort_unstable();
    assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    for storage in &storages {
        let alignment = match storage.nbytes() {
            ..=64 => 16,
            nbytes if nbytes > 256 << 10 => 4096,
            _ => alloc::ALIGNMENT,
        };
        assert!(address(storage).is_multiple_of(alignment), "{} bytes", storage.nbytes());
    }
}

/// New memory comes in huge pages, which such blocks alone would not fill.
#[cfg(unix)]
#[test]
fn large_blocks_lie_side_by_side() {
    let _turn = turn();
    alloc::empty_cache();
    let storages: Vec<_> = (0..8).map(|_| reserved(300_000).unwrap()).collect();
    let addresses: Vec<usize> = storages.iter().map(|storage| address(storage)).collect();
    let adjacent = addresses.windows(2).filter(|pair| pair[1] == pair[0] + (320 << 10)).count();
    assert!(adjacent >= 6, "{addresses:x?}");
}

#[test]
fn tiny_storages_need_no_block() {
    let _turn = turn();
    let before = alloc::stats();
    let storage = reserved(64).unwrap();
    assert_eq!(alloc::stats(), before);
    assert!(vm::read(&storage).unwrap().iter().all(|&byte| byte == 0));
    vm::write(&storage).unwrap().fill(7);
    assert!(vm::read(&storage.clone()).unwrap().iter().all(|&byte| byte == 7));
}

#[test]
fn freed_blocks_are_used_again_while_they_are_hot() {
    let _turn = turn();
    for nbytes in [100, 70_000, 8 * MIB] {
        let first = address(&reserved(nbytes).unwrap());
        let reused = alloc::stats().reused;
        assert_eq!(address(&reserved(nbytes - nbytes / 16).unwrap()), first, "{nbytes}");
        assert_eq!(alloc::stats().reused, reused + 1);
    }
}

#[test]
fn a_far_too_large_block_is_not_used() {
    let _turn = turn();
    let first = address(&reserved(64 * MIB).unwrap());
    let small = reserved(16 * MIB).unwrap();
    assert_ne!(address(&small), first);
    assert_eq!(address(&reserved(60 * MIB).unwrap()), first);
}

#[test]
fn the_best_fit_is_taken() {
    let _turn = turn();
    let (a, b) = (reserved(12 * MIB).unwrap(), reserved(10 * MIB).unwrap());
    let best = address(&b);
    drop((a, b));
    assert_eq!(address(&reserved(10 * MIB - 5).unwrap()), best);
}

#[test]
fn empty_storages_cost_nothing() {
    let _turn = turn();
    let empty = reserved(0).unwrap();
    assert!(address(&empty).is_multiple_of(alloc::ALIGNMENT));
    assert_eq!(alloc::stats().in_use, 0);
    assert!(opforge_runtime::vm::read(&empty).unwrap().is_empty());
}

#[test]
fn a_request_beyond_the_limit_fails_when_it_is_made() {
    let _turn = turn();
    for nbytes in [usize::MAX, isize::MAX as usize, alloc::limit() + 1] {
        let error = Storage::new(Device::Cpu, nbytes).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { requested, .. } if requested == nbytes));
    }
}

#[test]
fn the_limit_counts_what_is_in_use() {
    let _turn = turn();
    let _limit = Limit::set(10 * MIB);
    let first = reserved(6 * MIB).unwrap();
    let error = reserved(6 * MIB).unwrap_err();
    let Error::OutOfMemory { requested, in_use, limit } = error else { panic!("{error}") };
    assert_eq!((requested, in_use, limit), (6 * MIB, 6 * MIB, 10 * MIB));
    drop(first);
    reserved(6 * MIB).unwrap();
    assert!(reserved(10 * MIB - 100_000).is_ok(), "the cache gives way");
}

#[test]
fn the_cache_gives_way_to_other_sizes() {
    let _turn = turn();
    let _limit = Limit::set(32 * MIB);
    for nbytes in [1, 3, 9, 20, 5, 30, 2].map(|mib| mib * MIB) {
        let storage = reserved(nbytes).unwrap();
        let stats = alloc::stats();
        assert!(stats.in_use + stats.cached <= 32 * MIB, "{stats:?}");
        drop(storage);
    }
}

#[test]
fn slabs_in_use_survive_emptying_the_cache() {
    let _turn = turn();
    let mut kept: Vec<_> = (0..2000u32).map(|i| Storage::from_bytes(&[i as u8; 3000]).unwrap()).collect();
    let mut i = 0;
    kept.retain(|_| {
        i += 1;
        i % 700 == 0
    });
    alloc::empty_cache();
    let stats = alloc::stats();
    assert!(stats.cached < 3 * 2 * MIB, "{stats:?}");
    let more: Vec<_> = (0..2000).map(|_| Storage::from_bytes(&[0; 3000]).unwrap()).collect();
    for (storage, first) in kept.iter().zip([699u32, 1399]) {
        assert_eq!(&opforge_runtime::vm::read(storage).unwrap()[..], [first as u8; 3000]);
    }
    drop(more);
}

#[test]
fn threads_free_each_others_blocks() {
    let _turn = turn();
    let (send, receive) = std::sync::mpsc::channel::<Arc<Storage>>();
    std::thread::scope(|s| {
        s.spawn(move || {
            for i in 0..5000usize {
                let byte = (i % 251) as u8;
                send.send(Storage::from_bytes(&vec![byte; 1 + i % 3000]).unwrap()).unwrap();
            }
        });
        for (i, storage) in receive.iter().enumerate() {
            let bytes = opforge_runtime::vm::read(&storage).unwrap();
            assert!(bytes.len() == 1 + i % 3000 && bytes.iter().all(|&byte| byte == (i % 251) as u8));
        }
    });
    assert_eq!(alloc::stats().in_use, 0);
}

#[test]
fn vectors_are_taken_over() {
    let _turn = turn();
    let values = vec![1.5f32, -2.0, 3.25];
    let place = values.as_ptr().addr();
    let storage = Storage::from_vec(values);
    assert_eq!((address(&storage), storage.nbytes(), alloc::stats().in_use), (place, 12, 0));
    let bytes = opforge_runtime::vm::read(&storage).unwrap();
    assert_eq!(bytes[4..8], (-2.0f32).to_ne_bytes());
}

#[test]
fn foreign_memory_lives_as_long_as_its_storage() {
    let owner = Arc::new([7u8; 16]);
    let data = std::ptr::NonNull::from(owner.as_ref()).cast();
    // SAFETY: `owner` keeps the array alive; read-only.
    let storage = unsafe { Storage::from_raw(data, 16, true, Box::new(owner.clone())) };
    assert_eq!(Arc::strong_count(&owner), 2);
    assert_eq!(opforge_runtime::vm::read(&storage).unwrap()[..], [7; 16]);
    drop(storage);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn versions_count() {
    let storage = Storage::new(Device::Cpu, 1).unwrap();
    assert_eq!(storage.version(), 0);
    storage.bump_version();
    assert_eq!(storage.version(), 1);
}

/// Runs in a process of its own, whose address space it limits.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "run by the_system_may_refuse"]
fn inside_a_small_address_space() {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let space = libc::rlimit { rlim_cur: (pages * 4096 + 128 * MIB) as u64, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &space) }, 0);
    let mut held = Vec::new();
    let error = loop {
        match reserved(16 * MIB) {
            Ok(storage) => held.push(storage),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(held.len() >= 3);
    drop(held);
    reserved(64 * MIB).expect("the cache gives way");
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_may_refuse() {
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "inside_a_small_address_space", "--ignored", "--test-threads=1"]);
    let output = test.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn rooms_are_vectors_that_are_counted_and_limited() {
    let _turn = turn();
    let mut room = alloc::Room::<u64>::new();
    assert_eq!((room.len(), alloc::stats().in_use), (0, 0));
    (0..100_000).try_for_each(|i| room.push(i)).unwrap();
    assert!(room.iter().copied().eq(0..100_000));
    assert!(alloc::stats().in_use >= 800_000);
    assert_eq!(alloc::Room::copied(&room[..10]).unwrap()[..], alloc::Room::collect(0..10u64).unwrap()[..]);
    assert_eq!(alloc::Room::filled(3, 7u8).unwrap()[..], [7; 3]);
    let _limit = Limit::set(alloc::stats().in_use + MIB);
    let refused = |outcome: Result<()>| assert_eq!(outcome.unwrap_err().kind(), ErrorKind::OutOfMemory);
    refused((0..1_000_000).try_for_each(|i| room.push(i)));
    refused(alloc::Room::<u64>::with_capacity(usize::MAX).map(drop));
    refused(alloc::Room::filled(2 * MIB, 0u8).map(drop));
    // Known before the first element is asked for.
    refused(alloc::Room::collect((0..1u64 << 60).map(|_| -> u64 { panic!("too late") })).map(drop));
    assert!(room.len() >= 100_000);
    drop(room);
    assert_eq!(alloc::stats().in_use, 0);
}

#[test]
fn what_is_not_the_allocators_is_checked_too() {
    let _turn = turn();
    let _limit = Limit::set(64 * MIB);
    alloc::check_available(32 * MIB).unwrap();
    assert_eq!(alloc::check_available(65 * MIB).unwrap_err().kind(), ErrorKind::OutOfMemory);
    let _used = reserved(48 * MIB).unwrap();
    assert!(alloc::check_available(32 * MIB).is_err());
    assert_eq!(alloc::vec_of([1, 2].into_iter()).unwrap(), [1, 2]);
    assert!(alloc::vec_of(vec![0u8; 32 * MIB].into_iter()).is_err());
    alloc::check_available(100).unwrap();
}
