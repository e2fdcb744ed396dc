//! What operators on matrices share: the last two dimensions are a matrix each, those before are a batch.

use smallvec::SmallVec;

use super::{check_dtypes, wrong_shape};
use crate::arguments::Operand;
use crate::declaration::Array;
use crate::operator::{Axis, AxisMap, Role};
use crate::{DType, Error, Meta, Result, Shape, Tensor};

/// The lengths before the last two, the rows and the columns.
pub(crate) fn matrices<'a>(op: &'static str, a: &'a Meta) -> Result<(&'a [usize], usize, usize)> {
    match a.dims() {
        [lead @ .., rows, columns] => Ok((lead, *rows, *columns)),
        _ => Err(wrong_shape(op, "A", a.shape(), "matrices: at least two dimensions")),
    }
}

/// Refuses what holds no square matrices in its last two dimensions.
pub(crate) fn square(op: &'static str, a: &Meta) -> Result<usize> {
    match *a.dims() {
        [.., rows, columns] if rows == columns => Ok(rows),
        _ => Err(wrong_shape(op, "A", a.shape(), "square matrices")),
    }
}

/// Refuses operands other than `[.., n, n]` and `[.., n, k]` of one dtype and batch.
pub(crate) fn right_hand_side(op: &'static str, a: &Meta, b: &Meta) -> Result<()> {
    let n = square(op, a)?;
    let lead = a.rank() - 2;
    if b.rank() != a.rank() || b.dims()[..lead] != a.dims()[..lead] || b.dims()[lead] != n {
        return Err(Error::shapes(op, a.shape(), b.shape(), "[.., n, n] and [.., n, k]"));
    }
    check_dtypes(op, a, b)
}

/// The axes of a batch are independent; `outputs` says how many more dimensions each output has.
pub(crate) fn batch_axes(inputs: &[&Meta], outputs: &[usize]) -> AxisMap {
    let lead = inputs[0].rank() - 2;
    let names = |more: usize| (0..lead as Axis).map(Some).chain(vec![None; more]).collect::<SmallVec<_>>();
    AxisMap {
        inputs: inputs.iter().map(|meta| names(meta.rank() - lead)).collect(),
        outputs: outputs.iter().map(|&more| names(more)).collect(),
        roles: SmallVec::from_elem(Role::Map, lead),
    }
}

/// The axes of [`right_hand_side`]'s operands: of the batch, and of the columns that are solved for one by one.
pub(crate) fn solve_axes(inputs: &[&Meta]) -> AxisMap {
    let lead = inputs[0].rank() - 2;
    let mut map = batch_axes(inputs, &[2]);
    map.inputs[1][lead + 1] = Some(lead as Axis);
    map.outputs[0][lead + 1] = Some(lead as Axis);
    map.roles.push(Role::Map);
    map
}

/// Two tensors of matrices over their common batch.
#[track_caller]
pub(crate) fn over_batch(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let lead = |t: &Tensor| Shape::from(&t.dims()[..t.rank().saturating_sub(2)]);
    let batch = lead(a).broadcast(&lead(b), op)?;
    let over = |t: &Tensor| {
        let last = &t.dims()[t.rank().saturating_sub(2)..];
        t.broadcast_as([batch.dims(), last].concat())
    };
    Ok((over(a)?, over(b)?))
}

/// The identity, to be broadcast.
pub(crate) fn identity(like: &Tensor, n: usize) -> Result<Tensor> {
    Tensor::eye(n, like.dtype(), like.device())
}

/// The dtype of what is real also of complex matrices: singular values and those of Hermitian matrices.
pub(crate) fn real_dtype(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}

/// The default of relative tolerances, numpy's: the dtype's epsilon times the longer side.
pub(crate) fn default_rtol(a: &Tensor) -> f64 {
    let wide = matches!(a.dtype(), DType::F64 | DType::C128);
    let epsilon = if wide { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let side = a.dims().iter().rev().take(2).max().copied().unwrap_or(0);
    epsilon * side as f64
}

/// The relative tolerance that is given, or the default if there is no absolute one either.
pub(crate) fn rtol_or_default<'a>(a: &Tensor, atol: &Option<Operand<'_>>, rtol: Option<Operand<'a>>) -> Operand<'a> {
    let none = |atol: &Operand<'_>| matches!(atol, Operand::Scalar(x) if x.as_real() == Some(0.0));
    rtol.unwrap_or_else(|| if atol.as_ref().is_none_or(none) { default_rtol(a).into() } else { 0.0.into() })
}

/// A number for each matrix of a batch, `[..]`.
#[track_caller]
pub(crate) fn number_each(op: &'static str, a: &Tensor, number: Operand<'_>) -> Result<Tensor> {
    let (lead, ..) = matrices(op, a.meta())?;
    match number {
        Operand::Scalar(x) => {
            let real = x.as_real().ok_or_else(|| Error::dtype(op, "tolerance", x, "a real number"))?;
            Tensor::full(real, lead, a.device())?.to_dtype(a.dtype())
        }
        Operand::Tensor(t) => t.to_dtype(a.dtype())?.broadcast_as(lead),
    }
}

/// A well-conditioned sample `[2, m, n]`: values well apart on the diagonal, small ones elsewhere.
pub(crate) fn sample(m: usize, n: usize) -> Array {
    let noise = Array::spread(&[2, m, n], -0.5..0.5);
    Array::from_fn(&[2, m, n], |i| noise.at(i) + if i[1] == i[2] { 1.0 + 2.0 * i[1] as f64 } else { 0.0 })
}

/// `A^T A` and such of references' arrays: the product of two of a batch.
pub(crate) fn product(a: &Array, b: &Array) -> Array {
    let (rows, inner, columns) = (a.shape[1], a.shape[2], b.shape[2]);
    Array::from_fn(&[a.shape[0], rows, columns], |i| {
        (0..inner).map(|k| a.at(&[i[0], i[1], k]) * b.at(&[i[0], k, i[2]])).sum()
    })
}

/// Each matrix transposed.
pub(crate) fn turned(a: &Array) -> Array {
    Array::from_fn(&[a.shape[0], a.shape[2], a.shape[1]], |i| a.at(&[i[0], i[2], i[1]]))
}

/// `U`, `S` and `V^T` of references' arrays `[b, m, n]`, up to signs, by Hestenes's one-sided rotations: they make the columns orthogonal.
pub(crate) fn reference_svd(a: &Array) -> [Array; 3] {
    let [batch, m, n] = a.shape[..] else { panic!("a batch of matrices") };
    if m < n {
        let [u, s, vt] = reference_svd(&turned(a));
        return [turned(&vt), s, turned(&u)];
    }
    let (mut u, mut v) = (a.clone(), Array::from_fn(&[batch, n, n], |i| f64::from(i[1] == i[2])));
    for b in 0..batch {
        for (p, q) in (0..30).flat_map(|_| (0..n).flat_map(move |p| (p + 1..n).map(move |q| (p, q)))) {
            let dot = |x: &Array, p, q| (0..m).map(|i| x.at(&[b, i, p]) * x.at(&[b, i, q])).sum::<f64>();
            let angle = 0.5 * (2.0 * dot(&u, p, q)).atan2(dot(&u, p, p) - dot(&u, q, q));
            for x in [&mut u, &mut v] {
                for i in 0..x.shape[1] {
                    let at = |j| (b * x.shape[1] + i) * n + j;
                    let (xp, xq) = (x.data[at(p)], x.data[at(q)]);
                    x.data[at(p)] = angle.cos() * xp + angle.sin() * xq;
                    x.data[at(q)] = angle.cos() * xq - angle.sin() * xp;
                }
            }
        }
    }
    // The angles bring the longer column to the front.
    let s = Array::from_fn(&[batch, n], |i| (0..m).map(|k| u.at(&[i[0], k, i[1]]).powi(2)).sum::<f64>().sqrt());
    let unit = Array::from_fn(&[batch, m, n], |i| u.at(i) / s.at(&[i[0], i[2]]));
    [unit, s, turned(&v)]
}
