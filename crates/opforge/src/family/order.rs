//! In which order the dimensions of a result lie: that of the inputs, as far as they have one.

use smallvec::{SmallVec, smallvec};

use crate::operator::Metas;
use crate::{DType, Layout, Meta, Result, Shape, Tensor};

type Dims = SmallVec<[usize; 6]>;

/// The layout of an elementwise result of a shape to which the inputs broadcast: without gaps, its dimensions in the order in which the inputs'
/// lie, as PyTorch's and NumPy's (`order="K"`).
pub(crate) fn result_layout(inputs: &[&Meta], shape: &Shape) -> Layout {
    if inputs.iter().all(|input| input.layout.is_contiguous()) {
        return Layout::contiguous(shape.clone());
    }
    let strides = common_strides(inputs, shape).unwrap_or_else(|| {
        let inputs: SmallVec<[Dims; 3]> = inputs.iter().map(|input| broadcast_strides(input, shape)).collect();
        dense_strides(shape.dims(), &order(shape.dims(), &inputs))
    });
    Layout::new(shape.clone(), strides, 0, "result_layout").unwrap_or_else(|_| Layout::contiguous(shape.clone()))
}

/// The outputs of an elementwise operator whose result has the first input's shape.
pub(crate) fn like_first(inputs: &[&Meta], dtype: DType) -> Metas {
    smallvec![Meta { dtype, layout: result_layout(inputs, inputs[0].shape()) }]
}

/// What a function of a row-major tensor makes of one of any order: a tensor of the same shape whose dimensions lie in the order of `input`'s.
#[track_caller]
pub(crate) fn in_order_of(input: &Tensor, make: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if input.is_contiguous() {
        return make(input);
    }
    permuted(input, &order(input.dims(), &[input.stride().iter().copied().collect()]), make)
}

/// The tensor itself if the elements of its last dimension lie side by side, otherwise a row-major copy: for kernels that go along rows.
#[track_caller]
pub(crate) fn in_rows(input: &Tensor) -> Result<Tensor> {
    if matches!(input.stride(), [] | [.., 1]) { Ok(input.clone()) } else { input.contiguous() }
}

impl Tensor {
    /// Whether the elements lie as those of `model`, of the same shape, if that has no gaps; otherwise whether they are row-major.
    pub(crate) fn is_laid_as(&self, model: &Tensor) -> bool {
        self.stride() == model.stride() && is_dense(model.layout())
            || self.is_contiguous() && (model.is_contiguous() || !is_dense(model.layout()))
    }

    /// A copy in memory of its own that [lies as](Tensor::is_laid_as) `model`.
    #[track_caller]
    pub(crate) fn copy_laid_as(&self, model: &Tensor) -> Result<Tensor> {
        if model.is_contiguous() || !is_dense(model.layout()) {
            return self.copy();
        }
        permuted(self, &order(model.dims(), &[model.stride().iter().copied().collect()]), Tensor::copy)
    }
}

/// Makes a tensor of one whose dimensions are in this order, and puts the result's back.
#[track_caller]
fn permuted(input: &Tensor, order: &Dims, make: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    if order.iter().copied().eq(0..input.rank()) {
        return make(input);
    }
    let mut back: Dims = smallvec![0; input.rank()];
    order.iter().enumerate().for_each(|(place, &dim)| back[dim] = place);
    let made = make(&input.permute(&order[..])?)?.permute(&back[..])?;
    // No view of what was made: that is nobody else's.
    Ok(if made.requires_grad() { made } else { made.detach() })
}

/// Whether each element has a place of its own and there are no others between them.
fn is_dense(layout: &Layout) -> bool {
    layout.span() - layout.start_offset() == layout.elem_count() && !layout.may_overlap_itself()
}

/// The strides of all inputs, if they are the same and leave no gaps.
fn common_strides(inputs: &[&Meta], shape: &Shape) -> Option<Dims> {
    let first = &inputs[0].layout;
    let agree = inputs.iter().all(|m| m.shape() == shape && m.layout.stride() == first.stride());
    (agree && is_dense(first)).then(|| first.stride().iter().copied().collect())
}

/// The strides of an input as one of a shape: 0 where it is repeated.
fn broadcast_strides(input: &Meta, shape: &Shape) -> Dims {
    let new = shape.rank() - input.rank();
    let stride = |(i, &len): (usize, &usize)| match i.checked_sub(new) {
        Some(own) if input.dims()[own] == len => input.layout.stride()[own],
        _ => 0,
    };
    shape.dims().iter().enumerate().map(stride).collect()
}

/// The dimensions, outermost first. Two of them lie as in the first input that moves along both of them by different steps; where there is none,
/// in row-major order.
fn order(dims: &[usize], inputs: &[Dims]) -> Dims {
    let lies_inside = |a: usize, b: usize| {
        let steps = inputs.iter().map(|input| (input[a], input[b]));
        let mut known = steps.filter(|&(a, b)| a != 0 && b != 0 && a != b);
        known.next().map(|(a, b)| a < b)
    };
    let mut innermost_first: Dims = (0..dims.len()).rev().collect();
    // Not every two dimensions can be compared: each moves inwards past those that it lies inside of, up to the first that lies inside of it.
    for i in 1..dims.len() {
        let mut at = i;
        for other in (0..i).rev() {
            match lies_inside(innermost_first[at], innermost_first[other]) {
                Some(true) => {
                    innermost_first.swap(at, other);
                    at = other;
                }
                Some(false) => break,
                None => {}
            }
        }
    }
    innermost_first.into_iter().rev().collect()
}

/// The strides of a tensor without gaps whose dimensions lie in an order.
fn dense_strides(dims: &[usize], outermost_first: &[usize]) -> Dims {
    let mut strides: Dims = smallvec![0; dims.len()];
    let mut step = 1;
    for &dim in outermost_first.iter().rev() {
        strides[dim] = step;
        step = step.saturating_mul(dims[dim].max(1));
    }
    strides
}
