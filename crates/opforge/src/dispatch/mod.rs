//! From a checked call to a running instruction: dispatch chooses the interpreter, interpreters carry the call out.
//!
//! ```text
//! dispatch -> Autograd { EagerLocal }      records, then runs at once on this process's device
//! ```
//! A traced graph has another interpreter (`opforge-graph`). Calls on tensors that are spread over processes are carried out by their device's backend
//! ([`Backend::carry_out`](crate::devices::Backend::carry_out)), which [`EagerLocal`] asks first. Operators do not notice.

mod arranged;
mod autograd;
mod cache;
mod destination;
mod fuser;
mod inplace;
pub mod journey;
mod local;
mod prepared;

use std::cell::Cell;
use std::panic::Location;
use std::time::{Duration, Instant};

pub use arranged::arranged;
pub use autograd::Autograd;
pub use destination::{Destination, Out, dispatch_to, write_to};
pub use inplace::check_destination;
pub(crate) use inplace::check_writable;
pub use local::{EagerLocal, view};
pub use prepared::Prepared;

pub use crate::operator::Call;
use crate::operator::{Operator, Tensors};
use crate::{Result, Tensor};

/// A way to carry out calls.
pub trait Interpreter: Send + Sync {
    /// Carries out the call and returns its outputs (those of [`Call::outputs`] if given).
    fn interpret(&self, call: &Call<'_>) -> Result<Tensors>;
}

/// What carries calls out unless another is asked to: it records, and runs at once on this process's device.
pub static EAGER: Autograd<EagerLocal> = Autograd { inner: EagerLocal };

/// Carries the call out with the thread's interpreter.
#[inline(always)]
fn interpret(call: &Call<'_>) -> Result<Tensors> {
    match INTERPRETER.get() {
        None => EAGER.interpret(call),
        Some(other) => other.interpret(call),
    }
}

/// Runs `f`, whose calls on this thread another interpreter carries out: those of functions, methods and gradients alike.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use opforge::dispatch::{Call, EAGER, Interpreter, interpreted_by};
/// use opforge::operator::Tensors;
/// use opforge::{Device, Result, Tensor};
///
/// /// Counts calls.
/// struct Counting(AtomicUsize);
///
/// impl Interpreter for Counting {
///     fn interpret(&self, call: &Call<'_>) -> Result<Tensors> {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         EAGER.interpret(call)
///     }
/// }
///
/// static COUNTING: Counting = Counting(AtomicUsize::new(0));
/// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
/// interpreted_by(&COUNTING, || x.exp()?.sum_all())?;
/// assert_eq!(COUNTING.0.load(Ordering::Relaxed), 2);
/// # Ok::<(), opforge::Error>(())
/// ```
pub fn interpreted_by<R>(interpreter: &'static dyn Interpreter, f: impl FnOnce() -> R) -> R {
    /// Restores the outer interpreter, also when `f` unwinds.
    struct Restore(Option<&'static dyn Interpreter>);
    impl Drop for Restore {
        fn drop(&mut self) {
            INTERPRETER.set(self.0);
        }
    }
    let _restore = Restore(INTERPRETER.replace(Some(interpreter)));
    f()
}

/// Carries out an operator on tensors.
///
/// # Errors
/// What [`Operator::infer`] refuses, different devices, memory that cannot be had, and what the kernel finds if it ran at once. A kernel that
/// runs later leaves its error in its outputs, for whoever reads them.
#[track_caller]
pub fn dispatch(op: &dyn Operator, inputs: &[&Tensor]) -> Result<Tensors> {
    run(&Call { op, inputs, outputs: None, at: Location::caller() })
}

/// As [`dispatch`], for an operator with one output.
#[track_caller]
pub fn dispatch1(op: &dyn Operator, inputs: &[&Tensor]) -> Result<Tensor> {
    let mut outputs = run(&Call { op, inputs, outputs: None, at: Location::caller() })?;
    Ok(outputs.swap_remove(0))
}

/// As [`dispatch`], writing the results into existing tensors. An output may be one of the inputs itself, not an overlapping view of it.
///
/// # Errors
/// Also when an output has another shape than inferred, overlaps itself or an input, is read-only, or is a leaf that needs a gradient.
#[track_caller]
pub fn dispatch_into(op: &dyn Operator, inputs: &[&Tensor], outputs: &[&Tensor]) -> Result<()> {
    run(&Call { op, inputs, outputs: Some(outputs), at: Location::caller() }).map(drop)
}

/// How many calls of a thread pass between two looks at the clock.
const CALLS: u32 = 1024;
/// After how long a thread lets the front end go about its business, and perhaps give up: else functions of millions of short calls could not be
/// interrupted, and would keep other threads waiting.
const PATIENCE: Duration = Duration::from_millis(20);

thread_local! {
    /// Who carries calls out instead of [`EAGER`].
    static INTERPRETER: Cell<Option<&'static dyn Interpreter>> = const { Cell::new(None) };
    static CALLS_SO_FAR: Cell<u32> = const { Cell::new(0) };
    static LAST_LOOK: Cell<Option<Instant>> = const { Cell::new(None) };
}

#[inline]
fn run(call: &Call<'_>) -> Result<Tensors> {
    let calls = CALLS_SO_FAR.get().wrapping_add(1);
    CALLS_SO_FAR.set(calls);
    if calls.is_multiple_of(CALLS) {
        look_up()?;
    }
    journey::step("dispatch", || {
        format!("{} on {} inputs: eager local, autograd around it", call.op.name(), call.inputs.len())
    });
    interpret(call)
}

#[cold]
fn look_up() -> Result<()> {
    let now = Instant::now();
    if LAST_LOOK.get().is_some_and(|last| now - last < PATIENCE) {
        return Ok(());
    }
    LAST_LOOK.set(Some(now));
    opforge_runtime::vm::look_up()
}
