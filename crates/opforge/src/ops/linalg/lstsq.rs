//! `lstsq(A, B) = X` with the least `|A X - B|`.
#![allow(non_snake_case, reason = "parameters are named as in Python")]

use opforge_tile::forms::Dense;

use super::pinv::{gradient, pinv};
use crate::family::matrix::{batch_axes, default_rtol, matrices, number_each, over_batch, real_dtype, sample};
use crate::functional as f;
use crate::ops::prelude::*;

/// The operator of [`lstsq`]: `A`, `[.., m, n]`, `B`, `[.., m, k]`, and relative tolerances, `[..]`, to the solution, `[.., n, k]`, ranks, `[..]`
/// in i64, and singular values, `[.., min(m, n)]`, if they are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Attributes)]
pub struct LstSq {
    /// Whether they are.
    pub values: bool,
}

impl Plain for LstSq {
    const NAME: &'static str = "lstsq";
    const INPUTS: usize = 3;
    const SAVES: Saves = Saves::INPUTS;
    const DIFFERENTIABLE_OUTPUTS: u32 = 1;

    fn infer(&self, inputs: &[&Meta]) -> Result<Metas> {
        let (a, b, tolerance) = (inputs[0], inputs[1], inputs[2]);
        let (lead, m, n) = matrices(Self::NAME, a)?;
        if b.rank() != a.rank() || b.dims()[..=lead.len()] != a.dims()[..=lead.len()] {
            return Err(Error::shapes(Self::NAME, a.shape(), b.shape(), "[.., m, n] and [.., m, k]"));
        }
        if tolerance.dims() != lead {
            return Err(Error::shapes(Self::NAME, a.shape(), tolerance.shape(), "[.., m, n] and tolerances [..]"));
        }
        check_dtypes(Self::NAME, a, b)?;
        check_dtypes(Self::NAME, a, tolerance)?;
        let of = |last: &[usize]| Meta::contiguous(a.dtype, [lead, last].concat());
        let mut outputs = smallvec![of(&[n, b.dims()[lead.len() + 1]]), Meta::contiguous(DType::I64, lead)];
        outputs.extend(self.values.then(|| Meta { dtype: real_dtype(a.dtype), ..of(&[m.min(n)]) }));
        Ok(outputs)
    }

    fn axes(&self, inputs: &[&Meta]) -> AxisMap {
        batch_axes(inputs, if self.values { &[2, 0, 1] } else { &[2, 0] })
    }

    fn form(&self, _: &Place) -> Lowering {
        Lowering::Dense(Dense::LeastSquares)
    }

    /// The solution is the pseudo-inverse times `B`.
    fn backward(&self, ctx: &Backward<'_>) -> Result<Grads> {
        let (a, b, tolerance, grad) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.grad(0)?);
        let inverse = pinv(&a, None, Some((&tolerance).into()), false)?;
        let of_a = ctx.when(0, || gradient(&a, &inverse, &grad.matmul(&f::adjoint(&b)?)?))?;
        let of_b = ctx.when(1, || f::adjoint(&inverse)?.matmul(&grad))?;
        Ok(smallvec![of_a, of_b, None])
    }
}

/// The `X` with the least `|A X - B|` for each matrix of a batch, and of those the shortest; leading dimensions are broadcast. A `B` of one
/// dimension less than `A` holds vectors. Singular values up to `rcond` times the largest count as 0; without it, the dtype's epsilon times
/// the longer side.
///
/// With it the sums of squares of `A X - B` over each column, if there are more rows than columns and every matrix has full rank; the
/// ranks of the matrices, in i64; and their singular values. What the `driver` of LAPACK (`"gels"`, `"gelsy"`, `"gelsd"` or `"gelss"`)
/// does not tell is empty: ranks of `"gels"`, which takes full rank for granted; residuals of `"gelsy"`, the default; and singular
/// values of both. These two solve by QR where the rank is full beyond doubt, else as the others, by singular values.
///
/// # Errors
/// For shapes that do not go together, another driver, NaN and infinities, and dtypes other than f32, f64, c64 and c128.
///
/// ```
/// # use opforge::{Device, Tensor};
/// let a = Tensor::new(&[[1f64, 0.0], [0.0, 2.0], [0.0, 0.0]], &Device::Cpu)?;
/// let b = Tensor::new(&[[3f64], [4.0], [5.0]], &Device::Cpu)?;
/// let (x, residuals, rank, _) = opforge::functional::lstsq(&a, &b, None, Some("gelsd"))?;
/// assert_eq!(x.to_vec2::<f64>()?, [[3.0], [2.0]]);
/// assert_eq!((residuals.to_vec1::<f64>()?, rank.to_scalar::<i64>()?), (vec![25.0], 2));
/// # Ok::<(), opforge::Error>(())
/// ```
#[function(rcond = None, *, driver = None)]
#[python(linalg, results(solution, residuals, rank, singular_values))]
#[operator(DTypes::FACTORED, samples, LstSq)]
pub fn lstsq(
    A: &Tensor,
    B: &Tensor,
    rcond: Option<f64>,
    driver: Option<&str>,
) -> Result<(Tensor, Tensor, Tensor, Tensor)> {
    let (_, m, n) = matrices(OP, A.meta())?;
    if B.rank() == 1 || (B.rank() + 1 == A.rank() && B.dims() == &A.dims()[..A.rank() - 1]) {
        let (x, residuals, rank, values) = lstsq(A, &B.unsqueeze(B.rank())?, rcond, driver)?;
        let residuals =
            if residuals.elem_count() == 0 { residuals } else { residuals.squeeze(residuals.rank() - 1)? };
        return Ok((x.squeeze(x.rank() - 1)?, residuals, rank, values));
    }
    let driver = driver.unwrap_or("gelsy");
    if !["gels", "gelsy", "gelsd", "gelss"].contains(&driver) {
        return Err(Error::value(OP, "driver", driver, "\"gels\", \"gelsy\", \"gelsd\" or \"gelss\""));
    }
    let (a, b) = over_batch(OP, A, B)?;
    let (x, rank, values) = parts(&a, &b, rcond, ["gelsd", "gelss"].contains(&driver))?;
    let none = |dtype: DType| Tensor::zeros(0, dtype, A.device());
    let full_rank = || -> Result<bool> {
        let full = f::eq((&rank).into(), (n as i64).into())?.flatten_all()?.to_vec1::<bool>()?;
        Ok(full.iter().all(|&full| full))
    };
    let full = m > n && driver != "gelsy" && (driver == "gels" || full_rank()?);
    let residuals = if full {
        f::sum(&a.matmul(&x)?.sub(&b)?.abs()?.sqr()?, Some(&[-2]), false, None)?
    } else {
        none(real_dtype(a.dtype()))?
    };
    let batch = a.rank() - 2;
    let rank = if driver == "gels" { none(DType::I64)? } else { once(rank, batch, A)? };
    let values = values.map_or_else(|| none(real_dtype(a.dtype())), |values| once(values, batch, A))?;
    Ok((x, residuals, rank, values))
}

/// What is told of each matrix of a `batch` of so many dimensions, over which `A` was broadcast: once for each matrix of `A`. An empty
/// batch tells nothing.
#[track_caller]
fn once(mut all: Tensor, batch: usize, A: &Tensor) -> Result<Tensor> {
    let lead = &A.dims()[..A.rank() - 2];
    if all.dims()[..batch].contains(&0) {
        return Ok(all);
    }
    for _ in lead.len()..batch {
        all = all.get(0)?;
    }
    for (d, &len) in lead.iter().enumerate() {
        all = all.narrow(d, 0, len)?;
    }
    all.contiguous()
}

/// Solution, ranks and, if wanted, singular values.
#[track_caller]
fn parts(a: &Tensor, b: &Tensor, rcond: Option<f64>, values: bool) -> Result<(Tensor, Tensor, Option<Tensor>)> {
    let tolerance = number_each("lstsq", a, rcond.unwrap_or(default_rtol(a)).into())?;
    let mut outputs = dispatch(&LstSq { values }, &[a, b, &tolerance])?;
    let values = values.then(|| outputs.remove(2));
    let (rank, x) = (outputs.remove(1), outputs.remove(0));
    Ok((x, rank, values))
}

/// Of one column: the products with `B` over the length's square.
fn one_column(x: &[Array]) -> Vec<Array> {
    let batch = x[0].shape[0];
    let dot =
        |b: usize, of: &dyn Fn(usize) -> f64| (0..x[0].shape[1]).map(|k| x[0].at(&[b, k, 0]) * of(k)).sum::<f64>();
    let square = |b: usize| dot(b, &|k| x[0].at(&[b, k, 0]));
    let solution = |i: &[usize]| dot(i[0], &|k| x[1].at(&[i[0], k, i[2]])) / square(i[0]);
    vec![
        Array::from_fn(&[batch, 1, x[1].shape[2]], solution),
        Array::from_fn(&[batch], |_| 1.0),
        Array::from_fn(&[batch, 1], |i| square(i[0]).sqrt()),
    ]
}

/// Of one row: the shortest solution is along it.
fn one_row(x: &[Array]) -> Array {
    let square = |b: usize| (0..3).map(|i| x[0].at(&[b, 0, i]).powi(2)).sum::<f64>();
    Array::from_fn(&[2, 3, 2], |i| x[0].at(&[i[0], 0, i[1]]) * x[1].at(&[i[0], 0, i[2]]) / square(i[0]))
}

fn samples() -> Vec<Sample> {
    let b = |m| Array::spread(&[2, m, 2], -1.0..1.0);
    let of = |m, n, values, reference: fn(&[Array]) -> Array| {
        let call = move |x: &[&Tensor]| Ok(parts(x[0], x[1], None, values)?.0);
        Sample::composed("lstsq", call, vec![sample(m, n), b(m)], reference).finite()
    };
    let solution: fn(&[Array]) -> Array = |x| one_column(x).swap_remove(0);
    // Singular values up to the largest times the tolerance do not count.
    let counted = |x: &[Array]| {
        let counts = |b: usize| x[2].at(&[b]) < 0.5;
        let [solution, rank, values] = &one_column(x)[..] else { panic!("three outputs") };
        let or_zero = |of: &Array| Array::from_fn(&of.shape, |i| if counts(i[0]) { of.at(i) } else { 0.0 });
        vec![or_zero(solution), or_zero(rank), values.clone()]
    };
    let all = |values, outputs| {
        let inputs = vec![sample(3, 1), b(3), Array::new(&[2], vec![0.01, 0.02])];
        Sample::many(LstSq { values }, inputs, move |x| counted(x)[..outputs].to_vec()).finite().rough()
    };
    vec![
        of(3, 1, false, solution),
        of(3, 1, true, solution),
        of(1, 3, false, one_row),
        of(1, 3, true, one_row),
        all(false, 2),
        all(true, 3),
    ]
}
