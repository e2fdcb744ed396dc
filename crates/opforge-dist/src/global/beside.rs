//! Wanted distributions, for tensors that calls make of no tensor (zeros, random draws): ranks make their parts there, instead of all of it.

use std::cell::RefCell;
use std::sync::Arc;

use opforge::operator::Call;
use opforge::{Result, Shape, Tensor};

use super::operators::redistribute;
use crate::{Distribution, Placement};

/// A distribution, and the shape of what is wanted so, if that is known.
type Wanted = (Arc<Distribution>, Option<Shape>);

thread_local!(static WANTED: RefCell<Option<Wanted>> = const { RefCell::new(None) });

/// Has calls of this thread make tensors where they are wanted, until it is dropped.
pub(super) struct Beside(Option<Wanted>);

impl Beside {
    /// Tensors of a shape, or of any.
    pub fn begin(distribution: Arc<Distribution>, shape: Option<Shape>) -> Self {
        Beside(WANTED.replace(Some((distribution, shape))))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        WANTED.set(self.0.take());
    }
}

/// Where the result of a call is wanted: of one that reads no more than a few numbers, as the key of a draw.
pub(super) fn model(call: &Call<'_>, placement: &Placement) -> Option<Arc<Distribution>> {
    /// Elements of a key.
    const FEW: usize = 2;
    let (distribution, shape) = WANTED.with_borrow(Clone::clone)?;
    if distribution.placement() != placement || call.inputs.iter().any(|input| input.elem_count() > FEW) {
        return None;
    }
    let metas = call.op.infer(&call.inputs.iter().map(|input| input.meta()).collect::<Vec<_>>()).ok()?;
    let [meta] = &metas[..] else { return None };
    let fits = shape.is_none_or(|shape| shape == *meta.shape()) && distribution.check(meta.shape()).is_ok();
    fits.then_some(distribution)
}

/// What `make` makes on the placement, in a distribution: where the calls that make it can, by parts.
///
/// # Errors
/// Those of `make`; a tensor that does not have the dimensions; those of boxing.
///
/// ```
/// use std::sync::Arc;
/// use opforge::{Device, Tensor};
/// use opforge_dist::global::{World, device_of, make_in, part_of};
/// use opforge_dist::{Distribution, Engine, Guard, Settings, Threads};
///
/// let ranks = Threads::run(2, |engine| {
///     let world = World::new(Arc::new(Guard::new(engine, Settings::default())));
///     world.run(|| {
///         let split: Distribution = "cpu[0, 1] [S(0)]".parse()?;
///         let device = device_of(split.placement())?;
///         let ones = make_in(&split, || Tensor::ones(5, opforge::DType::F32, &device))?;
///         part_of(&ones)?.to_vec1::<f32>()
///     })
/// });
/// let ranks = ranks.into_iter().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(ranks, [vec![1.0; 3], vec![1.0; 2]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[track_caller]
pub fn make_in(distribution: &Distribution, make: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    let made = {
        let _beside = Beside::begin(Arc::new(distribution.clone()), None);
        make()?
    };
    redistribute(&made, distribution)
}
