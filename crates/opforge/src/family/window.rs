//! What operators share that move a window over spatial dimensions: their arguments, checked, and the lengths of their results.

use opforge_tile::forms::{MAX_SPATIAL, Window};

use super::{ensure, wrong_shape};
use crate::{Error, Result, Tensor};

/// A number for each spatial dimension; missing dimensions come first.
pub(crate) type PerDim = [usize; MAX_SPATIAL];

/// An argument as Python gives it, one number or one a dimension; `least` is the smallest that makes sense.
pub(crate) fn per_dim(
    op: &'static str,
    name: &'static str,
    given: &[i64],
    spatial: usize,
    least: usize,
) -> Result<PerDim> {
    let mut all = [least; MAX_SPATIAL];
    let wrong = || Error::value(op, name, format!("{given:?}"), format!("1 or {spatial} numbers, {least} or more"));
    if given.len() != 1 && given.len() != spatial {
        return Err(wrong());
    }
    for (i, to) in all[MAX_SPATIAL - spatial..].iter_mut().enumerate() {
        let number = given[if given.len() == 1 { 0 } else { i }];
        *to = usize::try_from(number).ok().filter(|&n| n >= least).ok_or_else(wrong)?;
    }
    Ok(all)
}

/// The same number for the last `spatial` dimensions, `rest` for missing ones.
pub(crate) fn repeated(n: usize, spatial: usize, rest: usize) -> PerDim {
    std::array::from_fn(|d| if d + spatial < MAX_SPATIAL { rest } else { n })
}

/// Spatial lengths, missing ones 1.
pub(crate) fn spatial_lengths(dims: &[usize]) -> PerDim {
    let mut all = [1; MAX_SPATIAL];
    all[MAX_SPATIAL - dims.len()..].copy_from_slice(dims);
    all
}

/// Windows from strides, paddings and dilations.
pub(crate) fn windows(stride: PerDim, padding: PerDim, dilation: PerDim) -> [Window; MAX_SPATIAL] {
    std::array::from_fn(|d| Window { stride: stride[d], padding: padding[d], dilation: dilation[d] })
}

/// What a kernel's elements span along a dimension.
pub(crate) fn span(kernel: usize, dilation: usize) -> Option<usize> {
    kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
}

/// How many windows fit into a padded length, `room` of which the window spans.
pub(crate) fn window_count(
    op: &'static str,
    length: usize,
    padding: [usize; 2],
    kernel: usize,
    window: &Window,
) -> Result<usize> {
    let padded = length.checked_add(padding[0]).and_then(|n| n.checked_add(padding[1]));
    let span = span(kernel, window.dilation);
    let free = padded.zip(span).and_then(|(padded, span)| padded.checked_sub(span));
    let free = free.ok_or_else(|| {
        let given =
            format!("{kernel} elements, dilation {}, on length {length} padded by {padding:?}", window.dilation);
        Error::shape(op, "kernel", given, "a kernel of at least one element, not larger than the padded input")
    })?;
    ensure(window.stride != 0, || Error::value(op, "stride", 0, "1 or more"))?;
    Ok(free / window.stride + 1)
}

/// Runs `f` on a batch: an input without batch dimension becomes a batch of one, and its result loses that dimension again.
#[track_caller]
pub(crate) fn batched(
    op: &'static str,
    input: &Tensor,
    spatial: usize,
    f: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    match input.rank().checked_sub(spatial) {
        Some(2) => f(input),
        Some(1) => f(&input.unsqueeze(0)?)?.squeeze(0),
        _ => {
            let accepted = format!("[batch, channels, ..] or [channels, ..] with {spatial} more dimensions");
            Err(wrong_shape(op, "input", input.shape(), accepted))
        }
    }
}
