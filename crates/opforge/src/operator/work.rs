//! How much work a call is, whoever carries it out.

use std::ops::Add;

use opforge_tile::forms::{Attention, Part, Windowed};

use super::Lowering;
use crate::Meta;

/// What a call does at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Bytes that are read and written, each once.
    pub bytes: usize,
    /// The multiplications and additions of products, convolutions, distances, attention and recurrent cells; of other calls none, which memory holds up.
    pub flops: usize,
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work { bytes: self.bytes + other.bytes, flops: self.flops + other.flops }
    }
}

impl Lowering {
    /// The work of a call of these inputs and outputs. Of a table that is looked up, what is read counts, which is as much as is written.
    ///
    /// ```
    /// use opforge::operator::{Lowering, Work};
    /// use opforge::{DType, Meta, Scalar};
    ///
    /// let filled = Meta::contiguous(DType::F32, (2, 3));
    /// assert_eq!(Lowering::Fill(Scalar::Float(1.0)).work(&[], &[&filled]), Work { bytes: 24, flops: 0 });
    /// ```
    pub fn work(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Work {
        let written: usize = outputs.iter().map(|meta| distinct_bytes(meta)).sum();
        let read = |meta: &&Meta| match self {
            Lowering::Index(_) => distinct_bytes(meta).min(written),
            _ => distinct_bytes(meta),
        };
        let bytes = match self {
            Lowering::View(_) => 0,
            _ => inputs.iter().map(read).sum::<usize>() + written,
        };
        Work { bytes, flops: self.flops(inputs, outputs) }
    }

    fn flops(&self, inputs: &[&Meta], outputs: &[&Meta]) -> usize {
        match (self, inputs) {
            (Lowering::Contract(_), [left, ..]) => 2 * left.dims().last().unwrap_or(&1) * outputs[0].elem_count(),
            (Lowering::Distances(form), _) => {
                let (distances, rows) = if form.gradient { (inputs[0], inputs[1]) } else { (outputs[0], inputs[0]) };
                // A difference, its magnitude or share, and a sum.
                3 * rows.dims().last().unwrap_or(&1) * distances.elem_count()
            }
            (Lowering::Attention(form), [q, k, v, ..]) => attention(form, q, k, v),
            (Lowering::Recurrent(form), _) => {
                // Products of the state's weight and each hidden state; for the gradient, of both their gradients.
                let weight = inputs[if form.gradient { 3 } else { 1 }];
                let states = outputs[0].elem_count() / weight.dims()[0].max(1);
                2 * states * weight.elem_count() * if form.gradient { 2 } else { 1 }
            }
            (Lowering::Windowed(Windowed::Convolution { part, .. }), [x, other, ..]) => match part {
                Part::Output => convolution(outputs[0], other),
                Part::Input => convolution(x, other),
                Part::Weight => convolution(other, outputs[0]),
            },
            _ => 0,
        }
    }
}

/// The bytes of a tensor's elements, repeated ones once.
pub fn distinct_bytes(meta: &Meta) -> usize {
    let dims = meta.dims().iter().zip(meta.layout.stride()).filter(|(_, stride)| **stride != 0);
    dims.map(|(len, _)| len).product::<usize>() * meta.dtype.size_in_bytes()
}

/// Scores and their sums of `v`; the gradients need five such products. Of queries that see only what comes before them, half.
fn attention(form: &Attention, q: &Meta, k: &Meta, v: &Meta) -> usize {
    let last_two = |meta: &Meta| match meta.dims() {
        [.., length, width] => (*length, *width),
        _ => (1, 1),
    };
    let ((_, width), (keys, _), (_, values)) = (last_two(q), last_two(k), last_two(v));
    let queries = q.elem_count() / width.max(1);
    let products = if form.gradient { 3 * width + 2 * values } else { width + values };
    2 * queries * keys * products / if form.causal { 2 } else { 1 }
}

/// Every element of the output is a product with a row of the weight.
fn convolution(output: &Meta, weight: &Meta) -> usize {
    2 * output.elem_count() * weight.elem_count() / weight.dims().first().copied().unwrap_or(1).max(1)
}
