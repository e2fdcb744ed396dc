//! The arguments of convolutions: checked, and the result's lengths that follow from them.

use opforge_tile::forms::{Geometry, MAX_SPATIAL, Part, Window};

use crate::family::window::{PerDim, per_dim, span, window_count, windows};
use crate::functional::{self as f, Parts};
use crate::ops::nn::convolution::Convolution;
use crate::ops::prelude::*;

/// A convolution's arguments, checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arguments {
    pub op: &'static str,
    pub spatial: usize,
    pub geometry: Geometry,
}

impl Arguments {
    /// From stride, padding and dilation as Python gives them.
    pub fn new(
        op: &'static str,
        spatial: usize,
        [stride, padding, dilation]: [&[i64]; 3],
        groups: i64,
    ) -> Result<Self> {
        let number = |name, given: &[i64], least| per_dim(op, name, given, spatial, least);
        let windows =
            windows(number("stride", stride, 1)?, number("padding", padding, 0)?, number("dilation", dilation, 1)?);
        Self::of_windows(op, spatial, windows, usize::try_from(groups).unwrap_or(0))
    }

    /// From windows.
    pub fn of_windows(op: &'static str, spatial: usize, windows: [Window; MAX_SPATIAL], groups: usize) -> Result<Self> {
        let used = &windows[MAX_SPATIAL - spatial..];
        if let Some(window) = used.iter().find(|w| w.stride == 0 || w.dilation == 0) {
            return Err(Error::value(op, "stride or dilation", format!("{window:?}"), "1 or more"));
        }
        ensure(groups != 0, || Error::value(op, "groups", groups, "1 or more"))?;
        Ok(Arguments { op, spatial, geometry: Geometry { windows, groups } })
    }

    /// Calls the operator for one part; input and weight have the right rank.
    #[track_caller]
    fn call(
        &self,
        part: Part,
        lengths: PerDim,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        let dtype = input.dtype();
        if weight.dtype() == dtype && bias.is_none_or(|bias| bias.dtype() == dtype) {
            if dtype.is_complex() {
                let each = |x: &Tensor, w: &Tensor| self.call(part, lengths, x, w, None);
                let sums = Parts::of(input)?.product(&Parts::of(weight)?, each)?.join()?;
                let Some(bias) = bias else { return Ok(sums) };
                let bias = bias.reshape([&[bias.elem_count()][..], &vec![1; self.spatial][..]].concat())?;
                return f::add((&sums).into(), (&bias).into(), Scalar::Int(1));
            }
            if dtype.is_int() {
                return self.call_whole(part, lengths, input, weight, bias);
            }
        }
        let op = Convolution { geometry: self.geometry, part, lengths };
        let inputs: SmallVec<[&Tensor; 3]> = [input, weight].into_iter().chain(bias).collect();
        dispatch1(&op, &inputs)
    }

    /// The call for integers, whose sums wrap: their digits of 16 bits are convolved in f64, where sums of 2^21 products of two are exact.
    #[track_caller]
    fn call_whole(
        &self,
        part: Part,
        lengths: PerDim,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        const BITS: i64 = 16;
        let products = weight.elem_count() / weight.dims()[0].min(weight.dims()[1]).max(1);
        ensure(products <= 1 << 21, || {
            Error::value(self.op, "weight", format!("{products} integers for a sum"), "at most 2097152")
        })?;
        let dtype = input.dtype();
        let count = dtype.size_in_bytes().div_ceil(2) as i64;
        let digits = |t: &Tensor| -> Result<Vec<Tensor>> {
            let wide = t.to_dtype(DType::I64)?;
            let digit = |i: i64| {
                let rest = f::bitwise_right_shift((&wide).into(), (BITS * i).into())?;
                f::bitwise_and((&rest).into(), ((1 << BITS) - 1).into())?.to_dtype(DType::F64)
            };
            (0..count).map(digit).collect()
        };
        let (inputs, weights) = (digits(input)?, digits(weight)?);
        let mut sums = match bias {
            Some(bias) => {
                bias.to_dtype(DType::I64)?.reshape([&[bias.elem_count()][..], &vec![1; self.spatial][..]].concat())?
            }
            None => Tensor::zeros((), DType::I64, input.device())?,
        };
        for (i, x) in inputs.iter().enumerate() {
            for (j, w) in weights[..weights.len() - i].iter().enumerate() {
                let digit = self.call(part, lengths, x, w, None)?.to_dtype(DType::I64)?;
                sums = f::bitwise_left_shift((&digit).into(), (BITS * (i + j) as i64).into())?.broadcast_add(&sums)?;
            }
        }
        sums.to_dtype(dtype)
    }

    /// Lengths from a rule for each spatial dimension, told the input's and the kernel's.
    fn lengths(
        &self,
        input: &Tensor,
        weight: &Tensor,
        length: impl Fn(usize, usize, usize) -> Result<usize>,
    ) -> Result<PerDim> {
        let rank = 2 + self.spatial;
        ensure(input.rank() == rank && weight.rank() == rank, || {
            Error::shapes(self.op, input.shape(), weight.shape(), format!("{} spatial dimensions", self.spatial))
        })?;
        let mut lengths = [1; MAX_SPATIAL];
        let first = MAX_SPATIAL - self.spatial;
        for (d, to) in lengths.iter_mut().enumerate().skip(first) {
            let at = d - first + 2;
            *to = length(d, input.dims()[at], weight.dims()[at])?;
        }
        Ok(lengths)
    }

    /// Refuses channels that do not go together; `expected` are the input's.
    fn check_channels(&self, input: &Tensor, weight: &Tensor, expected: Option<usize>) -> Result<()> {
        let groups = self.geometry.groups;
        ensure(expected == Some(input.dims()[1]) && weight.dims()[0].is_multiple_of(groups), || {
            let accepted = format!("channels that fit each other in {groups} groups");
            Error::shapes(self.op, input.shape(), weight.shape(), accepted)
        })
    }

    /// The convolution of a batch, padded equally before and after.
    #[track_caller]
    pub fn convolve(&self, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let windows = &self.geometry.windows;
        let length = |d: usize, x, k| window_count(self.op, x, [windows[d].padding; 2], k, &windows[d]);
        let lengths = self.lengths(input, weight, length)?;
        self.check_channels(input, weight, weight.dims()[1].checked_mul(self.geometry.groups))?;
        self.call(Part::Output, lengths, input, weight, bias)
    }

    /// The convolution of a batch whose result is as long as the input; the stride is 1. Of an odd padding the larger half comes after.
    #[track_caller]
    pub fn convolve_same(mut self, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        if self.geometry.windows.iter().any(|w| w.stride != 1) {
            return Err(Error::value(self.op, "stride", "more than 1 with padding \"same\"", "stride 1"));
        }
        let windows = self.geometry.windows;
        let before = |d: usize, _, k| {
            let total = span(k, windows[d].dilation).map(|n| n - 1);
            total.map(|n| n / 2).ok_or_else(|| {
                Error::shape(self.op, "kernel", format!("{k} elements, dilation {}", windows[d].dilation), "1 or more")
            })
        };
        let padding = self.lengths(input, weight, before)?;
        let first = MAX_SPATIAL - self.spatial;
        for (window, padding) in self.geometry.windows.iter_mut().zip(padding).skip(first) {
            window.padding = padding;
        }
        self.check_channels(input, weight, weight.dims()[1].checked_mul(self.geometry.groups))?;
        self.call(Part::Output, self.lengths(input, weight, |_, x, _| Ok(x))?, input, weight, bias)
    }

    /// The transposed convolution of a batch.
    #[track_caller]
    pub fn transpose(&self, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>, extra: PerDim) -> Result<Tensor> {
        let length = |d: usize, y: usize, k: usize| {
            let window = &self.geometry.windows[d];
            let whole = y.checked_sub(1).and_then(|n| n.checked_mul(window.stride)).zip(span(k, window.dilation));
            let whole = whole.and_then(|(n, span)| n.checked_add(span)?.checked_add(extra[d]));
            let cut = window.padding.checked_mul(2);
            whole.zip(cut).and_then(|(n, cut)| n.checked_sub(cut)).filter(|&n| n > 0).ok_or_else(|| {
                let given = format!("length {y}, kernel {k}, {window:?}, output_padding {}", extra[d]);
                Error::shape(self.op, "input", given, "sizes that give a result of at least one position")
            })
        };
        for (d, window) in self.geometry.windows.iter().enumerate() {
            if extra[d] > 0 && extra[d] >= window.stride.max(window.dilation) {
                return Err(Error::value(self.op, "output_padding", extra[d], "less than the stride or the dilation"));
            }
        }
        let lengths = self.lengths(input, weight, length)?;
        self.check_channels(input, weight, Some(weight.dims()[0]))?;
        self.call(Part::Input, lengths, input, weight, bias)
    }
}
