//! `index_get(x, indices)`: the elements that several index tensors name together.

use crate::family::index::{check_tuples, tuple_axes};
use crate::functional::Selection;
use crate::ops::prelude::*;
use opforge_tile::forms::Index;

/// The operator of [`index_get`]: `x`, then a vector of indices for each of the dimensions from `dim` on; the result has one dimension for
/// these. Negative indices count from the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct IndexGet {
    /// The first indexed dimension.
    pub dim: usize,
    /// The number of indexed dimensions.
    pub count: usize,
}

impl Operator for IndexGet {
    fn name(&self) -> &'static str {
        "index_get"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("index_get", inputs, self.count.saturating_add(1))?;
        let shape = check_tuples("index_get", inputs[0], &inputs[1..], self.dim)?;
        Ok(smallvec![Meta::contiguous(inputs[0].dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (x, part, indices, roles) = tuple_axes(inputs[0].rank(), self.dim, self.count, Role::Map);
        AxisMap { inputs: [vec![x], vec![indices; self.count]].concat(), outputs: vec![part], roles }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Index(Index::Get { axis: self.dim }))
    }

    fn saves(&self) -> Saves {
        super::index_put::saves_indices(self.count)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let x = ctx.when(0, || {
            let zeros = ctx.zeros(0)?;
            let ids = (1..=self.count).map(|i| ctx.input(i)).collect::<Result<Vec<_>>>()?;
            super::index_put::put(&zeros, self.dim, &ids, &ctx.grad(0)?, true)
        })?;
        let mut grads: Grads = SmallVec::from_elem(None, 1 + self.count);
        grads[0] = x;
        Ok(grads)
    }
}

/// The elements that index tensors name together, one for each of the first dimensions, or nothing to take all of a dimension. Integers of
/// any shape name positions, negative ones from the end; masks (bool or u8) take the place of as many dimensions as they have, and name
/// where they are true.
///
/// The indices are broadcast together; their dimensions replace the indexed ones, or come first if those are not neighbours.
///
/// # Errors
/// For an index out of range, too many indices, and shapes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let (rows, columns) = (Tensor::new(&[0i64, -1], &Device::Cpu)?, Tensor::new(&[1i64, 0], &Device::Cpu)?);
/// let diagonal = opforge::functional::index_get(&x, &[Some(rows), Some(columns)])?;
/// assert_eq!(diagonal.to_vec1::<f32>()?, [2.0, 3.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function]
#[python(hidden)]
#[operator(DTypes::ALL, samples, IndexGet)]
pub fn index_get(input: &Tensor, indices: &[Option<Tensor>]) -> Result<Tensor> {
    match Selection::new(OP, input, indices)? {
        Some(s) => get(&s.tensor, s.dim, &s.ids)?.reshape(s.shape),
        None => Ok(input.clone()),
    }
}

/// The elements at tuples of indices into the dimensions from `dim` on.
#[track_caller]
pub(super) fn get(x: &Tensor, dim: usize, ids: &[Tensor]) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 4]> = [x].into_iter().chain(ids).collect();
    dispatch1(&IndexGet { dim, count: ids.len() }, &inputs)
}

fn samples() -> Vec<Sample> {
    let x = || Array::spread(&[3, 4, 2], -2.0..2.0);
    let one = Sample::new(IndexGet { dim: 1, count: 1 }, vec![x(), Array::indices(&[5], 4)], |x| {
        Array::from_fn(&[3, 5, 2], |i| x[0].at(&[i[0], x[1].at(&i[1..2]) as usize, i[2]]))
    });
    let inputs = vec![x(), Array::indices(&[6], 3), Array::indices(&[6], 4)];
    let two = Sample::new(IndexGet { dim: 0, count: 2 }, inputs, |x| {
        Array::from_fn(&[6, 2], |i| x[0].at(&[x[1].at(&i[..1]) as usize, x[2].at(&i[..1]) as usize, i[1]]))
    });
    vec![one, two]
}
