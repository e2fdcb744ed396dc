//! What is held, and for how long; and what happens when there is no more. Every test here looks at the whole process's memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use opforge::{DType, Device, ErrorKind, Result, Tensor, Var};
use opforge_runtime::{alloc, vm};

const CPU: &Device = &Device::Cpu;
/// Elements of a tensor of 1 MiB.
const MIB: usize = 1 << 18;

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// MiB in use once everything that was called has run.
fn in_use() -> usize {
    vm::synchronize().expect("no kernel failed");
    alloc::stats().in_use >> 20
}

fn chain(x: &Tensor, links: usize) -> Result<Tensor> {
    (0..links).try_fold(x.clone(), |y, _| y.sin())
}

#[test]
fn backward_frees_as_it_goes() {
    let _turn = alone();
    let base = in_use();
    let x = Var::zeros(MIB, DType::F32, CPU).unwrap();
    let y = chain(&x, 40).unwrap();
    let held = in_use();
    assert!(held >= base + 40, "sin saves its inputs: {held} MiB");
    alloc::reset_peak();
    let gradients = opforge::autograd::backward(&[(y.clone(), None)], Default::default()).unwrap();
    let after = in_use();
    assert!(after <= base + 4, "x, y and the gradient of x are left: {after} MiB from {base}");
    let peak = alloc::stats().peak >> 20;
    assert!(peak <= held + 8, "peak of {peak} MiB, {held} before");
    drop((x, y, gradients));
    assert!(in_use() <= base);
}

#[test]
fn in_place_calls_make_no_cycles() {
    let _turn = alone();
    let base = in_use();
    let (x, factor) = (Var::zeros(MIB, DType::F32, CPU).unwrap(), Var::zeros(MIB, DType::F32, CPU).unwrap());
    let y = x.affine(2.0, 0.0).unwrap();
    // The product saves both operands, one of which is its output.
    y.mul_(&factor).unwrap();
    drop((x, factor, y));
    assert!(in_use() <= base);
}

#[test]
fn dropped_graphs_and_cycles_free_their_memory() {
    let _turn = alone();
    let base = in_use();
    let x = Var::zeros(MIB, DType::F32, CPU).unwrap();
    // The exponential saves its own output.
    let y = x.exp().unwrap().sigmoid().unwrap();
    assert!(in_use() >= base + 3);
    drop(y);
    assert!(in_use() <= base + 1);
    let options = opforge::autograd::BackwardOptions { create_graph: true, ..Default::default() };
    let y = x.tanh().unwrap();
    let gradients = opforge::autograd::backward(&[(y.clone(), None)], options).unwrap();
    drop((y, gradients, x));
    assert!(in_use() <= base);
}

#[test]
fn memory_beyond_the_limit_is_an_error_and_nothing_is_lost() {
    let _turn = alone();
    let x = Tensor::ones(MIB, DType::F32, CPU).unwrap();
    let (limit, inline) = (alloc::limit(), vm::inline_cost());
    alloc::set_limit(alloc::stats().in_use + (4 << 20));
    // All are queued, and fail later.
    vm::set_inline_cost(0);
    let results: Vec<(&str, Result<f32>)> = vec![
        ("new", Tensor::zeros(64 * MIB, DType::F32, CPU).and_then(|t| t.sum_all()?.to_scalar())),
        ("computed", x.broadcast_left(64).and_then(|t| t.copy()?.sum_all()?.to_scalar())),
        ("huge", Tensor::zeros(1 << 50, DType::F32, CPU).and_then(|t| t.sum_all()?.to_scalar())),
        (
            "held",
            (0..64).map(|_| x.affine(2.0, 0.0)).collect::<Result<Vec<_>>>().and_then(|t| t[63].max_all()?.to_scalar()),
        ),
    ];
    // Others failed too, whose results nobody reads.
    let unread = vm::synchronize().expect_err("kernels without memory");
    vm::set_inline_cost(inline);
    assert_eq!(unread.kind(), ErrorKind::OutOfMemory, "{unread}");
    alloc::set_limit(limit);
    for (name, result) in results {
        let error = result.expect_err(name);
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{name}: {error}");
        assert!(error.to_string().contains("bytes requested"), "{name}: {error}");
    }
    assert_eq!(x.affine(2.0, 0.0).unwrap().max_all().unwrap().to_scalar::<f32>().unwrap(), 2.0);
}

#[test]
fn changes_through_views_make_no_cycles() {
    let _turn = alone();
    let base = in_use();
    let (x, factor) = (Tensor::zeros((2, MIB), DType::F32, CPU).unwrap(), Var::zeros(MIB, DType::F32, CPU).unwrap());
    // The product saves a view of what it becomes a part of.
    let (first, second) = (x.get(0).unwrap(), x.get(1).unwrap());
    second.copy_from(&first.mul(&factor).unwrap()).unwrap();
    first.mul_(&factor).unwrap();
    assert!(second.requires_grad());
    drop((x, first, second, factor));
    assert!(in_use() <= base);
}
