//! `unfold(x, dim, size, step)`: sliding windows along a dimension.

use super::narrow::Narrow;
use crate::functional::constant_in;
use crate::ops::prelude::*;
use crate::ops::reduce::var::widened;

/// The view of [`unfold`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Unfold {
    /// The dimension.
    pub dim: usize,
    /// The window's length.
    pub size: usize,
    /// The distance between windows.
    pub step: usize,
}

impl View for Unfold {
    const NAME: &'static str = "unfold";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        input.unfold(self.dim, self.size, self.step)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        let mut map = same_axes(input, &[self.dim]);
        map.outputs[0][self.dim] = None;
        map.outputs[0].push(None);
        map
    }

    fn derivative(&self, grad: &Tensor, input: &Meta) -> Result<Tensor> {
        match self.size.div_ceil(self.step) {
            2..=MOST_TERMS => folded(grad, self, 1, input.dims()[self.dim]),
            _ => embed(self.clone(), grad, input),
        }
    }
}

/// Sums of more terms are made element by element.
const MOST_TERMS: usize = 32;

/// Windows along a dimension, each in the last dimension, added where they lie in a dimension of `len` elements, with `dilation` between those of
/// a window: the adjoint of [`unfold`]. A term is of elements of the windows that share no place.
#[track_caller]
pub(crate) fn folded(windows: &Tensor, of: &Unfold, dilation: usize, len: usize) -> Result<Tensor> {
    let (wide, last) = (widened(windows)?, windows.rank() - 1);
    let mut shape = windows.dims()[..last].to_vec();
    let count = std::mem::replace(&mut shape[of.dim], len);
    if count == 0 || windows.elem_count() == 0 {
        return constant_in(Tensor::zeros(shape, windows.dtype(), windows.device())?, &[windows]);
    }
    let most = if dilation == 1 { of.step } else { 1 };
    let term = |from: usize| {
        let own = Unfold { size: most.min(of.size - from), ..of.clone() };
        let span = (count - 1) * own.step + own.size;
        let part = wide.narrow(last, from, own.size)?;
        let side_by_side = Meta::contiguous(wide.dtype(), with_length(&shape, of.dim, span));
        let place = Narrow { dim: of.dim, start: from * dilation, len: span };
        embed(place, &embed(own, &part, &side_by_side)?, &Meta::contiguous(wide.dtype(), &shape[..]))
    };
    let mut sum = term(0)?;
    for from in (most..of.size).step_by(most) {
        sum = sum.add(&term(from)?)?;
    }
    sum.to_dtype(windows.dtype())
}

fn with_length(shape: &[usize], dim: usize, len: usize) -> Shape {
    shape.iter().enumerate().map(|(d, &n)| if d == dim { len } else { n }).collect()
}

/// Windows of `size` elements, `step` apart, along `dim`; the window is a new last dimension. A view.
#[function]
#[python(method)]
#[view]
#[operator(DTypes::ALL, samples, Unfold)]
pub fn unfold(input: &Tensor, dimension: i64, size: usize, step: usize) -> Result<Tensor> {
    let op = Unfold { dim: normalize_dim(dimension, input.rank(), OP)?, size, step };
    // The window of a scalar is all that there is.
    if input.rank() == 0 { view(op, &input.reshape(1)?)?.reshape(size) } else { view(op, input) }
}

impl Tensor {
    /// Windows of `size` elements, `step` apart, along a dimension; the window is a new last dimension. A view.
    #[track_caller]
    pub fn unfold<D: Dim>(&self, dim: D, size: usize, step: usize) -> Result<Tensor> {
        view(Unfold { dim: dim.to_index(self.shape(), "unfold")?, size, step }, self)
    }
}

fn samples() -> Vec<Sample> {
    vec![
        view_sample(Unfold { dim: 0, size: 3, step: 2 }, &[8, 2], |x| {
            Array::from_fn(&[3, 2, 3], |i| x.at(&[2 * i[0] + i[2], i[1]]))
        }),
        view_sample(Unfold { dim: 0, size: 2, step: 2 }, &[5], |x| {
            Array::from_fn(&[2, 2], |i| x.at(&[2 * i[0] + i[1]]))
        }),
    ]
}
