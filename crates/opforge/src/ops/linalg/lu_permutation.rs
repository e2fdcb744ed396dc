//! `lu_permutation(pivots, rows)`: the order of rows that exchanges make.

use opforge_tile::forms::Index;

use crate::family::matrix::batch_axes;
use crate::ops::prelude::*;

/// The operator of [`lu_permutation`]: i32, `[.., k]`, to i64, `[.., rows]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct LuPermutation {
    /// How many rows there are.
    pub rows: usize,
}

impl Operator for LuPermutation {
    fn name(&self) -> &'static str {
        "lu_permutation"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("lu_permutation", inputs, 1)?;
        if inputs[0].dtype != DType::I32 {
            return Err(Error::dtype("lu_permutation", "pivots", inputs[0].dtype, "i32"));
        }
        match inputs[0].dims() {
            [lead @ .., steps] if *steps <= self.rows => {
                Ok(smallvec![Meta::contiguous(DType::I64, [lead, &[self.rows]].concat())])
            }
            _ => {
                let given = format!("{:?}", inputs[0].shape());
                Err(Error::shape("lu_permutation", "pivots", given, format!("[.., k] with k up to {}", self.rows)))
            }
        }
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let mut map = batch_axes(&[&Meta::contiguous(DType::I32, [inputs[0].dims(), &[1]].concat())], &[1]);
        map.inputs[0].pop();
        map
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Index(Index::Exchange))
    }

    fn differentiable(&self) -> bool {
        false
    }
}

/// The order, in i64, in which `rows` rows are after exchanges: step `i` exchanges row `i` with row `pivots[i]`, counted from 1, as
/// [`lu_factor`](fn@crate::functional::lu_factor) gives them.
///
/// # Errors
/// For pivots that are not i32, are more than there are rows, or not among them.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let pivots = Tensor::new(&[3i32, 2], &Device::Cpu)?;
/// assert_eq!(opforge::functional::lu_permutation(&pivots, 3)?.to_vec1::<i64>()?, [2, 1, 0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::of(&[DType::I32]), samples, LuPermutation, gradient = false)]
pub fn lu_permutation(pivots: &Tensor, rows: usize) -> Result<Tensor> {
    dispatch1(&LuPermutation { rows }, &[pivots])
}

fn samples() -> Vec<Sample> {
    let pivots = Array::new(&[2, 3], vec![4.0, 2.0, 3.0, 2.0, 4.0, 3.0]);
    vec![Sample::new(LuPermutation { rows: 4 }, vec![pivots], |x| {
        let mut rows = Array::from_fn(&[x[0].shape[0], 4], |i| i[1] as f64);
        for (at, &pivot) in x[0].data.iter().enumerate() {
            let (b, step) = (at / 3, at % 3);
            rows.data.swap(b * 4 + step, b * 4 + pivot as usize - 1);
        }
        rows
    })]
}
