//! When kernel data lives, and who uses it at once.

use std::fs;
use std::thread;

use opforge::{DType, Result, Tensor};
use opforge_custom::{CustomOp, ShapeRule};

use crate::common::{CPU, library, op, vector};

#[test]
fn data_is_destroyed_before_its_library_is_closed() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let (diary, file) = (folder.path().join("diary"), folder.path().join("living.so"));
    // A library of its own, which nothing else keeps open.
    fs::copy(library("lifetime.cc"), &file).unwrap();
    let read = || fs::read_to_string(&diary).unwrap();
    let live = || -> Result<()> {
        let living = CustomOp::open(&file, "Living")?.shapes(ShapeRule::Fixed(vec![vec![]]));
        let living = living.attr("diary", diary.to_str().unwrap())?;
        for _ in 0..3 {
            assert_eq!(living.apply(&[&vector(&[1.0])])?.to_scalar::<f32>()?, 1.0);
        }
        assert_eq!(read(), "made\n");
        assert_eq!(living.apply(&[&vector(&[1.0, 2.0])])?.to_scalar::<f32>()?, 1.0);
        assert_eq!(read(), "made\nmade\n");
        Ok(())
    };
    // On a thread of its own, since each remembers the calls that it prepared.
    thread::scope(|scope| scope.spawn(live).join().unwrap())?;
    assert_eq!(read(), "made\nmade\ndestroyed\ndestroyed\nclosed\n");
    Ok(())
}

#[test]
fn many_threads_call_one_operator() -> Result<()> {
    let reduce = op("add_reduce.cc", "AddReduce").attr("axis", 0)?.attr("keep_dim", false)?;
    let shared = Tensor::ones((50, 3), DType::F32, CPU)?;
    let work = |seed: usize| -> Result<()> {
        for i in 0..200 {
            let rows = 1 + (seed + i) % 7;
            let x = Tensor::ones((rows, 5), DType::F32, CPU)?;
            assert_eq!(reduce.apply(&[&x, &x])?.to_vec1::<f32>()?, [2.0 * rows as f32; 5]);
            assert_eq!(reduce.apply(&[&shared, &shared])?.to_vec1::<f32>()?, [100.0; 3]);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}
