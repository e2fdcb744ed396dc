//! `nonzero(x)`: where a tensor's elements are not zero.

use opforge_tile::forms::Index;

use crate::ops::prelude::*;

/// The operator of [`nonzero`] on truth values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct NonZero {
    /// How many elements are true.
    pub count: usize,
}

impl Operator for NonZero {
    fn name(&self) -> &'static str {
        "nonzero"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("nonzero", inputs, 1)?;
        if inputs[0].dtype != DType::Bool {
            return Err(Error::dtype("nonzero", "input", inputs[0].dtype, DType::Bool));
        }
        Ok(smallvec![Meta::contiguous(DType::I64, [self.count, inputs[0].rank()])])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let inputs = vec![SmallVec::from_elem(None, inputs[0].rank())];
        AxisMap { inputs, outputs: vec![smallvec![None; 2]], roles: SmallVec::new() }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Index(Index::NonZero))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The positions of the elements that are not zero, in row-major order: `[count, rank]` in i64. Their number is read before this returns.
///
/// # Errors
/// For complex tensors, and on a device without data.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[0f32, 2.0], [3.0, 0.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::nonzero(&x)?.to_vec2::<i64>()?, [[0, 1], [1, 0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[operator(DTypes::of(&[DType::Bool]), samples, NonZero, gradient = false)]
pub fn nonzero(input: &Tensor) -> Result<Tensor> {
    let mask = match input.dtype() {
        DType::Bool => input.clone(),
        _ => crate::functional::ne((&input.detach()).into(), Operand::Scalar(Scalar::Int(0)))?,
    };
    let count = crate::functional::sum(&mask, None, false, Some(DType::I64))?.to_scalar::<i64>()?;
    dispatch1(&NonZero { count: count as usize }, &[&mask])
}

fn samples() -> Vec<Sample> {
    let sample = |shape: &[usize]| {
        let mask = Array { content: Content::Real, ..Array::truths(shape) };
        let count = mask.data.iter().filter(|&&x| x != 0.0).count();
        Sample::new(NonZero { count }, vec![mask], |x| positions(&x[0])).rough()
    };
    vec![sample(&[7]), sample(&[3, 4]), sample(&[2, 3, 5]), sample(&[])]
}

fn positions(x: &Array) -> Array {
    let mut rows: Vec<f64> = Vec::new();
    let mut count = 0;
    each_index(&x.shape, |i| {
        if x.at(i) != 0.0 {
            count += 1;
            rows.extend(i.iter().map(|&n| n as f64));
        }
    });
    Array::new(&[count, x.shape.len()], rows)
}
