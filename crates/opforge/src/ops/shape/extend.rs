//! `extend(x, before, after, beyond)`: a tensor continued beyond its edges.

pub use opforge_tile::forms::Beyond;
use opforge_tile::forms::Move;

use crate::ops::prelude::*;

/// The operator of [`extend`]: so many elements more before and after those of each dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Extend {
    /// Before them.
    pub before: SmallVec<[usize; 6]>,
    /// After them.
    pub after: SmallVec<[usize; 6]>,
    /// What they are.
    pub beyond: Beyond,
}

impl Extend {
    /// The dimensions that become longer.
    fn extended(&self) -> Vec<usize> {
        (0..self.before.len()).filter(|&d| self.before[d] + self.after[d] > 0).collect()
    }

    /// Which elements of a dimension those around it are.
    fn sources(&self, d: usize, len: usize) -> Result<Vec<i64>> {
        let (before, len, after) = (self.before[d] as i64, len as i64, self.after[d] as i64);
        let source = |i: i64| {
            let accepted = || Error::value("pad", "pad", format!("{:?}", [before, after]), format!("what fits {len}"));
            self.beyond.source(i, len).ok_or_else(accepted)
        };
        (-before..0).chain(len..len + after).map(source).collect()
    }
}

impl Plain for Extend {
    const NAME: &'static str = "extend";

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let x = inputs[0];
        ensure([&self.before, &self.after].iter().all(|side| side.len() == x.rank()), || {
            wrong_shape(Self::NAME, "input", x.shape(), format!("rank {}", self.before.len()))
        })?;
        let longer = |(d, &len): (usize, &usize)| len.saturating_add(self.before[d]).saturating_add(self.after[d]);
        let shape: Shape = x.dims().iter().enumerate().map(longer).collect();
        shape.check(Self::NAME, x.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(x.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        AxisMap::pointwise(inputs, inputs[0].rank()).with_roles(&self.extended(), Role::Whole)
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Move(Move::Extend { before: self.before.to_vec(), beyond: self.beyond })
    }

    /// Along one dimension after the other, what lies around is added where it comes from.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let mut grad = ctx.grad(0)?;
        for d in self.extended() {
            let (before, len) = (self.before[d], ctx.input_meta(0).dims()[d]);
            let ids = Tensor::from_iter(self.sources(d, len)?, ctx.device())?;
            let around = [grad.narrow(d, 0, before)?, grad.narrow(d, before + len, self.after[d])?];
            grad = grad.narrow(d, before, len)?.index_add(&ids, &Tensor::cat(&around, d)?, d)?;
        }
        Ok(smallvec![Some(grad)])
    }
}

/// `before[d]` and `after[d]` elements around those of each dimension `d`: with `mode` `"reflect"` as in a mirror, with `"replicate"` the edge, with
/// `"circular"` the other end.
///
/// # Errors
/// Unless there are two numbers for each dimension, and elements so far from the edges.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// assert_eq!(f::extend(&x, &[2], &[1], "reflect")?.to_vec1::<f32>()?, [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::ALL, samples, Extend)]
pub fn extend(input: &Tensor, before: &[i64], after: &[i64], mode: &str) -> Result<Tensor> {
    let beyond = match mode {
        "reflect" => Beyond::Reflected,
        "replicate" => Beyond::Repeated,
        "circular" => Beyond::Wrapped,
        other => return Err(Error::value(OP, "mode", other, "\"reflect\", \"replicate\" or \"circular\"")),
    };
    let natural = |n: &i64| usize::try_from(*n).map_err(|_| Error::value(OP, "before or after", n, "0 or more"));
    let natural = |all: &[i64]| all.iter().map(natural).collect::<Result<SmallVec<[usize; 6]>>>();
    dispatch1(&Extend { before: natural(before)?, after: natural(after)?, beyond }, &[input])
}

fn samples() -> Vec<Sample> {
    let sample = |beyond: Beyond, [before, after]: [[usize; 3]; 2]| {
        let op = Extend { before: before.into_iter().collect(), after: after.into_iter().collect(), beyond };
        Sample::new(op, vec![Array::spread(&[3, 2, 4], -2.0..2.0)], move |x| {
            let shape = [0, 1, 2].map(|d| before[d] + x[0].shape[d] + after[d]);
            Array::from_fn(&shape, |index| {
                let from = |d: usize| match (index[d] as i64 - before[d] as i64, x[0].shape[d] as i64) {
                    (i, n) if (0..n).contains(&i) => i as usize,
                    (i, n) => match beyond {
                        Beyond::Reflected => (if i < 0 { -i } else { 2 * (n - 1) - i }) as usize,
                        Beyond::Repeated => (if i < 0 { 0 } else { n - 1 }) as usize,
                        Beyond::Wrapped => i.rem_euclid(n) as usize,
                    },
                };
                x[0].at(&[from(0), from(1), from(2)])
            })
        })
    };
    vec![
        sample(Beyond::Reflected, [[2, 0, 1], [1, 0, 3]]),
        sample(Beyond::Repeated, [[0, 3, 0], [0, 1, 0]]),
        sample(Beyond::Wrapped, [[0, 1, 2], [0, 2, 0]]),
    ]
}
