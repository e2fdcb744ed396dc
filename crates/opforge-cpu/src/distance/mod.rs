//! Distances between rows, and their gradient.

mod between;
mod gradient;
mod norm;
mod places;

use std::sync::Arc;

use opforge_core::{DType, Error, Layout, Meta, Result, Shape};
use opforge_runtime::HostKernel;
use opforge_tile::forms::Distances;
use smallvec::SmallVec;

use crate::loops::plan::{LoopDim, LoopDims, merge};
use crate::matmul::operand::Operand;
use crate::simd::FloatElem;
use crate::simd::stored::StoredFloat;
use between::Between;
use gradient::Gradient;
use norm::Order;
use places::Places;

/// What distances are computed of, and in.
pub(crate) trait Number: FloatElem + StoredFloat<Compute = Self> + Operand<Acc = Self> {}
impl<F: FloatElem + StoredFloat<Compute = F> + Operand<Acc = F>> Number for F {}

/// Rows of a matrix in memory: how many, and the distances between rows and between elements of one.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    row: usize,
    column: usize,
}

/// The kernel for what a form says, of f32 or f64 of any strides.
///
/// Sums are those of blocks, added up, whose order does not depend on the number of threads.
///
/// # Errors
/// Other dtypes, and shapes that do not go together.
pub fn distances(op: &'static str, form: Distances, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn HostKernel>> {
    check(op, form, inputs, output)?;
    match output.dtype {
        DType::F32 => prepare::<f32>(op, form, inputs, output),
        DType::F64 => prepare::<f64>(op, form, inputs, output),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

fn prepare<F: Number>(
    op: &'static str,
    form: Distances,
    inputs: &[&Meta],
    output: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let order = Order::of(form.order.to_f64());
    let lead = if form.pairs { &[] } else { &output.dims()[..output.rank() - 2] };
    let (x, y) = sides(form, inputs);
    let places = |strides| Places::new(form.pairs, x.dims()[0], strides);
    let rows = |meta: &Meta, [row, column]: [usize; 2]| Rows { count: meta.dims()[meta.rank() - 2], row, column };
    let width = x.dims()[x.rank() - 1];
    if form.gradient {
        let tensors = [inputs[0], x, y, inputs[inputs.len() - 1], output];
        let (batches, [g, of_x, of_y, d, dx]) = batched(op, lead, tensors)?;
        let (x, y) = (rows(x, of_x), rows(y, of_y));
        let dx = Rows { count: x.count, row: dx[0], column: dx[1] };
        Ok(Gradient::<F>::new(order, batches, [x, y, dx], [places(g), places(d)], width).prepare())
    } else {
        let (batches, [of_x, of_y, d]) = batched(op, lead, [x, y, output])?;
        Ok(Between::<F>::new(order, batches, [rows(x, of_x), rows(y, of_y)], places(d), width).prepare())
    }
}

/// The matrices of rows among the inputs.
fn sides<'a>(form: Distances, inputs: &[&'a Meta]) -> (&'a Meta, &'a Meta) {
    let first = usize::from(form.gradient);
    (inputs[first], inputs[first + usize::from(!form.pairs)])
}

/// Loops over leading dimensions, to which those of all tensors are broadcast, and the strides of each one's last two dimensions; a vector is a row.
fn batched<const N: usize>(
    op: &'static str,
    lead: &[usize],
    tensors: [&Meta; N],
) -> Result<(LoopDims<N>, [[usize; 2]; N])> {
    let stretched = |meta: &Meta| -> Result<Layout> {
        let own = if meta.rank() == 1 { meta.layout.unsqueeze(0)? } else { meta.layout.clone() };
        let shape: Shape = lead.iter().chain(&own.dims()[own.dims().len() - 2..]).copied().collect();
        own.broadcast_as(&shape, op)
    };
    let layouts = tensors.into_iter().map(stretched).collect::<Result<SmallVec<[Layout; 5]>>>()?;
    let stride = |k: usize, d: usize| layouts[k].stride()[d];
    let dim = |(d, &len): (usize, &usize)| LoopDim { len, stride: std::array::from_fn(|k| stride(k, d)) };
    let mut dims: LoopDims<N> = lead.iter().enumerate().map(dim).collect();
    merge(&mut dims);
    Ok((dims, std::array::from_fn(|k| [stride(k, lead.len()), stride(k, lead.len() + 1)])))
}

fn check(op: &'static str, form: Distances, inputs: &[&Meta], output: &Meta) -> Result<()> {
    let count = 1 + usize::from(!form.pairs) + 2 * usize::from(form.gradient);
    if inputs.len() != count {
        return Err(Error::value(op, "inputs", inputs.len(), format!("{count} tensors")));
    }
    if let Some(other) = inputs.iter().find(|input| input.dtype != output.dtype) {
        return Err(Error::dtypes(op, other.dtype, output.dtype));
    }
    let (x, y) = sides(form, inputs);
    let distances = if form.gradient { [inputs[0], inputs[count - 1]] } else { [output; 2] };
    let fits = match (x.dims(), y.dims()) {
        ([n, _], _) if form.pairs => {
            distances.iter().all(|d| d.dims() == &[n.saturating_mul(n.saturating_sub(1)) / 2][..])
        }
        ([.., n, width], [.., m, other]) => {
            width == other && distances.iter().all(|d| d.dims().ends_with(&[*n, *m])) && output.rank() >= 2
        }
        _ => false,
    };
    match fits && (!form.gradient || output.dims().ends_with(&x.dims()[x.rank() - 2..])) {
        true => Ok(()),
        false => {
            Err(Error::shapes(op, x.shape(), y.shape(), "rows of one width, and a distance for each pair of them"))
        }
    }
}
