//! The lengths of a convolution's tensors, checked against each other.

use opforge_core::{DType, Error, Meta, Result};
use opforge_tile::forms::{Geometry, MAX_SPATIAL, Window};

/// Lengths along the spatial dimensions, missing ones first and 1.
pub(super) type Lengths = [usize; MAX_SPATIAL];

/// The lengths of all dimensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub batch: usize,
    pub groups: usize,
    /// Channels of a group.
    pub inputs: usize,
    pub outputs: usize,
    pub x: Lengths,
    pub k: Lengths,
    pub y: Lengths,
}

impl Sizes {
    /// The sizes of three tensors that belong together; `computed` is the one that must be contiguous.
    pub fn new(op: &'static str, geometry: &Geometry, [x, w, y]: [&Meta; 3], computed: &Meta) -> Result<Self> {
        let mismatch = || {
            let accepted =
                "x [n, groups c, ..], weight [groups o, c, ..] and y [n, groups o, ..] of equal rank, 3 to 5";
            let dims = format!("{:?}, {:?} and {:?}", x.shape(), w.shape(), y.shape());
            Error::shape(op, "operands", format!("{dims} in {} groups", geometry.groups), accepted)
        };
        let groups = geometry.groups;
        let ranks = [x, w, y].map(Meta::rank);
        if groups == 0 || ranks != [ranks[0]; 3] || !(3..=2 + MAX_SPATIAL).contains(&ranks[0]) {
            return Err(mismatch());
        }
        let (inputs, outputs) = (w.dims()[1], w.dims()[0] / groups);
        let fits = w.dims()[0] == outputs * groups
            && Some(x.dims()[1]) == inputs.checked_mul(groups)
            && y.dims()[..2] == [x.dims()[0], outputs * groups];
        if !fits {
            return Err(mismatch());
        }
        if let Some(other) = [w, y].iter().find(|m| m.dtype != x.dtype) {
            return Err(Error::dtypes(op, x.dtype, other.dtype));
        }
        if !computed.layout.is_contiguous() {
            return Err(Error::shape(op, "output", format!("{:?}", computed.layout), "contiguous"));
        }
        let [x_lengths, k, y_lengths] = [x, w, y].map(|m| lengths(&m.dims()[2..]));
        for (d, window) in geometry.windows.iter().enumerate() {
            let lengths = [x_lengths[d], k[d], y_lengths[d]];
            check_reach(op, window, lengths)?;
        }
        Ok(Sizes { batch: x.dims()[0], groups, inputs, outputs, x: x_lengths, k, y: y_lengths })
    }

    /// Multiplications in all; saturates.
    pub fn work(&self) -> usize {
        let factors = [self.batch, self.groups, self.inputs, self.outputs].into_iter();
        factors.chain(self.k).chain(self.y).fold(1, usize::saturating_mul)
    }

    pub fn taps(&self) -> usize {
        self.k.iter().product()
    }
}

/// Dimensions of a tensor as [`Lengths`].
pub(super) fn lengths(dims: &[usize]) -> Lengths {
    let mut all = [1; MAX_SPATIAL];
    all[MAX_SPATIAL - dims.len()..].copy_from_slice(dims);
    all
}

/// Refuses a window whose positions do not fit the address space.
fn check_reach(op: &'static str, window: &Window, [x, k, y]: Lengths) -> Result<()> {
    let reach = |n: usize, step: usize| n.saturating_sub(1).checked_mul(step);
    let all = [Some(x), reach(k, window.dilation), reach(y, window.stride), Some(window.padding)];
    let sum = all.into_iter().try_fold(0usize, |sum, n| sum.checked_add(n?));
    const LIMIT: usize = isize::MAX as usize / 64;
    let steps = [window.stride, window.dilation];
    if steps.iter().any(|s| !(1..=LIMIT).contains(s)) || sum.is_none_or(|sum| sum > LIMIT) {
        let accepted = "a stride and dilation of at least 1, and windows that fit the address space";
        return Err(Error::value(op, "window", format!("{window:?}"), accepted));
    }
    Ok(())
}

/// Refuses a bias that is not one number a channel.
pub(super) fn check_bias(op: &'static str, bias: Option<&Meta>, channels: usize, dtype: DType) -> Result<()> {
    let Some(bias) = bias else { return Ok(()) };
    if bias.dtype != dtype {
        return Err(Error::dtypes(op, dtype, bias.dtype));
    }
    if bias.dims() != [channels] {
        return Err(Error::shape(op, "bias", format!("{:?}", bias.shape()), format!("[{channels}]")));
    }
    Ok(())
}
