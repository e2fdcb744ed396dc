//! What is to be done when a backward has ended.

use std::cell::{Cell, RefCell};

use crate::{Error, Result};

/// Runs once, when the backward under way has added all gradients.
pub type Ending = dyn FnOnce() -> Result<()>;

thread_local! {
    /// How many calls of [`accumulate`](super::accumulate) are under way in this thread, one inside of another.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static ENDINGS: RefCell<Vec<Box<Ending>>> = const { RefCell::new(Vec::new()) };
}

/// Has `ending` called when the outermost [`accumulate`](super::accumulate) under way in this thread has added all gradients, and their hooks have
/// run. A backward that fails drops it instead. Endings run in the order in which they were given.
///
/// # Errors
/// No backward is under way in this thread. Errors of the ending are those of the backward.
///
/// ```
/// # use std::sync::Arc;
/// # use opforge::{Device, Var, autograd};
/// let x = Var::new(&[1f32, 2.0], &Device::Cpu)?;
/// let grad = x.clone();
/// x.register_hook(Arc::new(move |_| {
///     let x = grad.clone();
///     autograd::at_the_end(Box::new(move || x.grad().unwrap().add_(&x))).map(|()| None)
/// }))?;
/// autograd::accumulate(&[(x.sum_all()?, None)], None, Default::default())?;
/// assert_eq!(x.grad().unwrap().to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
pub fn at_the_end(ending: Box<Ending>) -> Result<()> {
    if DEPTH.get() == 0 {
        let given = "no backward is under way in this thread";
        return Err(Error::autograd("at_the_end", "backward", given, "a call within a backward, as from a hook"));
    }
    ENDINGS.with_borrow_mut(|endings| endings.push(ending));
    Ok(())
}

/// Runs a backward, and when the outermost one has succeeded, what was to be done at its end.
pub(super) fn with_endings(backward: impl FnOnce() -> Result<()>) -> Result<()> {
    let level = Level::enter();
    backward()?;
    while level.is_outermost() {
        let endings = ENDINGS.take();
        if endings.is_empty() {
            break;
        }
        endings.into_iter().try_for_each(|ending| ending())?;
    }
    Ok(())
}

/// A backward under way in this thread.
struct Level;

impl Level {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Level
    }

    fn is_outermost(&self) -> bool {
        DEPTH.get() == 1
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        // Dropped endings may run anything: not while the list is borrowed.
        let left = if self.is_outermost() { ENDINGS.take() } else { Vec::new() };
        DEPTH.set(DEPTH.get() - 1);
        drop(left);
    }
}
