//! The family of views, and gradients of views.

use std::fmt::Debug;
use std::hash::Hash;

use opforge_tile::forms::Move;
use smallvec::smallvec;

use super::{check_dtypes, ensure};
use crate::autograd::Backward;
use crate::declaration::{Array, Sample};
use crate::dispatch::dispatch1;
use crate::operator::{Attributes, AxisMap, Grads, Linearity, Lowering, Metas, Operator, Reader, Role, arity};
use crate::{Error, Layout, Meta, Result, Shape, Tensor};

/// A change of layout: shape, strides and offset, never elements. Its file gives the new layout and how axes flow.
pub trait View: Debug + Clone + Eq + Hash + Attributes + Send + Sync + 'static {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] =
        &[Reader::of::<ViewOp<Self>>(), Reader::of::<EmbedOp<Self>>(), Reader::of::<OverlayOp<Self>>()];
    /// Whether the layout is one of the whole storage, whatever part of it the input shows.
    const OF_STORAGE: bool = false;
    /// The layout of the view; must stay within the storage that the input's layout spans.
    fn layout(&self, input: &Layout) -> Result<Layout>;
    /// How axes flow.
    fn axes(&self, input: &Meta) -> AxisMap;
    /// The layout of the view of a part, as its axes allow; it has the shape `part`. Views that hold the whole result's shape have another.
    fn layout_of_part(&self, input: &Layout, _part: &Shape) -> Result<Layout> {
        self.layout(input)
    }
    /// The input's gradient. The default puts the view's gradient where the view lies, among zeros; views that stretch or only rename have
    /// cheaper ones.
    fn derivative(&self, grad: &Tensor, input: &Meta) -> Result<Tensor> {
        embed(self.clone(), grad, input)
    }
}

/// The operator of a [`View`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ViewOp<V>(pub V);

/// Takes a view of a tensor.
#[track_caller]
pub fn view<V: View>(v: V, input: &Tensor) -> Result<Tensor> {
    dispatch1(&ViewOp(v), &[input])
}

impl<V: View> Operator for ViewOp<V> {
    fn name(&self) -> &'static str {
        V::NAME
    }

    fn view(&self, input: &Layout) -> Option<Result<Layout>> {
        Some(self.0.layout(input))
    }

    fn views_storage(&self) -> bool {
        V::OF_STORAGE
    }

    fn view_of_part(&self, input: &Layout, part: &Shape) -> Option<Result<Layout>> {
        Some(self.0.layout_of_part(input, part))
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(V::NAME, inputs, 1)?;
        let layout = self.0.layout(&inputs[0].layout)?;
        Ok(smallvec![Meta { dtype: inputs[0].dtype, layout }])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        self.0.axes(inputs[0])
    }

    fn linearity(&self) -> Linearity {
        Linearity::Jointly
    }

    fn lower(&self, inputs: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        self.0.layout(&inputs[0].layout).map(Lowering::View)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.0.derivative(&ctx.grad(0)?, ctx.input_meta(0))?)])
    }
}

/// The adjoint of a view: zeros of the input's shape with a gradient added where the view lies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct EmbedOp<V> {
    view: V,
    shape: Shape,
}

/// Zeros of the viewed tensor's shape, with `grad` where the view lies. Places that the view shows several times get the sum.
#[track_caller]
pub(crate) fn embed<V: View>(view: V, grad: &Tensor, input: &Meta) -> Result<Tensor> {
    let place = view.layout(&Layout::contiguous(input.shape()))?;
    if !place.may_overlap_itself() {
        return dispatch1(&EmbedOp { view, shape: input.shape().clone() }, &[grad]);
    }
    let ids = Tensor::from_iter(place.indices().map(|i| i as i64), grad.device())?;
    let zeros = Tensor::zeros(input.elem_count(), input.dtype, grad.device())?;
    zeros.index_add(&ids, &grad.flatten_all()?, 0)?.reshape(input.shape())
}

impl<V: View> Operator for EmbedOp<V> {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("embed", inputs, 1)?;
        let place = self.view.layout(&Layout::contiguous(&self.shape))?;
        if place.shape() != inputs[0].shape() {
            return Err(Error::shapes("embed", inputs[0].shape(), place.shape(), "a gradient of the view's shape"));
        }
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let map = self.view.axes(&Meta::contiguous(inputs[0].dtype, &self.shape));
        AxisMap { inputs: map.outputs, outputs: map.inputs, roles: map.roles }
    }

    fn linearity(&self) -> Linearity {
        Linearity::Jointly
    }

    fn lower(&self, _: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        let place = self.view.layout(&from_zero(&outputs[0].layout)?)?;
        Ok(Lowering::Move(Move::Overlay { place }))
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let grad = if V::OF_STORAGE { grad.copy()? } else { grad };
        Ok(smallvec![Some(view(self.view.clone(), &grad)?)])
    }
}

/// A tensor with a part of it, what a view shows, replaced: `x`, then the new part, of the view's shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct OverlayOp<V>(pub V);

/// A copy of `x` with `part` in place of what a view of it would show.
#[track_caller]
pub fn overlay<V: View>(view: V, x: &Tensor, part: &Tensor) -> Result<Tensor> {
    dispatch1(&OverlayOp(view), &[x, part])
}

impl<V: View> Operator for OverlayOp<V> {
    fn name(&self) -> &'static str {
        "overlay"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("overlay", inputs, 2)?;
        let (x, part) = (inputs[0], inputs[1]);
        let place = self.0.layout(&Layout::contiguous(x.shape()))?;
        ensure(place.shape() == part.shape(), || {
            Error::shapes("overlay", x.shape(), part.shape(), format!("a part of the shape {:?}", place.shape()))
        })?;
        check_dtypes("overlay", x, part)?;
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let map = self.0.axes(inputs[0]);
        let x = map.inputs[0].clone();
        AxisMap { inputs: vec![x.clone(), map.outputs[0].clone()], outputs: vec![x], roles: map.roles }
    }

    fn lower(&self, _: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        let place = self.0.layout(&from_zero(&outputs[0].layout)?)?;
        Ok(Lowering::Move(Move::Overlay { place }))
    }

    fn overwrites(&self, i: usize) -> bool {
        i == 0
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let x = ctx.when(0, || {
            let part = ctx.input_meta(1);
            overlay(self.0.clone(), &grad, &Tensor::zeros(part.shape(), part.dtype, ctx.device())?)
        })?;
        Ok(smallvec![x, ctx.when(1, || view(self.0.clone(), &grad))?])
    }
}

/// The same layout from offset 0 on.
fn from_zero(layout: &Layout) -> Result<Layout> {
    Layout::new(layout.shape().clone(), layout.stride().iter().copied().collect(), 0, "overlay")
}

/// Axes of a view that keeps every dimension in place, those in `whole` not splittable.
pub(crate) fn same_axes(input: &Meta, whole: &[usize]) -> AxisMap {
    AxisMap::pointwise(&[input], input.rank()).with_roles(whole, Role::Whole)
}

/// A sample of a view of an array of this shape.
pub(crate) fn view_sample<V: View>(view: V, shape: &[usize], reference: fn(&Array) -> Array) -> Sample {
    Sample::new(ViewOp(view), vec![Array::spread(shape, -2.0..2.0)], move |x| reference(&x[0]))
}
