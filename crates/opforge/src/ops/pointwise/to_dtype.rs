//! `to_dtype(x, dtype)`: the elements in another type.

use crate::ops::prelude::*;

/// The operator of [`to_dtype`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct ToDType {
    /// The result's dtype.
    pub dtype: DType,
}

impl Plain for ToDType {
    const NAME: &'static str = "to_dtype";

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        Ok(like_first(inputs, self.dtype))
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank())
    }

    /// A dtype that holds all of another's numbers gives them back.
    fn law(&self, input: &Meta, before: Option<(&dyn Operator, &Meta)>) -> Option<Law> {
        let (_, first) = before.filter(|(op, _)| op.as_any().is::<ToDType>())?;
        let (narrow, wide) = (first.dtype, input.dtype);
        let alike = narrow.is_float() && wide.is_float() || narrow.is_int() && wide.is_int();
        (self.dtype == narrow && alike && opforge_core::promote(narrow, wide) == Some(wide)).then_some(Law::InputBefore)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Tile(Tile::cast(self.dtype))
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(ctx.grad(0)?.to_dtype(ctx.input_meta(0).dtype)?)])
    }
}

/// The elements converted to another dtype: floats to integers truncate and saturate (NaN gives 0), anything but zero is true, a complex
/// number loses its imaginary part on the way to a real dtype. The tensor itself if it has the dtype already.
///
/// ```
/// # use opforge::{DType, Device, Tensor};
/// let x = Tensor::new(&[1.7f32, -1.7, 300.0], &Device::Cpu)?;
/// assert_eq!(x.to_dtype(DType::U8)?.to_vec1::<u8>()?, [1, 0, 255]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[view]
#[operator(DTypes::ALL, samples, ToDType)]
pub fn to_dtype(input: &Tensor, dtype: DType) -> Result<Tensor> {
    if input.dtype() == dtype { Ok(input.clone()) } else { dispatch1(&ToDType { dtype }, &[input]) }
}

impl Tensor {
    /// The elements converted to another dtype: see [`to_dtype`].
    #[track_caller]
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        to_dtype(self, dtype)
    }
}

fn samples() -> Vec<Sample> {
    let sample = |dtype, shape: &[usize], reference: fn(f64) -> f64| {
        Sample::new(ToDType { dtype }, vec![Array::spread(shape, 0.0..9.0)], move |x| x[0].map(reference))
    };
    vec![
        sample(DType::F64, &[3, 4], |x| x),
        // Differences do not see through the rounding.
        sample(DType::F32, &[5], f64::from).rough(),
        sample(DType::I64, &[2, 3], f64::trunc).rough(),
        sample(DType::U8, &[], f64::trunc).rough(),
        sample(DType::Bool, &[4], |x| f64::from(x != 0.0)).rough(),
    ]
}
