//! Factorisations of small square matrices, one for each of a batch, in f64.

use std::sync::Arc;

use opforge_core::{DType, Error, Layout, Meta, Result};
use opforge_runtime::Kernel;
use opforge_runtime::parallel::parallel_for;

use crate::copy::Shared;

/// What is computed of each matrix `[n, n]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dense {
    /// The lower triangular factor `L` of `A = L L^T`; only A's lower triangle is read.
    Cholesky,
    /// `[sign, log]` of the determinant: 0 and minus infinity of a singular matrix.
    LogDet,
    /// `X` of `A X = B`; the second input is `B`, `[n, k]`.
    Solve,
}

/// The kernel that computes `what` of every matrix in the last two dimensions. Inputs are f32 or f64 of any strides with equal leading
/// dimensions; the output is contiguous: `[.., n, n]`, `[.., 2]` or `[.., n, k]`.
///
/// # Errors
/// Other dtypes, matrices that are not square, an output of another size. Running fails for a matrix that has no result.
pub fn dense(op: &'static str, what: Dense, inputs: &[&Meta], output: &Meta) -> Result<Arc<dyn Kernel>> {
    let a = inputs[0];
    let [.., rows, n] = *a.dims() else {
        return Err(Error::shape(op, "A", format!("{:?}", a.shape()), "square matrices"));
    };
    if rows != n || !output.layout.is_contiguous() {
        return Err(Error::shape(op, "A", format!("{:?}", a.shape()), "square matrices"));
    }
    if let Some(other) = inputs.iter().chain([&output]).find(|meta| meta.dtype != a.dtype) {
        return Err(Error::dtypes(op, a.dtype, other.dtype));
    }
    let columns = if what == Dense::Solve { output.dims()[output.rank() - 1] } else { 0 };
    let sources = inputs.iter().map(|meta| Source::new(&meta.layout)).collect();
    let plan = Plan { op, what, n, columns, batch: a.dims()[..a.rank() - 2].iter().product(), sources };
    match a.dtype {
        DType::F32 => Ok(Arc::new(DenseKernel::<f32> { plan, element: std::marker::PhantomData })),
        DType::F64 => Ok(Arc::new(DenseKernel::<f64> { plan, element: std::marker::PhantomData })),
        other => Err(Error::UnsupportedDTypeForOp(other, op)),
    }
}

/// Where a batch's matrices lie, in elements.
struct Source {
    lead: Vec<(usize, usize)>,
    row: usize,
    column: usize,
}

impl Source {
    fn new(layout: &Layout) -> Self {
        let (dims, stride) = (layout.dims(), layout.stride());
        let lead = dims.len() - 2;
        let axes = dims[..lead].iter().copied().zip(stride[..lead].iter().copied()).collect();
        Source { lead: axes, row: stride[lead], column: stride[lead + 1] }
    }

    /// The offset of a batch's matrix.
    fn offset(&self, mut index: usize) -> usize {
        let mut offset = 0;
        for &(len, stride) in self.lead.iter().rev() {
            offset += index % len * stride;
            index /= len;
        }
        offset
    }
}

struct Plan {
    op: &'static str,
    what: Dense,
    n: usize,
    columns: usize,
    batch: usize,
    sources: Vec<Source>,
}

struct DenseKernel<T> {
    plan: Plan,
    element: std::marker::PhantomData<T>,
}

/// f32 or f64.
trait Real: Copy + Send + Sync + 'static {
    fn widen(self) -> f64;
    fn round(x: f64) -> Self;
}
impl Real for f32 {
    fn widen(self) -> f64 {
        self.into()
    }
    fn round(x: f64) -> f32 {
        x as f32
    }
}
impl Real for f64 {
    fn widen(self) -> f64 {
        self
    }
    fn round(x: f64) -> f64 {
        x
    }
}

impl<T: Real> Kernel for DenseKernel<T> {
    unsafe fn run(&self, inputs: &[*const u8], outputs: &[*mut u8]) -> Result<()> {
        let plan = &self.plan;
        let (n, k) = (plan.n, plan.columns);
        let sources: Vec<Shared<*mut u8>> = inputs.iter().map(|&input| Shared(input.cast_mut())).collect();
        let out = Shared(outputs[0].cast::<T>());
        let failed = std::sync::atomic::AtomicBool::new(false);
        parallel_for(plan.batch, (100_000 / (n * n * n).max(1)).max(1), |range| {
            let (mut a, mut b) = (vec![0.0; n * n], vec![0.0; n * k]);
            for index in range {
                // SAFETY: the metas that `dense` checked describe these tensors.
                unsafe {
                    load::<T>(&plan.sources[0], sources[0].get(), index, n, &mut a);
                    if let Some(second) = plan.sources.get(1) {
                        load::<T>(second, sources[1].get(), index, k, &mut b);
                    }
                }
                let (ok, result): (bool, &[f64]) = match plan.what {
                    Dense::Cholesky => (cholesky(&mut a, n), &a),
                    Dense::LogDet => {
                        b = log_determinant(&mut a, n).to_vec();
                        (true, &b)
                    }
                    Dense::Solve => (solve(&mut a, &mut b, n, k), &b),
                };
                if !ok {
                    failed.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                for (i, &x) in result.iter().enumerate() {
                    // SAFETY: each matrix has a part of the output of its own, as long as its result.
                    unsafe { out.get().add(index * result.len() + i).write(T::round(x)) };
                }
            }
        });
        match (failed.into_inner(), plan.what) {
            (false, _) => Ok(()),
            (true, Dense::Cholesky) => {
                Err(Error::value(plan.op, "A", "a matrix that is not positive definite", "positive definite matrices"))
            }
            (true, _) => Err(Error::value(plan.op, "A", "a singular matrix", "matrices that have an inverse")),
        }
    }

    fn cost(&self) -> u64 {
        let n = self.plan.n as u64;
        50 + self.plan.batch as u64 * n.saturating_mul(n).saturating_mul(n + self.plan.columns as u64)
    }
}

/// Copies a matrix of `columns` columns, row by row.
///
/// # Safety
/// `at` is readable where the source says.
unsafe fn load<T: Real>(source: &Source, at: *const u8, index: usize, columns: usize, to: &mut [f64]) {
    let start = source.offset(index);
    for (i, x) in to.iter_mut().enumerate() {
        let place = start + i / columns * source.row + i % columns * source.column;
        // SAFETY: by the contract.
        *x = unsafe { at.cast::<T>().add(place).read() }.widen();
    }
}

/// In place, row by row (Golub and Van Loan, "Matrix Computations", 4.2); false unless positive definite. NaN stays.
fn cholesky(a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            if i == j {
                if rest <= 0.0 {
                    return false;
                }
                a[i * n + i] = rest.sqrt();
            } else {
                a[i * n + j] = rest / a[j * n + j];
            }
        }
        a[i * n + i + 1..(i + 1) * n].fill(0.0);
    }
    true
}

/// Brings column `step` below the diagonal to 0 by Gauss's elimination with partial pivoting, in `a` and in the right-hand sides; the rows'
/// exchange is told by the result, `None` without a pivot.
fn eliminate(a: &mut [f64], b: &mut [f64], n: usize, k: usize, step: usize) -> Option<bool> {
    let size = |a: &[f64], row: usize| a[row * n + step].abs();
    let pivot = (step..n).fold(step, |best, row| if size(a, row) > size(a, best) { row } else { best });
    if a[pivot * n + step] == 0.0 {
        return None;
    }
    if pivot != step {
        (0..n).for_each(|j| a.swap(pivot * n + j, step * n + j));
        (0..k).for_each(|j| b.swap(pivot * k + j, step * k + j));
    }
    for row in step + 1..n {
        let factor = a[row * n + step] / a[step * n + step];
        if factor != 0.0 {
            (step..n).for_each(|j| a[row * n + j] -= factor * a[step * n + j]);
            (0..k).for_each(|j| b[row * k + j] -= factor * b[step * k + j]);
        }
    }
    Some(pivot != step)
}

/// `[sign, log |det|]`.
fn log_determinant(a: &mut [f64], n: usize) -> [f64; 2] {
    if a.iter().any(|x| x.is_nan()) {
        return [f64::NAN; 2];
    }
    let (mut sign, mut log) = (1.0, 0.0);
    for step in 0..n {
        match eliminate(a, &mut [], n, 0, step) {
            None => return [0.0, f64::NEG_INFINITY],
            Some(exchanged) => sign *= if exchanged { -1.0 } else { 1.0 },
        }
        let pivot = a[step * n + step];
        sign *= pivot.signum();
        log += pivot.abs().ln();
    }
    [sign, log]
}

/// Elimination, then substitution from the last row up; false for a singular matrix.
fn solve(a: &mut [f64], b: &mut [f64], n: usize, k: usize) -> bool {
    if (0..n).any(|step| eliminate(a, b, n, k, step).is_none()) {
        return false;
    }
    for row in (0..n).rev() {
        for j in 0..k {
            let known: f64 = (row + 1..n).map(|c| a[row * n + c] * b[c * k + j]).sum();
            b[row * k + j] = (b[row * k + j] - known) / a[row * n + row];
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Array, layouts, run};

    /// `[2, 3, 3]`, positive definite.
    fn matrices(layout: Layout) -> Array {
        let values = [4.0, 2.0, 0.5, 2.0, 5.0, 1.0, 0.5, 1.0, 3.0];
        Array::new(DType::F64, layout, |i| values[i % 9] * (1 + i / 9) as f64)
    }

    #[test]
    fn factors_and_solutions_multiply_back() -> Result<()> {
        for layout in layouts(&[2, 3, 3]) {
            let a = matrices(layout);
            let (values, out) = (a.values(), Meta::contiguous(DType::F64, (2, 3, 3)));
            let at = |m: &[f64], b: usize, i: usize, j: usize| m[b * 9 + i * 3 + j];
            let factor =
                run(&*dense("cholesky", Dense::Cholesky, &[&a.meta], &out)?, &[&a], std::slice::from_ref(&out))[0]
                    .values();
            let identity =
                Array::new(DType::F64, Layout::contiguous((2, 3, 3)), |i| f64::from(u8::from(i % 9 % 4 == 0)));
            let kernel = dense("solve", Dense::Solve, &[&a.meta, &identity.meta], &out)?;
            let inverse = run(&*kernel, &[&a, &identity], std::slice::from_ref(&out))[0].values();
            for (b, i, j) in (0..18).map(|x| (x / 9, x / 3 % 3, x % 3)) {
                let squared: f64 = (0..3).map(|k| at(&factor, b, i, k) * at(&factor, b, j, k)).sum();
                assert!((squared - at(&values, b, i, j)).abs() < 1e-12);
                let unit: f64 = (0..3).map(|k| at(&values, b, i, k) * at(&inverse, b, k, j)).sum();
                assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        Ok(())
    }
}
