//! `flip(x, dims)`: dimensions read backwards, as a copy.

use opforge_tile::forms::Move;

use crate::ops::prelude::*;

/// The operator of [`flip`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Flip {
    /// The dimensions that are read backwards.
    pub axes: Axes,
}

impl Plain for Flip {
    const NAME: &'static str = "flip";

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        check_axes(Self::NAME, self.axes, inputs[0].shape())?;
        Ok(like_first(inputs, inputs[0].dtype))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank()).with_roles(&self.axes.to_vec(), Role::Whole)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Move(Move::Flip { axes: self.axes.to_vec().into_vec() })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(dispatch1(self, &[&ctx.grad(0)?])?)])
    }
}

/// The elements in reverse order along dimensions: a copy.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// assert_eq!(opforge::functional::flip(&x, &[1])?.to_vec2::<f32>()?, [[2.0, 1.0], [4.0, 3.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[operator(DTypes::ALL, samples, Flip)]
pub fn flip(input: &Tensor, dims: &[i64]) -> Result<Tensor> {
    let axes = if dims.is_empty() { Axes::default() } else { reduce_dims(OP, input, Some(dims))? };
    dispatch1(&Flip { axes }, &[input])
}

impl Tensor {
    /// The elements in reverse order along dimensions: a copy. A dimension named twice is reversed twice.
    #[track_caller]
    pub fn flip(&self, dims: &[usize]) -> Result<Tensor> {
        let mut axes = Axes::default();
        for &dim in dims {
            axes = axes.toggled(crate::Dim::to_index(&dim, self.shape(), "flip")?);
        }
        dispatch1(&Flip { axes }, &[self])
    }
}

fn samples() -> Vec<Sample> {
    let op = Flip { axes: Axes::of(&[0, 2]) };
    vec![Sample::new(op, vec![Array::spread(&[3, 2, 4], -2.0..2.0)], |x| {
        Array::from_fn(&[3, 2, 4], |i| x[0].at(&[2 - i[0], i[1], 3 - i[2]]))
    })]
}
