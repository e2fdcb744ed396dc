//! `cumsum(x, dim)`: running sums along a dimension.

use opforge_core::normalize_dim;

use crate::Dim;
use crate::functional::{accumulation_dtype, no_dims};
use crate::operator::prelude::*;
use crate::operator::same_axes;

/// The operator of [`cumsum`]; keeps the dtype.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CumSum {
    /// The dimension.
    pub dim: usize,
}

impl Operator for CumSum {
    fn name(&self) -> &'static str {
        "cumsum"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("cumsum", inputs, 1)?;
        let x = inputs[0];
        if self.dim >= x.rank() {
            return Err(Error::index("cumsum", "dim", self.dim, format!("a dimension of {:?}", x.shape())));
        }
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        opforge_cpu::scan::cumsum("cumsum", inputs[0], self.dim, outputs[0])
    }

    /// The same from the other end.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?.flip(&[self.dim])?;
        Ok(smallvec![Some(dispatch1(self, &[&grad])?.flip(&[self.dim])?)])
    }
}

function! {
    /// The sums of each element and all before it along `dim`, formed in order. Integers and truth values are summed into i64, wrapping.
    ///
    /// # Errors
    /// For a dimension out of range.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    /// assert_eq!(opforge::functional::cumsum(&x, 0, None)?.to_vec2::<f32>()?, [[1.0, 2.0], [4.0, 6.0]]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    pub fn cumsum(input: &Tensor, dim: i64; dtype: Option<DType> = None) -> Result<Tensor> {
        let input = input.to_dtype(dtype.unwrap_or(accumulation_dtype(input.dtype())))?;
        let dim = normalize_dim(dim, input.rank(), "cumsum")?;
        if input.rank() == 0 { Ok(input) } else { dispatch1(&CumSum { dim }, &[&input]) }
    }
}

impl Tensor {
    /// The sums of each element and all before it along a dimension; the dtype stays.
    #[track_caller]
    pub fn cumsum<D: Dim>(&self, dim: D) -> Result<Tensor> {
        if self.rank() == 0 {
            return Err(no_dims("cumsum"));
        }
        dispatch1(&CumSum { dim: dim.to_index(self.shape(), "cumsum")? }, &[self])
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: "cumsum", function: &FUNCTION, dtypes: DTypes::NUMERIC, samples };

fn samples() -> Vec<Sample> {
    let sample = |dim: usize, shape: &'static [usize]| {
        Sample::new(CumSum { dim }, vec![Array::spread(shape, -2.0..2.0)], move |x| {
            Array::from_fn(shape, |i| {
                let mut before = i.to_vec();
                (0..=i[dim])
                    .map(|n| {
                        before[dim] = n;
                        x[0].at(&before)
                    })
                    .sum()
            })
        })
    };
    vec![sample(0, &[7]), sample(0, &[5, 3]), sample(1, &[2, 4, 3])]
}
