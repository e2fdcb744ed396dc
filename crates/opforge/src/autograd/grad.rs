//! `.grad`: the gradient that a tensor keeps, and how backward adds to it.
//!
//! A gradient is kept without a copy where nobody else sees its memory; instructions that wait to read it do not count (`Storage::is_unshared`).

use super::is_grad_enabled;
use super::slot::lock;
use crate::tensor::tracer;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// The gradient that [`accumulate`](super::accumulate) has left here, or [`Tensor::set_grad`].
    pub fn grad(&self) -> Option<Tensor> {
        // A tracer may put another in its place.
        tracer::takes_grad(self);
        self.slot().extra_opt().and_then(|extra| lock(&extra.grad).clone())
    }

    /// Replaces the gradient, or clears it. Any tensor may have one; backward adds to those of leaves.
    ///
    /// # Errors
    /// For a gradient of another shape, dtype or device, and for the tensor itself.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[1f32, 2.0], &Device::Cpu)?;
    /// x.set_grad(Some(&x.ones_like()?))?;
    /// assert_eq!(x.grad().unwrap().to_vec1::<f32>()?, [1.0, 1.0]);
    /// assert!(x.set_grad(Some(&Tensor::new(1f32, &Device::Cpu)?)).is_err());
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn set_grad(&self, grad: Option<&Tensor>) -> Result<()> {
        tracer::takes_grad(self);
        if let Some(grad) = grad {
            check(self, grad)?;
        } else if self.slot().extra_opt().is_none() {
            return Ok(());
        }
        let old = std::mem::replace(&mut *lock(&self.slot().extra().grad), grad.cloned());
        // Dropped outside of the lock: it may free a graph.
        drop(old);
        Ok(())
    }

    /// Adds to the gradient, in place unless this is recorded. It lies where the tensor does: what ranks have summands of is summed here, once for all who read it.
    ///
    /// Nothing is computed under the lock: whoever waits for it may hold what the computation waits for, such as Python's interpreter lock.
    pub(super) fn add_grad(&self, grad: Tensor) -> Result<()> {
        let mut grad = grad.placed_like(self)?;
        tracer::takes_grad(self);
        let held = &self.slot().extra().grad;
        loop {
            let before = lock(held).clone();
            let Some(old) = &before else {
                grad = own(self, grad)?;
                let mut now = lock(held);
                if now.is_none() {
                    *now = Some(grad);
                    return Ok(());
                }
                continue;
            };
            // A leaf that stands where one of another dtype stood may have the gradient of calls before.
            if grad.dtype() != old.dtype() {
                grad = grad.to_dtype(old.dtype())?;
            }
            if !is_grad_enabled() && can_add(old, &grad) {
                return old.add_(&grad);
            }
            let sum = old.add(&grad)?;
            let mut now = lock(held);
            if now.as_ref().is_some_and(|now| now.id() == old.id()) {
                *now = Some(sum);
                // `before` still holds what was there: it is dropped last, outside of the lock.
                return Ok(());
            }
        }
    }
}

fn check(tensor: &Tensor, grad: &Tensor) -> Result<()> {
    if grad.id() == tensor.id() {
        return Err(Error::autograd("set_grad", "grad", "the tensor itself", "can't assign Variable as its own grad"));
    }
    if grad.shape() != tensor.shape() {
        let accepted = "a gradient of the tensor's size";
        let given = format!(
            "attempting to assign a gradient of size '{:?}' to a tensor of size '{:?}'",
            grad.dims(),
            tensor.dims()
        );
        return Err(Error::autograd("set_grad", "grad", given, accepted));
    }
    if grad.dtype() != tensor.dtype() {
        return Err(Error::dtypes("set_grad", tensor.dtype(), grad.dtype()));
    }
    if grad.device() != tensor.device() {
        return Err(Error::devices("set_grad", *tensor.device(), *grad.device()));
    }
    Ok(())
}

/// Whether a gradient can be added in place to the one before.
fn can_add(old: &Tensor, grad: &Tensor) -> bool {
    !old.dtype().is_complex()
        && !old.storage().is_read_only()
        && !old.layout().may_overlap_itself()
        && !old.shares_storage(grad)
}

/// The gradient in memory that nobody else sees, laid out as its tensor: later gradients are added to it in place.
fn own(tensor: &Tensor, grad: Tensor) -> Result<Tensor> {
    // A view would share memory with its base, if only the view itself held that.
    let grad = if grad.base().is_some() && !grad.requires_grad() { grad.detach() } else { grad };
    let bytes = grad.elem_count() * grad.dtype().size_in_bytes();
    let fits = grad.storage().nbytes() == bytes && grad.is_laid_as(tensor);
    if fits && grad.is_unshared() { Ok(grad) } else { grad.copy_laid_as(tensor) }
}
