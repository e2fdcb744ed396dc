//! `searchsorted(sorted, x)`: where values belong in ascending numbers.

use opforge_tile::forms::Sort;

use crate::ops::prelude::*;

/// The operator of [`searchsorted`]: ascending numbers, one vector or one for each row of values, then the values; contiguous both.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct SearchSorted {
    /// Whether a value belongs after numbers equal to it.
    pub right: bool,
    /// The result's dtype: i32 or i64.
    pub index: DType,
}

impl Plain for SearchSorted {
    const NAME: &'static str = "searchsorted";
    const INPUTS: usize = 2;
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(smallvec![Meta::contiguous(self.index, inputs[1].shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let none = |m: &Meta| SmallVec::from_elem(None, m.rank());
        AxisMap {
            inputs: vec![none(inputs[0]), none(inputs[1])],
            outputs: vec![none(inputs[1])],
            roles: SmallVec::new(),
        }
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Sort(Sort::Search { right: self.right })
    }
}

/// How many numbers of the ascending `sorted_sequence` are less than each element of `input`; with `right` (or `side` `"right"`), not
/// greater. The sequence is one vector, or one for each row (the last dimension) of the input. `sorter` holds the indices that sort the
/// sequence. The result is in i64, or i32 with `out_int32`. NaN counts as greater than every number.
///
/// # Errors
/// For shapes that do not go together, and complex tensors.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (sorted, x) = (Tensor::new(&[1f32, 3.0, 5.0], &Device::Cpu)?, Tensor::new(&[3f32, 6.0], &Device::Cpu)?);
/// assert_eq!(f::searchsorted(&sorted, (&x).into(), false, false, None, None)?.to_vec1::<i64>()?, [1, 3]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(*, out_int32 = false, right = false, side = None, sorter = None)]
#[python(torch)]
#[operator(DTypes::NUMERIC, samples, SearchSorted)]
pub fn searchsorted(
    sorted_sequence: &Tensor,
    input: Operand,
    out_int32: bool,
    right: bool,
    side: Option<&str>,
    sorter: Option<&Tensor>,
) -> Result<Tensor> {
    let right = match side {
        None => right,
        Some("right") => true,
        Some("left") if !right => false,
        Some(other) => return Err(Error::value(OP, "side", other, "\"left\" or \"right\", as `right` says")),
    };
    let number;
    let input = match input {
        Operand::Tensor(input) => input,
        Operand::Scalar(s) => {
            number = scalar_tensor(s, sorted_sequence.device())?;
            &number
        }
    };
    let sorted = match sorter {
        Some(order) => crate::functional::gather(sorted_sequence, -1, order)?,
        None => sorted_sequence.clone(),
    };
    let dtype = crate::functional::common_dtype(OP, &sorted, input)?;
    let [sorted, input] = [&sorted, input].map(|t| t.detach().to_dtype(dtype)?.contiguous());
    let index = if out_int32 { DType::I32 } else { DType::I64 };
    dispatch1(&SearchSorted { right, index }, &[&sorted?, &input?])
}

/// A number as a tensor without dimensions, which adapts to the sequence's dtype.
fn scalar_tensor(s: Scalar, device: &Device) -> Result<Tensor> {
    let dtype = if s.kind() < opforge_core::Kind::Float { DType::I64 } else { DType::F64 };
    Tensor::full_scalar(s, (), dtype, device)
}

fn samples() -> Vec<Sample> {
    let sample = |sorted: Array, shape: &[usize], right: bool| {
        let inputs = vec![sorted, Array::spread(shape, -1.0..8.0)];
        let call = move |x: &[&Tensor]| searchsorted(x[0], x[1].into(), false, right, None, None);
        Sample::composed("searchsorted", call, inputs, move |x| places(&x[0], &x[1], right)).rough()
    };
    let ascending = |shape: &[usize]| {
        let data = (0..shape.iter().product::<usize>()).map(|i| (i % shape[shape.len() - 1]) as f64);
        Array::new(shape, data.collect())
    };
    vec![sample(ascending(&[6]), &[3, 4], false), sample(ascending(&[3, 5]), &[3, 4], true)]
}

/// By halving, which is what finds a place also in numbers that are not in order.
fn places(sorted: &Array, x: &Array, right: bool) -> Array {
    let less = |a: f64, b: f64| a < b || (!a.is_nan() && b.is_nan());
    let len = sorted.shape[sorted.shape.len() - 1];
    Array::from_fn(&x.shape, |i| {
        let row = if sorted.shape.len() > 1 { i[0] * len } else { 0 };
        let before = |y: &f64| if right { !less(x.at(i), *y) } else { less(*y, x.at(i)) };
        sorted.data[row..row + len].partition_point(before) as f64
    })
}
