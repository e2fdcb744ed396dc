//! Running results along an axis.

use std::fmt::Debug;
use std::hash::Hash;

use opforge_tile::forms::{self as form, Running};
use smallvec::smallvec;

use super::{Plain, check_dim, same_axes};
use crate::autograd::Backward;
use crate::declaration::{Array, Sample};
use crate::operator::{Attributes, AxisMap, Grads, Lowering, Metas, Place, Reader, Saves};
use crate::{Meta, Result, Tensor};

/// Running results along a dimension: each element combined with all before it. Keeps shape and dtype.
pub trait Scan: Copy + Debug + Eq + Hash + Attributes + Send + Sync + 'static {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<ScanOp<Self>>()];
    /// How elements combine.
    const RUNNING: Running;
    /// What the derivative reads.
    const SAVES: Saves;
    /// The input's gradient.
    fn derivative(&self, ctx: &Backward<'_>, dim: usize) -> Result<Tensor>;
}

/// The operator of a [`Scan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct ScanOp<S> {
    /// What is computed.
    pub scan: S,
    /// The dimension.
    pub dim: usize,
}

impl<S: Scan> Plain for ScanOp<S> {
    const NAME: &'static str = S::NAME;
    const SAVES: Saves = S::SAVES;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let x = inputs[0];
        check_dim(S::NAME, x, self.dim)?;
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Scan(form::Scan { running: S::RUNNING, axis: self.dim })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.scan.derivative(ctx, self.dim)?)])
    }
}

/// Samples of a scan; the reference gets an element and all before it.
pub fn scan_samples<S: Scan>(scan: S, reference: fn(&[f64]) -> f64) -> Vec<Sample> {
    let sample = |dim: usize, shape: &'static [usize]| {
        Sample::new(ScanOp { scan, dim }, vec![Array::spread(shape, -2.0..2.0)], move |x| {
            Array::from_fn(shape, |i| {
                let mut before = i.to_vec();
                let mut at = |n: usize| {
                    before[dim] = n;
                    x[0].at(&before)
                };
                let elements: Vec<f64> = (0..=i[dim]).map(&mut at).collect();
                reference(&elements)
            })
        })
    };
    vec![sample(0, &[7]), sample(0, &[5, 3]), sample(1, &[2, 4, 3])]
}
