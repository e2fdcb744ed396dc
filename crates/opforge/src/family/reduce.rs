//! The family of reductions over dimensions.

use std::fmt::Debug;
use std::hash::Hash;

use opforge_core::MAX_RANK;
use opforge_core::term::{Term, unexpected};
use smallvec::{SmallVec, smallvec};

use super::ensure;
use crate::autograd::Backward;
use crate::declaration::{Array, Sample, each_index};
use crate::dispatch::dispatch1;
use crate::operator::{
    Attributes, AxisMap, Grads, Linearity, Lowering, Metas, Operator, Reader, Role, Saves, Tensors, arity,
};
use crate::{DType, Dim, Error, Meta, Result, Shape, Tensor};

/// A set of dimensions, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Axes(u32);

impl Attributes for Axes {
    fn type_name() -> String {
        "Axes".to_owned()
    }
    fn write(&self) -> Term {
        self.to_vec().write()
    }
    fn read(term: &Term) -> Result<Self> {
        let dims = Vec::<usize>::read(term)?;
        let is_known = dims.iter().all(|&d| d < MAX_RANK);
        ensure(is_known, || unexpected("Axes", term, &format!("dimensions below {MAX_RANK}")))?;
        Ok(Axes::of(&dims))
    }
}

impl Axes {
    /// The set of these dimensions.
    pub fn of(dims: &[usize]) -> Self {
        Axes(dims.iter().fold(0, |bits, d| bits | 1 << d))
    }
    /// The first `rank` dimensions.
    pub fn all(rank: usize) -> Self {
        Axes(((1u64 << rank) - 1) as u32)
    }
    /// The set with one more dimension.
    pub fn with(self, dim: usize) -> Self {
        Axes(self.0 | 1 << dim)
    }
    /// The set with a dimension if it is without it, else without.
    pub fn toggled(self, dim: usize) -> Self {
        Axes(self.0 ^ 1 << dim)
    }
    /// Whether a dimension is in the set.
    pub fn contains(self, dim: usize) -> bool {
        self.0 & (1 << dim) != 0
    }
    /// The dimensions, ascending.
    pub fn to_vec(self) -> SmallVec<[usize; 6]> {
        (0..32).filter(|&d| self.contains(d)).collect()
    }
    /// The shape that reducing these dimensions leaves.
    pub fn reduced(self, shape: &Shape, keepdim: bool) -> Shape {
        let length = |(d, &n): (usize, &usize)| match (self.contains(d), keepdim) {
            (false, _) => Some(n),
            (true, true) => Some(1),
            (true, false) => None,
        };
        shape.dims().iter().enumerate().filter_map(length).collect()
    }
    /// The number of elements that reducing these dimensions combines into one.
    pub fn count(self, shape: &Shape) -> usize {
        shape.dims().iter().enumerate().filter(|(d, _)| self.contains(*d)).map(|(_, &n)| n).product()
    }
}

/// A reduction of some dimensions to one element each. Its file gives the mathematics and the derivative.
pub trait Reduction: Copy + Debug + Eq + Hash + Attributes + Send + Sync + 'static {
    /// The operator's name.
    const NAME: &'static str;
    /// What reads the function's operators from text.
    const READERS: &'static [Reader] = &[Reader::of::<ReduceOp<Self>>()];
    /// What the derivative reads.
    const SAVES: Saves = Saves::NOTHING;
    /// Whether reducing no elements has a result.
    const OF_NOTHING: bool = true;
    /// What may be done along a reduced dimension.
    const ROLE: Role = Role::Whole;
    /// Whether there is a gradient.
    const DIFFERENTIABLE: bool = true;
    /// What is computed along `axes`.
    fn lower(&self, input: &Meta, axes: &[usize], output: &Meta) -> Result<Lowering>;
    /// The result's dtype.
    fn dtype(&self, input: DType) -> DType {
        input
    }
    /// The same by other reductions, whose parts can be combined where those of this one cannot.
    fn decompose(&self, _input: &Tensor, _axes: Axes, _keepdim: bool) -> Option<Result<Tensor>> {
        None
    }
    /// The input's gradient; only asked of differentiable ones.
    fn derivative(&self, of: &Reduced<'_, '_>) -> Result<Tensor> {
        let _ = of;
        Err(Error::autograd(Self::NAME, "gradient", "requested", "a differentiable reduction"))
    }
}

/// What a reduction's derivative sees: everything in the input's shape.
pub struct Reduced<'a, 'b> {
    ctx: &'a Backward<'b>,
    axes: Axes,
}

impl Reduced<'_, '_> {
    fn expanded(&self, t: &Tensor) -> Result<Tensor> {
        let shape = self.ctx.input_meta(0).shape();
        t.reshape(self.axes.reduced(shape, true))?.broadcast_as(shape)
    }
    /// The input.
    pub fn input(&self) -> Result<Tensor> {
        self.ctx.input(0)
    }
    /// The output, repeated along the reduced dimensions.
    pub fn output(&self) -> Result<Tensor> {
        self.expanded(&self.ctx.output(0)?)
    }
    /// The output's gradient, repeated along the reduced dimensions, in the input's dtype.
    pub fn grad(&self) -> Result<Tensor> {
        self.expanded(&self.ctx.grad(0)?.to_dtype(self.ctx.input_meta(0).dtype)?)
    }
    /// Sums over the reduced dimensions and repeats the sums along them.
    pub fn total(&self, t: &Tensor) -> Result<Tensor> {
        t.sum_keepdim(self.axes.to_vec().into_vec())?.broadcast_as(self.ctx.input_meta(0).shape())
    }
    /// The dimensions that are reduced.
    pub fn axes(&self) -> Axes {
        self.axes
    }
    /// The number of elements behind each result.
    pub fn count(&self) -> usize {
        self.axes.count(self.ctx.input_meta(0).shape())
    }
}

/// The operator of a [`Reduction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub struct ReduceOp<R> {
    /// What is computed.
    pub reduction: R,
    /// The dimensions that are reduced.
    pub axes: Axes,
    /// Whether they stay, with length 1.
    pub keepdim: bool,
}

impl<R: Reduction> Operator for ReduceOp<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        arity(R::NAME, inputs, 1)?;
        let input = inputs[0];
        check_axes(R::NAME, self.axes, input.shape())?;
        let shape = self.axes.reduced(input.shape(), self.keepdim);
        if !R::OF_NOTHING && self.axes.count(input.shape()) == 0 && shape.elem_count() > 0 {
            let given = format!("{:?} over dims {:?}", input.shape(), self.axes.to_vec());
            return Err(Error::shape(R::NAME, "input", given, "at least one element to reduce"));
        }
        Ok(smallvec![Meta::contiguous(self.reduction.dtype(input.dtype), shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        reduction_axes(inputs[0], self.axes, self.keepdim, R::ROLE)
    }

    fn lower(&self, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Lowering> {
        self.reduction.lower(inputs[0], &self.axes.to_vec(), outputs[0])
    }

    fn linearity(&self) -> Linearity {
        if R::ROLE == Role::Sum { Linearity::Jointly } else { Linearity::None }
    }

    fn decompose(&self, inputs: &[&Tensor]) -> Option<Result<Tensors>> {
        let result = self.reduction.decompose(inputs[0], self.axes, self.keepdim)?;
        Some(result.map(|output| smallvec![output]))
    }

    fn saves(&self) -> Saves {
        R::SAVES
    }

    fn differentiable(&self) -> bool {
        R::DIFFERENTIABLE
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        Ok(smallvec![Some(self.reduction.derivative(&Reduced { ctx, axes: self.axes })?)])
    }
}

/// Reduces one dimension.
#[track_caller]
pub(crate) fn reduce_dim<R: Reduction, D: Dim>(reduction: R, x: &Tensor, dim: D, keepdim: bool) -> Result<Tensor> {
    let dim = dim.to_index(x.shape(), R::NAME)?;
    if !R::OF_NOTHING && x.dims()[dim] == 0 && (0..x.rank()).all(|d| d == dim || x.dims()[d] > 0) {
        return Err(Error::EmptyTensor { op: R::NAME }.bt());
    }
    let axes = Axes::of(&[dim]);
    dispatch1(&ReduceOp { reduction, axes, keepdim }, &[x])
}

/// Reduces dimensions as Python gives them: all without `dim` or with an empty list.
#[track_caller]
pub(crate) fn reduce_over<R: Reduction>(r: R, x: &Tensor, dim: Option<&[i64]>, keepdim: bool) -> Result<Tensor> {
    let axes = reduce_dims(R::NAME, x, dim)?;
    dispatch1(&ReduceOp { reduction: r, axes, keepdim }, &[x])
}

/// Refuses dimensions that the shape does not have.
pub(crate) fn check_axes(op: &'static str, axes: Axes, shape: &Shape) -> Result<()> {
    ensure(axes.0.checked_shr(shape.rank() as u32).unwrap_or(0) == 0, || {
        Error::index(op, "dim", format!("{:?}", axes.to_vec()), format!("dimensions of {shape:?}"))
    })
}

/// The axis map of a reduction.
fn reduction_axes(input: &Meta, axes: Axes, keepdim: bool, role: Role) -> AxisMap {
    let dims = axes.to_vec();
    let mut map = AxisMap::pointwise(&[input], input.rank()).with_roles(&dims, role);
    if !keepdim {
        return map.dropping(&dims);
    }
    dims.iter().for_each(|&d| map.outputs[0][d] = None);
    map
}

/// Samples of a reduction over several sets of dimensions; the reference gets the elements that one result is made of.
pub fn reduction_samples<R: Reduction>(reduction: R, reference: fn(&[f64]) -> f64) -> Vec<Sample> {
    let cases: [(&[usize], &[usize], bool); 6] = [
        (&[3, 4], &[1], false),
        (&[3, 4], &[0], true),
        (&[2, 3, 4], &[0, 2], false),
        (&[2, 3, 4], &[1], true),
        (&[5], &[0], false),
        (&[], &[], false),
    ];
    let sample = |(shape, dims, keepdim): (&'static [usize], &[usize], bool)| {
        let axes = Axes::of(dims);
        let op = ReduceOp { reduction, axes, keepdim };
        Sample::new(op, vec![Array::spread(shape, 0.4..2.0)], move |x| reduce_array(&x[0], axes, keepdim, reference))
    };
    cases.into_iter().map(sample).collect()
}

/// The naive reduction of an array.
pub fn reduce_array(x: &Array, axes: Axes, keepdim: bool, f: impl Fn(&[f64]) -> f64) -> Array {
    let shape = Shape::from(&x.shape[..]);
    let kept = axes.reduced(&shape, true);
    let mut groups = vec![Vec::new(); kept.elem_count()];
    each_index(&x.shape, |index| {
        let own: Vec<usize> = (0..index.len()).map(|d| if axes.contains(d) { 0 } else { index[d] }).collect();
        let flat = kept.dims().iter().zip(&own).fold(0, |flat, (&d, &i)| flat * d + i);
        groups[flat].push(x.at(index));
    });
    let out = axes.reduced(&shape, keepdim);
    Array::new(out.dims(), groups.iter().map(|g| f(g)).collect())
}

/// The dimensions of a reduction as Python gives them: all without `dim` or with an empty list.
pub(crate) fn reduce_dims(op: &'static str, input: &Tensor, dim: Option<&[i64]>) -> Result<Axes> {
    let Some(dims) = dim.filter(|dims| !dims.is_empty()) else {
        return Ok(Axes::all(input.rank()));
    };
    let mut axes = Axes::default();
    for &dim in dims {
        let d = opforge_core::normalize_dim(dim, input.rank(), op)?;
        ensure(!axes.contains(d), || Error::index(op, "dim", format!("{dims:?}"), "each dimension at most once"))?;
        if d < input.rank() {
            axes = axes.with(d);
        }
    }
    Ok(axes)
}
