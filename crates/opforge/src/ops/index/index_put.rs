//! `index_put(x, indices, values)`: values written, or added, where several index tensors name elements together.

use crate::family::index::{check_tuples, tuple_axes};
use crate::functional::Selection;
use crate::ops::prelude::*;
use opforge_tile::forms::Index;

/// The operator of [`index_put`]: `x`, then a vector of indices for each of the dimensions from `dim` on, then the values, which have one
/// dimension for these. Negative indices count from the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct IndexPut {
    /// The first indexed dimension.
    pub dim: usize,
    /// The number of indexed dimensions.
    pub count: usize,
    /// Whether values are added; otherwise the last written to a place stays.
    pub accumulate: bool,
}

/// Backward reads the `count` inputs after the first.
pub(super) fn saves_indices(count: usize) -> Saves {
    Saves { inputs: ((1u64 << (count + 1)) - 2) as u32, outputs: 0 }
}

impl Operator for IndexPut {
    fn name(&self) -> &'static str {
        "index_put"
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity("index_put", inputs, self.count.saturating_add(2))?;
        let (x, values) = (inputs[0], inputs[1 + self.count]);
        let part = check_tuples("index_put", x, &inputs[1..=self.count], self.dim)?;
        if &part != values.shape() {
            return Err(Error::shapes("index_put", x.shape(), values.shape(), format!("values of the shape {part:?}")));
        }
        check_dtypes("index_put", x, values)?;
        Ok(smallvec![Meta::contiguous(x.dtype, x.shape())])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        let (x, part, indices, roles) = tuple_axes(inputs[0].rank(), self.dim, self.count, Role::Whole);
        let inputs = [vec![x.clone()], vec![indices; self.count], vec![part]].concat();
        AxisMap { inputs, outputs: vec![x], roles }
    }

    fn lower(&self, _: &[&Meta], _: &[&Meta]) -> Result<Lowering> {
        Ok(Lowering::Index(Index::Put { axis: self.dim, adds: self.accumulate }))
    }

    fn overwrites(&self, i: usize) -> bool {
        i == 0
    }

    fn saves(&self) -> Saves {
        saves_indices(self.count)
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let grad = ctx.grad(0)?;
        let ids = (1..=self.count).map(|i| ctx.input(i)).collect::<Result<Vec<_>>>()?;
        let x = ctx.when(0, || match self.accumulate {
            true => Ok(grad.clone()),
            false => {
                let values = ctx.input_meta(1 + self.count);
                let zero = Tensor::zeros((), values.dtype, ctx.device())?;
                put(&grad, self.dim, &ids, &zero.broadcast_as(values.shape())?, false)
            }
        })?;
        let values = ctx.when(1 + self.count, || super::index_get::get(&grad, self.dim, &ids))?;
        let mut grads: Grads = SmallVec::from_elem(None, 2 + self.count);
        (grads[0], grads[1 + self.count]) = (x, values);
        Ok(grads)
    }
}

/// Values written, or added, at tuples of indices into the dimensions from `dim` on.
#[track_caller]
pub(super) fn put(x: &Tensor, dim: usize, ids: &[Tensor], values: &Tensor, accumulate: bool) -> Result<Tensor> {
    let inputs: SmallVec<[&Tensor; 5]> = [x].into_iter().chain(ids).chain([values]).collect();
    dispatch1(&IndexPut { dim, count: ids.len(), accumulate }, &inputs)
}

/// A copy of `input` with `values` written at the elements that index tensors name together, or added with `accumulate`; see
/// [`index_get`](fn@crate::functional::index_get). The values are broadcast. Of several writes to one place the last stays; sums are always
/// in the same order.
///
/// # Errors
/// For an index out of range, no indices, and shapes or dtypes that do not go together.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.0, 3.0], &Device::Cpu)?;
/// let (ids, values) = (Tensor::new(&[2i64, 2, 0], &Device::Cpu)?, Tensor::new(10f32, &Device::Cpu)?);
/// let y = opforge::functional::index_put(&x, &[Some(ids)], &values, true)?;
/// assert_eq!(y.to_vec1::<f32>()?, [11.0, 2.0, 23.0]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(accumulate = false)]
#[python(torch, method)]
#[operator(DTypes::ALL, samples, IndexPut)]
pub fn index_put(input: &Tensor, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result<Tensor> {
    index_put_to(input, indices, values, accumulate, None)
}

/// [`index_put`] with a destination.
#[track_caller]
pub(crate) fn index_put_to(
    input: &Tensor,
    indices: &[Option<Tensor>],
    values: &Tensor,
    accumulate: bool,
    out: Out<'_>,
) -> Result<Tensor> {
    const OP: &str = "index_put";
    let Some(s) = Selection::new(OP, input, indices)? else { return Err(no_indices()) };
    let values = s.values(OP, values)?;
    if s.tensor.id() == input.id() {
        let inputs: SmallVec<[&Tensor; 5]> = [input].into_iter().chain(&s.ids).chain([&values]).collect();
        return dispatch_to(&IndexPut { dim: s.dim, count: s.ids.len(), accumulate }, &inputs, out);
    }
    s.undo(&put(&s.tensor, s.dim, &s.ids, &values, accumulate)?, input)
}

fn no_indices() -> Error {
    Error::value("index_put", "indices", "none", "at least one index tensor")
}

impl Tensor {
    /// Writes, or adds, `values` in place at the elements that index tensors name together: see [`index_put`]. Where gradients are recorded
    /// this tensor becomes the result of [`index_put`].
    ///
    /// # Errors
    /// As [`index_put`]; for read-only memory and elements that share memory.
    #[track_caller]
    pub fn index_put_set(&self, indices: &[Option<Tensor>], values: &Tensor, accumulate: bool) -> Result<()> {
        if is_grad_enabled() && (self.requires_grad() || values.requires_grad()) {
            return self.copy_from(&index_put(self, indices, values, accumulate)?);
        }
        let Some(s) = Selection::new("index_put", &self.detach(), indices)? else { return Err(no_indices()) };
        let own = if values.shares_storage(self) { values.copy()? } else { values.clone() };
        let values = s.values("index_put", &own)?;
        let ids = s.ids.iter().map(|ids| if ids.shares_storage(self) { ids.copy() } else { Ok(ids.clone()) });
        let ids = ids.collect::<Result<Vec<_>>>()?;
        let summed_wider = accumulate && matches!(self.dtype(), DType::F16 | DType::BF16);
        if summed_wider && !s.tensor.is_contiguous() {
            return s.tensor.copy_from(&put(&s.tensor, s.dim, &ids, &values, accumulate)?);
        }
        let inputs: SmallVec<[&Tensor; 5]> = [&s.tensor].into_iter().chain(&ids).chain([&values]).collect();
        dispatch_into(&IndexPut { dim: s.dim, count: ids.len(), accumulate }, &inputs, &[&s.tensor])
    }
}

fn samples() -> Vec<Sample> {
    let distinct =
        |shape: &[usize], data: &[f64]| Array { content: Content::Index, ..Array::new(shape, data.to_vec()) };
    let inputs = vec![
        Array::spread(&[3, 4, 2], -2.0..2.0),
        distinct(&[3], &[2.0, 0.0, 1.0]),
        distinct(&[3], &[1.0, 3.0, 1.0]),
        Array::spread(&[3, 2], -2.0..2.0),
    ];
    let set = Sample::new(IndexPut { dim: 0, count: 2, accumulate: false }, inputs, |x| {
        let mut out = x[0].clone();
        let place = |i: &[usize]| (x[1].at(&i[..1]) as usize * 4 + x[2].at(&i[..1]) as usize) * 2 + i[1];
        each_index(&[3, 2], |i| out.data[place(i)] = x[3].at(i));
        out
    });
    let inputs = vec![Array::spread(&[2, 3], -2.0..2.0), Array::indices(&[5], 3), Array::spread(&[2, 5], -2.0..2.0)];
    let add = Sample::new(IndexPut { dim: 1, count: 1, accumulate: true }, inputs, |x| {
        let mut out = x[0].clone();
        each_index(&[2, 5], |i| out.data[i[0] * 3 + x[1].at(&i[1..]) as usize] += x[2].at(i));
        out
    });
    vec![set, add.computing()]
}
