//! Max pooling that tells where the greatest elements are.

use crate::operator::pool::Pooling;
use crate::operator::prelude::*;
use crate::ops::nn::max_pool2d::max_pool;

/// Declares, for each number of spatial dimensions, the function that gives the places too and the one that gives them if asked.
macro_rules! max_pools {
    ($($spatial:literal $name:literal, $with_indices:ident $faces:tt, $returning:ident, $example:literal;)*) => {
        functions! {$(
            #[doc = concat!(" [`", $name, "`](crate::functional::", $name, "), with the places of the greatest elements among those of the last")]
            #[doc = concat!(" dimensions (", $spatial, "), in i64. `return_indices` changes nothing.")]
            ///
            /// # Errors
            #[doc = concat!(" As [`", $name, "`](crate::functional::", $name, ").")]
            ///
            #[doc = $example]
            #[python $faces]
            pub fn $with_indices(
                input: &Tensor,
                kernel_size: &[i64],
                stride: Option<&[i64]> = None,
                padding: &[i64] = &[0],
                dilation: &[i64] = &[1],
                ceil_mode: bool = false,
                return_indices: bool = false,
            ) -> Result<(Tensor, Tensor)> {
                let _ = return_indices;
                let pooling = Pooling::new($name, $spatial, kernel_size, stride, [padding, dilation], ceil_mode)?;
                max_pool(&pooling, input, pooling.lengths(input)?)
            }

            #[doc = concat!(" [`", $name, "`](crate::functional::", $name, "), or with the places too if `return_indices`.")]
            ///
            /// # Errors
            #[doc = concat!(" As [`", $name, "`](crate::functional::", $name, ").")]
            #[python(nn, name = $name)]
            pub fn $returning(
                input: &Tensor,
                kernel_size: &[i64],
                stride: Option<&[i64]> = None,
                padding: &[i64] = &[0],
                dilation: &[i64] = &[1],
                ceil_mode: bool = false,
                return_indices: bool = false,
            ) -> Result<Value> {
                let both = $with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, true)?;
                Ok(if return_indices { both.into() } else { both.0.into() })
            }
        )*}
    };
}

max_pools! {
    1 "max_pool1d", max_pool1d_with_indices(torch, nn), max_pool1d_returning, "```
# use opforge::{Device, Tensor};
let x = Tensor::new(&[[1f32, 5.0, 2.0, 3.0]], &Device::Cpu)?;
let (y, places) = opforge::functional::max_pool1d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
assert_eq!((y.to_vec2::<f32>()?, places.to_vec2::<i64>()?), (vec![vec![5.0, 3.0]], vec![vec![1, 3]]));
# Ok::<(), opforge::Error>(())
```";
    2 "max_pool2d", max_pool2d_with_indices(nn), max_pool2d_returning, "```
# use opforge::{Device, Tensor};
let x = Tensor::new(&[[[1f32, 5.0], [2.0, 3.0]]], &Device::Cpu)?;
let (y, places) = opforge::functional::max_pool2d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
assert_eq!((y.to_vec3::<f32>()?, places.to_vec3::<i64>()?), (vec![vec![vec![5.0]]], vec![vec![vec![1]]]));
# Ok::<(), opforge::Error>(())
```";
    3 "max_pool3d", max_pool3d_with_indices(nn), max_pool3d_returning, "```
# use opforge::{Device, Tensor};
let x = Tensor::arange(0f32, 8.0, &Device::Cpu)?.reshape((1, 2, 2, 2))?;
let (y, places) = opforge::functional::max_pool3d_with_indices(&x, &[2], None, &[0], &[1], false, true)?;
assert_eq!((y.flatten_all()?.to_vec1::<f32>()?[0], places.dims()), (7.0, &[1, 1, 1, 1][..]));
# Ok::<(), opforge::Error>(())
```";
}
