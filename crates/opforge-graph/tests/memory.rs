//! What programs keep in memory: one test at a time, in a process without others.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{floats, vec};
use opforge::{DType, Device, Result, Tensor, Var};
use opforge_graph::{Function, Program, trace};
use opforge_runtime::{alloc, vm};

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn programs_for_many_shapes_share_what_is_packed() {
    let _alone = alone();
    let weight = Tensor::zeros((512, 1024), DType::F32, &Device::Cpu).unwrap();
    let linear = |x: &[Tensor]| Ok(vec![x[0].matmul(&weight)?]);
    let programs: Vec<(Tensor, Program)> = (2..10)
        .map(|rows| {
            let x = floats(&[rows, 512], rows);
            let program = trace(&[&x], linear).unwrap().compile().unwrap();
            (x, program)
        })
        .collect();
    let before = alloc::stats().in_use;
    for (x, program) in &programs {
        program.run(&[x]).unwrap()[0].to_vec2::<f32>().unwrap();
    }
    let grown = alloc::stats().in_use.saturating_sub(before);
    assert!(grown < 2 * weight.storage().nbytes(), "{grown} bytes for eight programs");
}

/// Functions of single elements are made again, and kept memory is that of what they are made of.
#[test]
fn what_is_cheap_is_not_kept_between_the_programs() {
    let _alone = alone();
    let [w, v] = [floats(&[64, 512], 1), floats(&[512, 8], 2)].map(|t| Var::from_tensor(&t).unwrap());
    let x = floats(&[2048, 64], 3);
    let f = |x: &Tensor| x.matmul(&w)?.gelu()?.affine(2.0, 1.0)?.matmul(&v);
    let function = Function::trace(&[&x], |x| Ok(vec![f(&x[0])?])).unwrap();
    let kept = |call: &dyn Fn() -> Result<Tensor>| {
        vm::synchronize().unwrap();
        let before = alloc::stats().in_use;
        let result = call().unwrap();
        vm::synchronize().unwrap();
        let kept = alloc::stats().in_use - before;
        let gradients = result.sum_all().unwrap().backward().unwrap();
        (kept, [&w, &v].map(|leaf| vec(gradients.get(leaf).unwrap())))
    };
    let (eager, expected) = kept(&|| f(&x));
    let (lazy, found) = kept(&|| Ok(function.call(&[&x])?.remove(0)));
    let hidden = 2048 * 512 * 4;
    assert!(eager > 2 * hidden && lazy < hidden + hidden / 2, "kept {lazy} bytes, {eager} in eager code");
    assert_eq!(found, expected);
}
