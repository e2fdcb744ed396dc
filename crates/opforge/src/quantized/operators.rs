//! The operators of quantized tensors, whose kernels are those of the CPU. Bytes are blocks of a type, a row after the other.

use opforge_cpu::quantized::{self, GgmlDType};
use smallvec::{SmallVec, smallvec};

use crate::autograd::Backward;
use crate::dispatch::dispatch1;
use crate::operator::{Attributes, AxisMap, Grads, Lowering, Metas, Operator, Saves, arity};
use crate::{DType, Error, Meta, Result, Shape, Tensor};

/// Floats as blocks, all in one vector of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct Quantize {
    dtype: GgmlDType,
}

/// Blocks as f32 of a shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct Dequantize {
    dtype: GgmlDType,
    shape: Shape,
}

/// `[.., k]` in f32 times the transpose of a matrix `[n, k]` that is given as blocks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct QuantizedLinear {
    dtype: GgmlDType,
    n: usize,
}

/// Nothing is known of how axes flow: elements of a block belong together.
fn unknown(inputs: &[&Meta]) -> AxisMap {
    let none = |meta: &&Meta| SmallVec::from_elem(None, meta.rank());
    AxisMap { inputs: inputs.iter().map(none).collect(), outputs: vec![], roles: SmallVec::new() }
}

impl Operator for Quantize {
    fn name(&self) -> &'static str {
        "quantize"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        Ok(smallvec![Meta::contiguous(DType::U8, self.dtype.bytes_of(self.name(), inputs[0].elem_count())?)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        unknown(inputs)
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Opaque(quantized::pack(self.name(), self.dtype, inputs[0], outputs[0])?))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

impl Operator for Dequantize {
    fn name(&self) -> &'static str {
        "dequantize"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 1)?;
        Ok(smallvec![Meta::contiguous(DType::F32, &self.shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        unknown(inputs)
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Opaque(quantized::unpack(self.name(), self.dtype, inputs[0], outputs[0])?))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

impl Operator for QuantizedLinear {
    fn name(&self) -> &'static str {
        "quantized_linear"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(self.name(), inputs, 2)?;
        let x = inputs[0];
        let (lead, k) = last(self.name(), x)?;
        let expected = self.n.checked_mul(self.dtype.bytes_of(self.name(), k)?);
        if expected != Some(inputs[1].elem_count()) {
            let accepted = format!("a last dimension of the {} rows of the weight", self.n);
            return Err(Error::shape(self.name(), "input", format!("{:?}", x.shape()), accepted));
        }
        let shape: Shape = lead.iter().copied().chain([self.n]).collect();
        Ok(smallvec![Meta::contiguous(DType::F32, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        unknown(inputs)
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        let (lead, k) = last(self.name(), inputs[0])?;
        let sizes = [lead.iter().product(), self.n, k];
        let kernel = quantized::linear(self.name(), self.dtype, sizes, [inputs[0], inputs[1]], outputs[0])?;
        Ok(Lowering::Opaque(kernel))
    }

    fn saves(&self) -> Saves {
        Saves::inputs([1])
    }

    /// That of the product with the matrix as blocks hold it; rounding the input to 8 bits counts as the identity.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (lead, k) = last(self.name(), ctx.input_meta(0))?;
        let rows: usize = lead.iter().product();
        let input = ctx.when(0, || {
            let weight = dequantize(&ctx.input(1)?, self.dtype, (self.n, k).into())?;
            ctx.grad(0)?.reshape((rows, self.n))?.matmul(&weight)?.reshape(ctx.input_meta(0).shape())
        })?;
        Ok(smallvec![input, None])
    }
}

/// The leading dimensions, and the length of the last one.
fn last<'a>(op: &'static str, x: &'a Meta) -> Result<(&'a [usize], usize)> {
    let (k, lead) = x.dims().split_last().ok_or_else(|| Error::shape(op, "input", "a scalar", "rank at least 1"))?;
    Ok((lead, *k))
}

/// A tensor in f32 as blocks of a type, which is no float.
#[track_caller]
pub(super) fn quantize(x: &Tensor, dtype: GgmlDType) -> Result<Tensor> {
    dispatch1(&Quantize { dtype }, &[&x.contiguous()?])
}

/// Blocks as f32.
#[track_caller]
pub(super) fn dequantize(bytes: &Tensor, dtype: GgmlDType, shape: Shape) -> Result<Tensor> {
    dispatch1(&Dequantize { dtype, shape }, &[&bytes.contiguous()?])
}

/// `x`, f32 `[.., k]`, times the transpose of `n` rows of blocks.
#[track_caller]
pub(super) fn linear(x: &Tensor, bytes: &Tensor, dtype: GgmlDType, n: usize) -> Result<Tensor> {
    dispatch1(&QuantizedLinear { dtype, n }, &[&x.contiguous()?, bytes])
}
