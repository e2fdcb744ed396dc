//! Pooling under as many about equal windows as the result has elements.

use opforge_cpu::conv::MAX_SPATIAL;
use opforge_cpu::pool::Divisor;

use crate::operator::pool::Pooling;
use crate::operator::prelude::*;
use crate::operator::window::PerDim;
use crate::ops::nn::avg_pool2d::avg_pool;
use crate::ops::nn::max_pool2d::max_pool;

/// The windows and the result's lengths.
fn adaptive(op: &'static str, spatial: usize, input: &Tensor, size: &[i64]) -> Result<(Pooling, PerDim)> {
    let pooling = Pooling::adaptive(op, spatial);
    let mut lengths = pooling.input_lengths(input)?;
    // Each window has a place in a table.
    const MOST: usize = 1 << 24;
    let accepted = || format!("1 or {spatial} numbers, -1 to {MOST}");
    let wrong = || Error::value(op, "output_size", format!("{size:?}"), accepted());
    if size.len() != 1 && size.len() != spatial {
        return Err(wrong());
    }
    for (i, length) in lengths[MAX_SPATIAL - spatial..].iter_mut().enumerate() {
        match size[if size.len() == 1 { 0 } else { i }] {
            -1 => {}
            n => *length = usize::try_from(n).ok().filter(|&n| n <= MOST).ok_or_else(wrong)?,
        }
    }
    Ok((pooling, lengths))
}

/// Declares, for each number of spatial dimensions, the averages, the greatest elements with their places, and without them unless asked.
macro_rules! adaptive_pools {
    ($($spatial:literal:
        $average:ident $average_name:literal $average_faces:tt, $max:ident $max_name:literal $max_faces:tt, $returning:ident, $example:literal;)*) => {
        functions! {$(
            /// The averages of as many about equal windows as `output_size` says, over the last dimensions of `[batch, channels, ..]`
            #[doc = concat!(" (", $spatial, "; the batch may be missing). A size of -1 is the input's.")]
            ///
            /// # Errors
            /// For an input of another rank or without elements, and sizes below -1.
            ///
            #[doc = $example]
            #[python $average_faces]
            pub fn $average(input: &Tensor, output_size: &[i64]) -> Result<Tensor> {
                let (pooling, lengths) = adaptive($average_name, $spatial, input, output_size)?;
                avg_pool(&pooling, Divisor::Inside, input, lengths)
            }

            /// The greatest elements, and their places, under as many about equal windows as `output_size` says: otherwise as
            #[doc = concat!(" [`", $average_name, "`].")]
            ///
            /// # Errors
            #[doc = concat!(" As [`", $average_name, "`].")]
            #[python $max_faces]
            pub fn $max(input: &Tensor, output_size: &[i64]) -> Result<(Tensor, Tensor)> {
                let (pooling, lengths) = adaptive($max_name, $spatial, input, output_size)?;
                max_pool(&pooling, input, lengths)
            }

            #[doc = concat!(" [`", $max_name, "`], without the places unless `return_indices`.")]
            ///
            /// # Errors
            #[doc = concat!(" As [`", $average_name, "`].")]
            #[python(nn, name = $max_name)]
            pub fn $returning(input: &Tensor, output_size: &[i64], return_indices: bool = false) -> Result<Value> {
                let both = $max(input, output_size)?;
                Ok(if return_indices { both.into() } else { both.0.into() })
            }
        )*}
    };
}

adaptive_pools! {
    1:
        adaptive_avg_pool1d "adaptive_avg_pool1d" (torch, nn),
        adaptive_max_pool1d "adaptive_max_pool1d" (torch),
        adaptive_max_pool1d_returning, "```
# use opforge::{Device, Tensor};
let x = Tensor::new(&[[1f32, 2.0, 6.0]], &Device::Cpu)?;
assert_eq!(opforge::functional::adaptive_avg_pool1d(&x, &[2])?.to_vec2::<f32>()?, [[1.5, 4.0]]);
# Ok::<(), opforge::Error>(())
```";
    2:
        adaptive_avg_pool2d "adaptive_avg_pool2d" (nn),
        adaptive_max_pool2d "adaptive_max_pool2d" (hidden),
        adaptive_max_pool2d_returning, "```
# use opforge::{Device, Tensor};
let x = Tensor::new(&[[[1f32, 2.0, 6.0], [3.0, 4.0, 8.0]]], &Device::Cpu)?;
assert_eq!(opforge::functional::adaptive_avg_pool2d(&x, &[1, 2])?.to_vec3::<f32>()?, [[[2.5, 5.0]]]);
# Ok::<(), opforge::Error>(())
```";
    3:
        adaptive_avg_pool3d "adaptive_avg_pool3d" (nn),
        adaptive_max_pool3d "adaptive_max_pool3d" (hidden),
        adaptive_max_pool3d_returning, "```
# use opforge::{DType, Device, Tensor};
let x = Tensor::ones((1, 2, 3, 4, 5), DType::F32, &Device::Cpu)?;
assert_eq!(opforge::functional::adaptive_avg_pool3d(&x, &[2, -1, 1])?.dims(), [1, 2, 2, 4, 1]);
# Ok::<(), opforge::Error>(())
```";
}
