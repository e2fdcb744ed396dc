//! What pooling operators share: their windows from arguments, and their axes.

use opforge_tile::forms::{MAX_SPATIAL, Windows};

use super::window::{PerDim, per_dim, span, windows};
use super::wrong_shape;
use crate::operator::{AxisMap, Metas};
use crate::{Error, Meta, Result, Shape, Tensor};

/// A pooling's windows, checked, and how they are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pooling {
    op: &'static str,
    pub spatial: usize,
    pub windows: Windows,
    /// The result's lengths, of adaptive windows.
    pub adapted: Option<PerDim>,
    ceil: bool,
}

impl Pooling {
    /// From arguments as Python gives them: the stride is the kernel's size unless it is given.
    pub fn new(
        op: &'static str,
        spatial: usize,
        kernel_size: &[i64],
        stride: Option<&[i64]>,
        [padding, dilation]: [&[i64]; 2],
        ceil: bool,
    ) -> Result<Self> {
        let number = |name, given: &[i64], least| per_dim(op, name, given, spatial, least);
        let kernel = number("kernel_size", kernel_size, 1)?;
        let stride = stride.filter(|stride| !stride.is_empty()).unwrap_or(kernel_size);
        let windows =
            windows(number("stride", stride, 1)?, number("padding", padding, 0)?, number("dilation", dilation, 1)?);
        for (window, &kernel) in windows.iter().zip(&kernel) {
            if span(kernel, window.dilation).is_none_or(|span| window.padding > span / 2) {
                let given = format!("{} with kernel {kernel}, dilation {}", window.padding, window.dilation);
                return Err(Error::value(op, "padding", given, "at most half of what the kernel spans"));
            }
        }
        Ok(Pooling { op, spatial, windows: Windows::Sliding { kernel, windows }, adapted: None, ceil })
    }

    /// Adaptive windows, whose result is as long as the input unless `adapted` says otherwise.
    pub fn adaptive(op: &'static str, spatial: usize) -> Self {
        Pooling { op, spatial, windows: Windows::Adaptive, adapted: None, ceil: false }
    }

    /// The spatial lengths of an input with or without batch dimension.
    pub fn input_lengths(&self, input: &Tensor) -> Result<PerDim> {
        let lead = input.rank().checked_sub(self.spatial).filter(|lead| (1..=2).contains(lead));
        let lengths = lead.map(|lead| super::window::spatial_lengths(&input.dims()[lead..]));
        lengths.filter(|lengths| !lengths.contains(&0)).ok_or_else(|| {
            let accepted =
                format!("[batch, channels, ..] or [channels, ..] with {} dimensions not empty", self.spatial);
            wrong_shape(self.op, "input", input.shape(), accepted)
        })
    }

    /// The lengths of the result. The last of sliding windows may begin within the input and end beyond it if lengths are rounded up.
    pub fn lengths(&self, input: &Tensor) -> Result<PerDim> {
        if let Some(lengths) = self.adapted {
            return Ok(lengths);
        }
        let lengths = self.input_lengths(input)?;
        let Windows::Sliding { kernel, windows } = self.windows else { return Ok(lengths) };
        let mut counts = [1; MAX_SPATIAL];
        for d in 0..MAX_SPATIAL {
            let (n, w) = (lengths[d] as i128, &windows[d]);
            let (stride, padding) = (w.stride as i128, w.padding as i128);
            let free = n + 2 * padding - w.dilation as i128 * (kernel[d] as i128 - 1) - 1;
            let mut count = (free + if self.ceil { stride - 1 } else { 0 }).div_euclid(stride) + 1;
            if self.ceil && (count - 1) * stride >= n + padding {
                count -= 1;
            }
            counts[d] = usize::try_from(count).ok().filter(|&count| count > 0).ok_or_else(|| {
                let given = format!("{} elements, {w:?}, on length {n}", kernel[d]);
                Error::shape(self.op, "kernel_size", given, "a kernel not larger than the padded input")
            })?;
        }
        Ok(counts)
    }
}

/// A meta like this one but for its last dimensions.
pub(crate) fn with_lengths(op: &'static str, meta: &Meta, spatial: usize, lengths: &PerDim) -> Result<Shape> {
    let lead = meta.rank().checked_sub(spatial).filter(|_| spatial <= MAX_SPATIAL).ok_or_else(|| {
        wrong_shape(
            op,
            "input",
            meta.shape(),
            format!("at least {spatial} dimensions, up to {MAX_SPATIAL} of them spatial"),
        )
    })?;
    Ok(meta.dims()[..lead].iter().chain(&lengths[MAX_SPATIAL - spatial..]).copied().collect())
}

/// Planes are independent; what is in one is needed whole.
pub(crate) fn plane_axes(inputs: &[&Meta], spatial: usize, outputs: usize) -> AxisMap {
    let lead = inputs[0].rank() - spatial;
    let names: String = ('a'..).take(lead).chain(std::iter::repeat_n('.', spatial)).collect();
    let all = |count: usize| vec![names.as_str(); count].join(",");
    AxisMap::letters(&format!("{}->{}", all(inputs.len()), all(outputs)), &[])
}

/// One contiguous output.
pub(crate) fn one(meta: Meta) -> Metas {
    smallvec::smallvec![meta]
}
