//! `embedding(ids, weight)`: rows of a table, by index.

use opforge_cpu::index::OnMax;

use super::index_select::IndexSelect;
use crate::operator::prelude::*;

function! {
    /// The rows of `weight` (`[rows, width]`) that `input`, integers of any shape, names: the result is `[.., width]`.
    ///
    /// # Errors
    /// For an index that is negative or not less than the number of rows.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let table = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    /// let ids = Tensor::new(&[1i64, 0], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::embedding(&ids, &table)?.to_vec2::<f32>()?, [[3.0, 4.0], [1.0, 2.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn embedding(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
        if weight.rank() != 2 {
            return Err(Error::shape("embedding", "weight", format!("{:?}", weight.shape()), "rank 2"));
        }
        dispatch1(&IndexSelect { dim: 0, on_max: OnMax::Error }, &[weight, input])
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: "embedding", function: &FUNCTION, dtypes: DTypes::ALL, samples };

fn samples() -> Vec<Sample> {
    let inputs = vec![Array::spread(&[4, 3], -2.0..2.0), Array::indices(&[2, 2], 4)];
    vec![Sample::composed(
        "embedding",
        |x| embedding(x[1], x[0]),
        inputs,
        |x| Array::from_fn(&[2, 2, 3], |i| x[0].at(&[x[1].at(&i[..2]) as usize, i[2]])),
    )]
}
