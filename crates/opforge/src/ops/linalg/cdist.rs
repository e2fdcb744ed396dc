//! `cdist(x1, x2)`: the distances between the rows of two matrices.

use opforge_tile::forms::Distances;

use crate::autograd::sum_to;
use crate::functional as f;
use crate::functional::linalg::distance::{away_from_zero, p_norm};
use crate::ops::prelude::*;

/// The operator of [`cdist`]: `[.., n, width]` and `[.., m, width]`, leading dimensions broadcast, to `[.., n, m]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct Cdist {
    /// The norm's order, 0 or more.
    pub order: Scalar,
}

const ACCEPTED: &str = "[.., n, width] and [.., m, width] of one dtype";

impl Plain for Cdist {
    const NAME: &'static str = "cdist";
    const INPUTS: usize = 2;
    const SAVES: Saves = Saves { inputs: u32::MAX, outputs: u32::MAX };

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let [x, y] = [inputs[0], inputs[1]];
        let mismatch = || Error::shapes(Self::NAME, x.shape(), y.shape(), ACCEPTED);
        check_computed(Self::NAME, inputs)?;
        let ([lead_x @ .., n, width], [lead_y @ .., m, other]) = (x.dims(), y.dims()) else { return Err(mismatch()) };
        ensure(width == other, mismatch)?;
        let lead = Shape::from(lead_x).broadcast(&lead_y.into(), Self::NAME).map_err(|_| mismatch())?;
        let shape: Shape = lead.dims().iter().copied().chain([*n, *m]).collect();
        shape.check(Self::NAME, x.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(x.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        const LAST: [[Axis; 2]; 3] = [[N, WIDTH], [M, WIDTH], [N, M]];
        matrix_axes(inputs, &LAST, [Role::Map, Role::Map, width_role(self.order)])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Distances(Distances { order: self.order, pairs: false, gradient: false })
    }

    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        if self.order.to_f64() == 0.0 {
            return Ok(smallvec![ctx.when(0, || ctx.zeros(0))?, ctx.when(1, || ctx.zeros(1))?]);
        }
        let (x, y, distances, grad) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?, ctx.grad(0)?);
        let of_first = |i: usize, call: [&Tensor; 4]| sum_to(&self.gradient(call)?, ctx.input_meta(i).shape());
        let of_x = ctx.when(0, || of_first(0, [&grad, &x, &y, &distances]))?;
        let of_y = ctx.when(1, || of_first(1, [&grad.t()?, &y, &x, &distances.t()?]))?;
        Ok(smallvec![of_x, of_y])
    }
}

impl Cdist {
    /// The gradient of the first rows, from that of the distances, both matrices and the distances.
    fn gradient(&self, [grad, x, y, distances]: [&Tensor; 4]) -> Result<Tensor> {
        if !is_grad_enabled() {
            return dispatch1(&CdistGrad { order: self.order }, &[grad, x, y, distances]);
        }
        let last = distances.rank();
        let shares = shares(self.order, &grad.unsqueeze(last)?, &differences(x, y)?, &distances.unsqueeze(last)?)?;
        shares.sum(shares.rank() - 2)
    }
}

/// The gradient of [`Cdist`] with respect to the first rows, from that of the distances, both matrices and the distances. Only called where nothing is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
struct CdistGrad {
    /// The norm's order, above 0.
    order: Scalar,
}

impl Plain for CdistGrad {
    const NAME: &'static str = "cdist_grad";
    const INPUTS: usize = 4;
    const DIFFERENTIABLE: bool = false;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let [grad, x, y, distances] = [inputs[0], inputs[1], inputs[2], inputs[3]];
        check_computed(Self::NAME, inputs)?;
        let of_rows = Plain::infer(&Cdist { order: self.order }, &[x, y])?;
        let fits = [grad, distances].iter().all(|meta| meta.shape() == of_rows[0].shape());
        ensure(fits, || Error::shapes(Self::NAME, grad.shape(), of_rows[0].shape(), "a number for each distance"))?;
        let lead = &grad.dims()[..grad.rank() - 2];
        let shape: Shape = lead.iter().chain(&x.dims()[x.rank() - 2..]).copied().collect();
        shape.check(Self::NAME, x.dtype.size_in_bytes())?;
        Ok(smallvec![Meta::contiguous(x.dtype, shape)])
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        const LAST: [[Axis; 2]; 5] = [[N, M], [N, WIDTH], [M, WIDTH], [N, M], [N, WIDTH]];
        matrix_axes(inputs, &LAST, [Role::Map, Role::Sum, Role::Map])
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Distances(Distances { order: self.order, pairs: false, gradient: true })
    }
}

/// Axes behind the leading ones: the first rows, the second rows, and their elements.
const N: Axis = 0;
const M: Axis = 1;
const WIDTH: Axis = 2;

/// Leading axes that are broadcast, and behind them those of `last` for each tensor, inputs first; these have roles.
fn matrix_axes(inputs: &[&Meta], last: &[[Axis; 2]], roles: [Role; 3]) -> AxisMap {
    let rank = inputs.iter().map(|meta| meta.rank()).max().unwrap_or(2);
    let lead = rank - 2;
    let mut map = AxisMap::pointwise(inputs, rank);
    for (names, last) in map.inputs.iter_mut().chain(&mut map.outputs).zip(last) {
        names.truncate(names.len() - 2);
        names.extend(last.map(|axis| Some(lead as Axis + axis)));
    }
    map.roles.truncate(lead);
    map.roles.extend(roles);
    map
}

/// What parts of the rows' elements give.
pub(super) fn width_role(order: Scalar) -> Role {
    match order.to_f64() {
        0.0 | 1.0 => Role::Sum,
        f64::INFINITY => Role::Max,
        _ => Role::Whole,
    }
}

/// Fails unless all inputs are of f32, or of f64.
pub(super) fn check_computed(op: &'static str, inputs: &[&Meta]) -> Result<()> {
    inputs.iter().try_for_each(|input| check_dtypes(op, inputs[0], input))?;
    let dtype = inputs[0].dtype;
    ensure(matches!(dtype, DType::F32 | DType::F64), || Error::dtype(op, "input", dtype, "f32 or f64"))
}

/// What differences, `[.., width]`, have in the gradients of distances, `[.., 1]`, made of operators: see [`Distances`].
pub(super) fn shares(order: Scalar, grad: &Tensor, differences: &Tensor, distances: &Tensor) -> Result<Tensor> {
    let none = distances.eq(0.0)?;
    let norms = none.where_cond(&distances.ones_like()?, distances)?;
    let mut grad = none.where_cond(&grad.zeros_like()?, grad)?;
    let rest = differences.detach();
    let sign = rest.ne(&rest)?.where_cond(&rest, &rest.sign()?)?;
    let slopes = match order.to_f64() {
        2.0 => differences.broadcast_div(&norms)?,
        f64::INFINITY => {
            grad = distances.ne(distances)?.where_cond(distances, &grad)?;
            rest.abs()?.broadcast_lt(distances)?.where_cond(&sign.zeros_like()?, &sign)?
        }
        p => {
            let ratios = differences.abs()?.broadcast_div(&norms)?;
            away_from_zero(&ratios, |ratios| ratios.powf(p - 1.0))?.mul(&sign)?
        }
    };
    slopes.broadcast_mul(&grad)
}

/// `[.., n, m, width]` of `[.., n, width]` and `[.., m, width]`.
#[track_caller]
fn differences(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    x.unsqueeze(x.rank() - 1)?.broadcast_sub(&y.unsqueeze(y.rank() - 2)?)
}

/// The distances, norms of order `p`, between all rows of `x1` (`[.., n, width]`) and of `x2` (`[.., m, width]`): `[.., n, m]`. Leading
/// dimensions are broadcast.
///
/// Of order 2 they can be made of a matrix product: faster, but distances much smaller than the rows' norms lose digits.
/// That is done as `compute_mode` says: `"use_mm_for_euclid_dist"`, `"donot_use_mm_for_euclid_dist"`, or, the default,
/// `"use_mm_for_euclid_dist_if_necessary"`, when `n` or `m` is above 25. f16 and bf16 are computed in f32. Where a distance is 0, so is its gradient.
///
/// # Errors
/// For shapes that do not go together, and another mode.
///
/// ```
/// # use opforge::{Device, Tensor, functional as f};
/// let (x, y) = (Tensor::new(&[[3f32, 0.0]], &Device::Cpu)?, Tensor::new(&[[0f32, 4.0], [3.0, 1.0]], &Device::Cpu)?);
/// assert_eq!(f::cdist(&x, &y, 2.0, None)?.to_vec2::<f32>()?, [[5.0, 1.0]]);
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(p = 2.0, compute_mode = None)]
#[python(torch)]
#[operator(DTypes::of(&[DType::F32, DType::F64]), samples, Cdist, CdistGrad)]
pub fn cdist(x1: &Tensor, x2: &Tensor, p: f64, compute_mode: Option<&str>) -> Result<Tensor> {
    let matrices = x1.rank() >= 2 && x2.rank() >= 2 && x1.dims().last() == x2.dims().last();
    ensure(matrices && x1.dtype() == x2.dtype(), || Error::shapes(OP, x1.shape(), x2.shape(), ACCEPTED))?;
    let p = order(x1, p);
    let by_product = by_product(x1, x2, compute_mode)? && p == 2.0;
    match x1.dtype() {
        half @ (DType::F16 | DType::BF16) => {
            cdist(&x1.to_dtype(DType::F32)?, &x2.to_dtype(DType::F32)?, p, compute_mode)?.to_dtype(half)
        }
        DType::F32 | DType::F64 if by_product => euclidean(x1, x2),
        DType::F32 | DType::F64 if p >= 0.0 => dispatch1(&Cdist { order: p.into() }, &[x1, x2]),
        _ => {
            let differences = differences(x1, x2)?;
            p_norm(&differences, p, differences.rank() - 1, false)
        }
    }
}

/// A norm's order in the precision in which distances are computed: what is infinite there, or 0, is so.
pub(super) fn order(x: &Tensor, p: f64) -> f64 {
    if x.dtype() == DType::F64 { p } else { f64::from(p as f32) }
}

/// Whether `cdist` makes Euclidean distances of a matrix product.
fn by_product(x1: &Tensor, x2: &Tensor, mode: Option<&str>) -> Result<bool> {
    let many = |x: &Tensor| x.dims()[x.rank() - 2] > 25;
    match mode.unwrap_or("use_mm_for_euclid_dist_if_necessary") {
        "use_mm_for_euclid_dist_if_necessary" => Ok(many(x1) || many(x2)),
        "use_mm_for_euclid_dist" => Ok(true),
        "donot_use_mm_for_euclid_dist" => Ok(false),
        other => {
            let accepted = "\"use_mm_for_euclid_dist_if_necessary\", \"use_mm_for_euclid_dist\" or \"donot_use_mm_for_euclid_dist\"";
            Err(Error::value("cdist", "compute_mode", other, accepted))
        }
    }
}

/// The root of `|x|^2 + |y|^2 - 2 x y^T`, all of it one product of wider rows.
#[track_caller]
fn euclidean(x1: &Tensor, x2: &Tensor) -> Result<Tensor> {
    let row = |x: &Tensor| -> Result<[Tensor; 2]> {
        let square = x.sqr()?.sum_keepdim(x.rank() - 1)?;
        Ok([square.ones_like()?, square])
    };
    let ([one1, square1], [one2, square2]) = (row(x1)?, row(x2)?);
    let left = Tensor::cat(&[&x1.affine(-2.0, 0.0)?, &square1, &one1], x1.rank() - 1)?;
    let right = Tensor::cat(&[x2, &one2, &square2], x2.rank() - 1)?;
    let squares = f::matmul(&left, &right.t()?)?.relu()?;
    if is_grad_enabled() && squares.requires_grad() { away_from_zero(&squares, Tensor::sqrt) } else { squares.sqrt() }
}

/// The norm of differences, for references.
pub(super) fn reference_norm(order: f64, differences: impl Iterator<Item = f64>) -> f64 {
    let magnitudes = differences.map(f64::abs);
    match order {
        0.0 => magnitudes.map(|x| if x > 0.0 { 1.0 } else { x }).sum(),
        f64::INFINITY => magnitudes.fold(0.0, |a, b| if a > b || a.is_nan() { a } else { b }),
        p => magnitudes.map(|x| x.powf(p)).sum::<f64>().powf(1.0 / p),
    }
}

fn samples() -> Vec<Sample> {
    let sample = |order: f64, x: &[usize], y: &[usize], out: &[usize]| {
        let out = out.to_vec();
        let inputs = vec![Array::spread(x, -2.0..2.0), Array::spread(y, -1.7..2.1)];
        let sample = Sample::new(Cdist { order: order.into() }, inputs, move |x| {
            let width = *x[0].shape.last().expect("matrices");
            Array::from_fn(&out, |index| {
                let (lead, [i, j]) = (&index[..index.len() - 2], [index[index.len() - 2], index[index.len() - 1]]);
                let at = |x: &Array, row: usize, k: usize| x.at_broadcast(&[lead, &[row, k]].concat());
                reference_norm(order, (0..width).map(|k| at(&x[0], i, k) - at(&x[1], j, k)))
            })
        });
        if order == 0.0 { sample.rough() } else { sample }
    };
    let orders = [0.0, 0.7, 1.0, 2.0, 3.0, f64::INFINITY];
    let mut samples: Vec<Sample> = orders.map(|order| sample(order, &[3, 4], &[2, 4], &[3, 2])).into();
    samples.push(sample(2.0, &[2, 1, 3, 2], &[3, 5, 2], &[2, 3, 3, 5]));
    samples.push(sample(1.0, &[2, 3, 1], &[1, 2, 1], &[2, 3, 2]));
    samples
}
