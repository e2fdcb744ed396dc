//! The family of random draws.

use std::fmt::Debug;
use std::hash::Hash;

use opforge_tile::forms::{Draws, Random};
use smallvec::{SmallVec, smallvec};

use super::Plain;
use super::matrix::real_dtype;
use crate::devices::beside;
use crate::dispatch::dispatch1;
use crate::operator::{Attributes, Axis, AxisMap, Lowering, Metas, Place, Reader, Role};
use crate::tensor::tracer;
use crate::{DType, Device, Generator, Meta, Result, Shape, Tensor};

/// A distribution of random numbers.
pub trait Distribution: Copy + Debug + Eq + Hash + Attributes + Send + Sync + 'static {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<DrawOp<Self>>()];
    /// What is drawn, by a key as [`Generator::next_key`] gives it.
    fn form(&self) -> Random;
    /// The distributions of a complex number's real and imaginary part; none if there are no complex numbers of it.
    fn of_parts(&self) -> Option<[Self; 2]> {
        None
    }
}

/// The operator of a [`Distribution`]. Its input is the draw's key, so that equal operators draw anew.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct DrawOp<D> {
    /// What is drawn from.
    pub distribution: D,
    /// The result's shape.
    pub shape: Shape,
    /// The result's dtype.
    pub dtype: DType,
}

impl<D: Distribution> Plain for DrawOp<D> {
    const NAME: &'static str = D::NAME;
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, _: &[&Meta]) -> Result<Metas> {
        self.shape.check(D::NAME, self.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(self.dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        drawn_axes(inputs, self.shape.rank())
    }

    fn form(&self, place: &Place) -> Lowering {
        Lowering::Random(Draws { random: self.distribution.form(), portion: place.of_output(0).cloned() })
    }
}

/// How axes flow from a key, and from tensors of the result's rank beside it, to what is drawn: each element depends on its place.
pub(crate) fn drawn_axes(inputs: &[&Meta], rank: usize) -> AxisMap {
    let names: SmallVec<[Option<Axis>; 6]> = (0..rank).map(|d| Some(d as Axis)).collect();
    let key = SmallVec::from_elem(None, inputs[0].rank());
    let beside = inputs[1..].iter().map(|_| names.clone());
    AxisMap {
        inputs: std::iter::once(key).chain(beside).collect(),
        outputs: vec![names.clone()],
        roles: SmallVec::from_elem(Role::Placed, rank),
    }
}

/// A tensor of draws, from the process's generator unless another is given.
///
/// # Errors
/// Those of the distribution's kernel, and too large a shape.
#[track_caller]
pub fn draw<D: Distribution>(
    distribution: D,
    shape: &Shape,
    dtype: DType,
    device: &Device,
    generator: Option<&Generator>,
) -> Result<Tensor> {
    if let Some(parts) = distribution.of_parts().filter(|_| dtype.is_complex()) {
        let [re, im] = parts.map(|part| draw(part, shape, real_dtype(dtype), device, generator));
        return Tensor::stack(&[re?, im?], shape.rank())?.bits_as(dtype)?.squeeze(shape.rank());
    }
    let key = next_key(generator, device)?;
    dispatch1(&DrawOp { distribution, shape: shape.clone(), dtype }, &[&key])
}

/// The key of the next draw, from the process's generator unless another is given.
pub(crate) fn next_key(generator: Option<&Generator>, device: &Device) -> Result<Tensor> {
    let generator = generator.unwrap_or(Generator::global());
    let key = Tensor::from_vec(generator.next_key().to_vec(), 2, device)?;
    tracer::draws(generator, &key);
    Ok(key)
}

/// As [`draw`], of a tensor's shape and device, where that lies.
#[track_caller]
pub(crate) fn draw_like<D: Distribution>(
    distribution: D,
    like: &Tensor,
    dtype: DType,
    generator: Option<&Generator>,
) -> Result<Tensor> {
    let _beside = beside(like);
    draw(distribution, like.shape(), dtype, like.device(), generator)?.placed_like(like)
}
