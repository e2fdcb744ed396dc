//! Eager calls that wait in the VM's queue run together: same results, one pass over memory.

use std::borrow::Cow;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opforge::{DType, Device, Result, Tensor, Var};
use opforge_runtime::vm::{self, Call, Content, trace};
use opforge_runtime::{Argument, HostKernel, Kernel, Storage};

use super::{floats, values};

/// A kernel that ends when it is told to.
struct Gate(Arc<AtomicBool>);

impl HostKernel for Gate {
    unsafe fn run(&self, _: &[*const u8], _: &[*mut u8]) -> Result<()> {
        while !self.0.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Ok(())
    }
    fn cost(&self) -> u64 {
        u64::MAX / 4
    }
}

/// Runs `f` while the queue is held, and everything that it queued afterwards; gives how many calls ran in programs.
fn queued<R>(f: impl FnOnce() -> Result<R>) -> (R, usize) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let open = Arc::new(AtomicBool::new(false));
    let kernel: Arc<dyn Kernel> = Arc::new(Gate(open.clone()));
    let storage = Storage::new(Device::Cpu, 8).unwrap();
    let (op, at, outputs) = (&Cow::Borrowed("gate"), Location::caller(), &[Argument::new(&storage, 0)]);
    let call = Call { op, at, kernel: &kernel, part: None, inputs: &[], outputs, content: Content::New };
    trace::start();
    let stream = vm::Stream::new();
    let result = vm::with_stream(&stream, || {
        // SAFETY: the kernel touches nothing.
        unsafe { vm::submit(&call) }.unwrap();
        let result = f();
        open.store(true, Ordering::Release);
        stream.synchronize().unwrap();
        result
    });
    let events = trace::stop();
    (result.unwrap(), events.iter().filter(|e| e.stream == stream.id() && e.program.is_some()).count())
}

/// The results with and without programs, which have the same bits; `calls` run together.
fn expect_same(calls: usize, f: impl Fn() -> Result<Vec<Tensor>>) {
    let (fused, together) = queued(&f);
    assert_eq!(together, calls);
    vm::synchronize().unwrap();
    let plain = f().unwrap();
    for (a, b) in fused.iter().zip(&plain) {
        let bits =
            |t: &Tensor| t.contiguous().unwrap().flatten_all().unwrap().to_dtype(DType::F64).unwrap().to_vec1::<f64>();
        let (a, b) = (bits(a).unwrap(), bits(b).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}

const SHAPE: [usize; 2] = [600, 1000];

#[test]
fn expressions() {
    let (x, w, b) = (floats(&SHAPE, 1), floats(&[SHAPE[1]], 2), floats(&[SHAPE[1]], 3));
    expect_same(3, || Ok(vec![x.broadcast_mul(&w)?.broadcast_add(&b)?.gelu()?]));
    // A result that is held is written.
    expect_same(3, || {
        let scaled = x.broadcast_mul(&w)?;
        Ok(vec![scaled.broadcast_add(&b)?.gelu()?, scaled])
    });
}

#[test]
fn gradients() {
    let (x, w) = (Var::from_tensor(&floats(&SHAPE, 1)).unwrap(), floats(&[SHAPE[1]], 2));
    let (result, together) = queued(|| {
        let y = x.broadcast_mul(&w)?.tanh()?;
        y.sqr()?.sum_all()?.backward()
    });
    let fused = result.get(&x).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let plain = x.broadcast_mul(&w).unwrap().tanh().unwrap().sqr().unwrap().sum_all().unwrap().backward().unwrap();
    assert_eq!(fused, plain.get(&x).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap());
    assert!(together >= 4, "{together}");
}

#[test]
fn steps_in_place() {
    let gradient = floats(&SHAPE, 3);
    let step = |weight: &Tensor, mean: &Tensor| -> Result<()> {
        mean.mul_(&gradient)?;
        mean.add_(&gradient.affine(0.1, 0.0)?)?;
        weight.sub_(&mean.affine(0.01, 0.0)?)
    };
    let start = || (values(&SHAPE, DType::F32, 1), values(&SHAPE, DType::F32, 2));
    let (a, b) = (start(), start());
    [&a, &b].iter().for_each(|(w, m)| {
        w.to_vec2::<f32>().unwrap();
        m.to_vec2::<f32>().unwrap();
    });
    let ((), together) = queued(|| (0..3).try_for_each(|_| step(&a.0, &a.1)));
    (0..3).for_each(|_| step(&b.0, &b.1).unwrap());
    assert_eq!(a.0.to_vec2::<f32>().unwrap(), b.0.to_vec2::<f32>().unwrap());
    assert_eq!(a.1.to_vec2::<f32>().unwrap(), b.1.to_vec2::<f32>().unwrap());
    assert!(together >= 12, "{together}");
}

/// A part of a result, changed where it lies, and read again in the same program.
#[test]
fn views_changed_in_place() {
    let (x, w) = (floats(&[1200, 100], 1), floats(&[100, 2000], 4));
    let (row, two) = (floats(&[1, 1000], 2), floats(&[1], 3));
    let views: [fn(&Tensor) -> Result<Tensor>; 4] = [
        |v| v.narrow(1, 0, 1000),
        |v| v.slice(1, 1, 2000, 2),
        |v| v.narrow(0, 3, 1000)?.t(),
        |v| v.narrow(1, 1000, 1000),
    ];
    for view in views {
        expect_same(3, || {
            let v = view(&x.matmul(&w)?)?;
            v.mul_(&row)?;
            v.add_(&two)?;
            Ok(vec![v.affine(2.0, 1.0)?])
        });
    }
}

/// Nobody reads what is written last, which must not lie where something else lies by then.
#[test]
fn what_nobody_reads_is_written_nowhere_else() {
    let x = floats(&SHAPE, 1);
    let own = |x: &Tensor| -> Result<Vec<Tensor>> {
        let y = x.exp()?;
        let z = y.neg()?;
        y.zero_set()?;
        drop(y);
        Ok(vec![z.affine(2.0, 1.0)?])
    };
    expect_same(4, || own(&x));
    expect_same(5, || {
        let y = x.exp()?;
        let (z, w) = (y.neg()?, x.abs()?);
        y.one_set()?;
        drop(y);
        Ok(vec![z.add(&w)?])
    });
}

#[test]
fn memory_is_not_reserved_for_what_passes_between() {
    let x = floats(&[2_000_000], 1);
    let (held, together) = queued(|| {
        let y = x.exp()?;
        let storage = y.storage().clone();
        let weak = Arc::downgrade(&storage);
        drop(storage);
        Ok((y.neg()?.exp()?, weak))
    });
    assert_eq!(together, 3);
    assert!(held.1.upgrade().is_none());
}
