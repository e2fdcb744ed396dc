//! `cummax(x, dim)`: the greatest of each element and all before it, and where it is.

use opforge_core::normalize_dim;
use opforge_cpu::reduce::Extreme;
use opforge_cpu::scan::running_arg;

use crate::operator::prelude::*;

/// The operator of [`cummax`]: the places only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CumMax {
    /// The dimension.
    pub dim: usize,
}

impl Operator for CumMax {
    fn name(&self) -> &'static str {
        "cummax"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("cummax", inputs, 1)?;
        let x = inputs[0];
        if self.dim >= x.rank() {
            return Err(Error::index("cummax", "dim", self.dim, format!("a dimension of {:?}", x.shape())));
        }
        Ok(smallvec![Meta::contiguous(DType::I64, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        same_axes(inputs[0], &[self.dim])
    }

    fn kernel(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn Kernel>> {
        running_arg("cummax", Extreme::Max, inputs[0], self.dim, outputs[0])
    }

    fn differentiable(&self) -> bool {
        false
    }
}

function! {
    /// The greatest of each element and all before it along `dim`, and the index of the last that is equal to it. NaN wins and stays.
    ///
    /// # Errors
    /// For a dimension out of range.
    ///
    /// ```
    /// # use opforge::{Device, Tensor};
    /// let x = Tensor::new(&[2f32, 1.0, 3.0], &Device::Cpu)?;
    /// let (values, indices) = opforge::functional::cummax(&x, 0)?;
    /// assert_eq!(values.to_vec1::<f32>()?, [2.0, 2.0, 3.0]);
    /// assert_eq!(indices.to_vec1::<i64>()?, [0, 0, 2]);
    /// # Ok::<(), opforge::Error>(())
    /// ```
    #[python(torch, method, results(values, indices))]
    pub fn cummax(input: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
        let axis = normalize_dim(dim, input.rank(), "cummax")?;
        if input.rank() == 0 {
            return Ok((input.clone(), Tensor::zeros((), DType::I64, input.device())?));
        }
        let indices = dispatch1(&CumMax { dim: axis }, &[input])?;
        Ok((crate::functional::gather(input, dim, &indices)?, indices))
    }
}

/// See [`Definition`].
pub const DEFINITION: Definition = Definition { name: "cummax", function: &FUNCTION, dtypes: DTypes::REAL, samples };

fn samples() -> Vec<Sample> {
    let wins: fn(f64, f64) -> bool = |new, old| new >= old;
    let sample = |dim: usize, shape: &'static [usize]| {
        Sample::new(CumMax { dim }, vec![Array::spread(shape, 0.0..5.0).map(f64::floor)], move |x| {
            Array::from_fn(shape, |i| {
                let at = |n: usize| {
                    let mut index = i.to_vec();
                    index[dim] = n;
                    x[0].at(&index)
                };
                let better = |best: usize, n: usize| !at(best).is_nan() && (at(n).is_nan() || wins(at(n), at(best)));
                (1..=i[dim]).fold(0, |best, n| if better(best, n) { n } else { best }) as f64
            })
        })
        .rough()
    };
    vec![sample(0, &[7]), sample(0, &[5, 3]), sample(1, &[2, 4, 3])]
}
