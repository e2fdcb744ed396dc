//! `reshape(x, shape)`: the same elements in the same order under another shape.

use crate::ops::prelude::*;
use crate::{Dim, ShapeWithOneHole};

/// The view of [`reshape`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Reshape {
    /// The result's shape.
    pub shape: Shape,
}

impl View for Reshape {
    const NAME: &'static str = "reshape";

    fn layout(&self, input: &Layout) -> Result<Layout> {
        let needs_copy =
            || Error::shapes("reshape", input, &self.shape, "a layout that can be viewed so; see contiguous");
        input.reshape(&self.shape)?.ok_or_else(needs_copy)
    }

    fn axes(&self, input: &Meta) -> AxisMap {
        reshape_axes(input.dims(), self.shape.dims())
    }

    fn layout_of_part(&self, input: &Layout, part: &Shape) -> Result<Layout> {
        Reshape { shape: part.clone() }.layout(input)
    }

    fn derivative(&self, grad: &Tensor, input: &Meta) -> Result<Tensor> {
        grad.reshape(input.shape())
    }
}

/// Dimensions with equally many elements before them begin at the same elements: those of one length flow through, the first ones of groups that are
/// divided otherwise do in blocks. Others take no part.
fn reshape_axes(from: &[usize], to: &[usize]) -> AxisMap {
    let mut map = AxisMap {
        inputs: vec![SmallVec::from_elem(None, from.len())],
        outputs: vec![SmallVec::from_elem(None, to.len())],
        roles: SmallVec::new(),
    };
    let (mut before_from, mut j, mut before_to) = (1usize, 0, 1usize);
    for (i, &d) in from.iter().enumerate() {
        while j < to.len() && (before_to < before_from || (to[j] == 1 && d != 1)) {
            before_to *= to[j];
            j += 1;
        }
        if j < to.len() && before_to == before_from && d != 1 {
            let axis = Some(map.roles.len() as Axis);
            map.roles.push(if to[j] == d { Role::Map } else { Role::Blocks });
            (map.inputs[0][i], map.outputs[0][j]) = (axis, axis);
        }
        before_from *= d;
    }
    map
}

/// The same elements in row-major order under another shape, one length of which may be -1. A view where the layout allows it, else a copy.
#[function]
#[view]
#[operator(DTypes::ALL, samples, Reshape)]
pub fn reshape(input: &Tensor, shape: &[i64]) -> Result<Tensor> {
    to_shape(input, resolve(input.elem_count(), shape)?)
}

#[track_caller]
fn to_shape(input: &Tensor, shape: Shape) -> Result<Tensor> {
    if &shape == input.shape() {
        return Ok(input.clone());
    }
    match input.layout().reshape(&shape)? {
        Some(_) => view(Reshape { shape }, input),
        None => view(Reshape { shape }, &input.contiguous()?),
    }
}

/// The shape with its one -1 replaced by the length that makes the count right.
pub(crate) fn resolve(elem_count: usize, shape: &[i64]) -> Result<Shape> {
    let bad = |accepted: &str| Error::shape("reshape", "shape", format!("{shape:?}"), accepted);
    if shape.iter().any(|&n| n < -1) || shape.iter().filter(|&&n| n == -1).count() > 1 {
        return Err(bad("lengths of 0 or more, and at most one -1"));
    }
    let known = shape.iter().filter(|&&n| n >= 0).try_fold(1usize, |p, &n| p.checked_mul(n as usize));
    let known = known.ok_or_else(|| bad("sizes whose product fits the address space"))?;
    let hole = match known {
        0 => 0,
        n if elem_count.is_multiple_of(n) => elem_count / n,
        _ => return Err(bad(&format!("sizes that divide {elem_count} elements"))),
    };
    if known == 0 && shape.contains(&-1) {
        return Err(bad("no -1 beside a length of 0, where it is ambiguous"));
    }
    Ok(shape.iter().map(|&n| if n == -1 { hole } else { n as usize }).collect())
}

impl Tensor {
    /// The same elements in row-major order under another shape, one length of which may be left open, as `()`. A view where the layout
    /// allows it, else a copy.
    #[track_caller]
    pub fn reshape<S: ShapeWithOneHole>(&self, shape: S) -> Result<Tensor> {
        to_shape(self, shape.into_shape(self.elem_count())?)
    }

    /// All dimensions joined into one.
    #[track_caller]
    pub fn flatten_all(&self) -> Result<Tensor> {
        to_shape(self, self.elem_count().into())
    }

    /// Dimensions `start` to `end`, both included, joined into one.
    #[track_caller]
    pub fn flatten<D1: Dim, D2: Dim>(&self, start: D1, end: D2) -> Result<Tensor> {
        if self.rank() == 0 {
            return self.reshape(1);
        }
        let (start, end) = (start.to_index(self.shape(), "flatten")?, end.to_index(self.shape(), "flatten")?);
        if start >= end {
            return Ok(self.clone());
        }
        let dims = self.dims();
        let joined: usize = dims[start..=end].iter().product();
        to_shape(self, dims[..start].iter().copied().chain([joined]).chain(dims[end + 1..].iter().copied()).collect())
    }

    /// Dimensions from the first to `end` joined into one.
    #[track_caller]
    pub fn flatten_to<D: Dim>(&self, end: D) -> Result<Tensor> {
        self.flatten(0, end)
    }

    /// Dimensions from `start` to the last joined into one.
    #[track_caller]
    pub fn flatten_from<D: Dim>(&self, start: D) -> Result<Tensor> {
        self.flatten(start, crate::D::Minus1)
    }
}

fn samples() -> Vec<Sample> {
    let inputs = vec![Array::spread(&[2, 3, 2], -2.0..2.0)];
    let reshaped = |x: &[Array]| Array::new(&[3, 4], x[0].data.clone());
    let function = Sample::composed("reshape", |x| x[0].reshape((3, 4)), inputs, reshaped);
    vec![view_sample(Reshape { shape: [2, 6].into() }, &[3, 4], |x| Array::new(&[2, 6], x.data.clone())), function]
}
