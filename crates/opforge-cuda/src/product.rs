//! Products of matrices by cuBLAS: which it takes, and how it is told.

use std::ffi::c_int;
use std::sync::Arc;

use opforge::operator::Lowering;
use opforge::{DType, Meta, Result, Shape};
use opforge_core::Layout;
use opforge_runtime::{Argument, Context, Kernel, vm};
use opforge_tile::forms::Contract;

use crate::backend::Cuda;
use crate::blas::{Blas, Matrix, Problem, numbers};
use crate::blas_lt::{ALIGNMENT, BlasLt, Plan};
use crate::driver::Address;
use crate::kernel::Prepared;
use crate::memory::Block;
use crate::precision::{PRODUCTS, Plans};

/// Products, and what is like them, of fewer multiplications are not worth another library's call.
pub(crate) const LEAST: usize = 1 << 15;

/// A product that cuBLAS computes.
struct Product {
    on: &'static Cuda,
    blas: &'static Blas,
    op: &'static str,
    problem: Problem,
    /// Writes what is added to the output first.
    bias: Option<Prepared>,
    /// The product that adds the bias itself.
    fused: Option<Fused>,
}

/// A product that ends with a bias.
struct Fused {
    blas: &'static BlasLt,
    plans: Plans<Plan>,
}

impl Product {
    /// Issues the product; without a bias there are two inputs.
    ///
    /// # Safety
    /// The addresses are those of the tensors that the kernel was prepared for.
    unsafe fn multiply(&self, inputs: &[Address], y: Address) -> Result<()> {
        let (gpu, op) = (self.on.gpu, self.op);
        let is_aligned = |at: &Address| at.is_multiple_of(ALIGNMENT);
        if let Some(fused) = &self.fused
            && inputs.iter().chain([&y]).all(is_aligned)
        {
            let is_allowed = self.problem.dtype == DType::F32 && PRODUCTS.get();
            let plan = fused.plans.get(is_allowed, || Ok(fused.blas.plan(gpu, op, &self.problem, true)))?;
            let workspace = (plan.nbytes > 0).then(|| Block::new(gpu, plan.nbytes)).transpose()?;
            let workspace = workspace.as_ref().map_or(0, |block| block.at);
            // SAFETY: the plan was made for these tensors, whose addresses are aligned, and the block is of its size.
            return unsafe { fused.blas.multiply((gpu, op), plan, [inputs[0], inputs[1], inputs[2], y], workspace) };
        }
        // SAFETY: the kernel was prepared for the third input and the output, and the problem made for the tensors.
        unsafe {
            if let Some(bias) = &self.bias {
                bias.run(&inputs[2..], &[y])?;
            }
            self.blas.multiply(gpu, op, &self.problem, [inputs[0], inputs[1], y])
        }
    }
}

impl Kernel for Product {
    unsafe fn launch(&self, _: &Context, inputs: &[Argument<'_>], outputs: &[Argument<'_>]) -> Result<()> {
        self.on.gpu.enter(self.op)?;
        let inputs = inputs.iter().map(|input| Ok(input.to_read()?.addr() as Address)).collect::<Result<Vec<_>>>()?;
        // SAFETY: arguments are as `launch` demands.
        unsafe { self.multiply(&inputs, outputs[0].to_write()?.addr() as Address)? };
        if vm::is_sync() { self.on.gpu.wait(self.op) } else { Ok(()) }
    }

    fn duration(&self) -> u64 {
        5_000
    }
}

impl Cuda {
    /// The kernel of a product, where cuBLAS is there and takes it.
    pub fn product(
        &'static self,
        op: &'static str,
        form: &Contract,
        inputs: &[&Meta],
        output: &Meta,
    ) -> Option<Result<Arc<dyn Kernel>>> {
        let problem = problem(form, inputs, output)?;
        let blas = self.blas()?;
        let fused = inputs.get(2).and_then(|bias| self.fused(op, &problem, bias));
        let bias = inputs.get(2).map(|bias| self.bias(op, bias, output)).transpose();
        Some(bias.map(|bias| Arc::new(Product { on: self, blas, op, problem, bias, fused }) as Arc<dyn Kernel>))
    }

    /// The product that ends with a bias, where cuBLASLt is there and takes it.
    fn fused(&'static self, op: &'static str, problem: &Problem, bias: &Meta) -> Option<Fused> {
        let blas = self.blas_lt().filter(|_| bias.layout.is_contiguous())?;
        Some(Fused { blas, plans: Plans::new(blas.plan(self.gpu, op, problem, false)?) })
    }

    /// The kernel that writes a bias to every row.
    fn bias(&'static self, op: &'static str, bias: &Meta, output: &Meta) -> Result<Prepared> {
        let bias = Meta { dtype: bias.dtype, layout: bias.layout.broadcast_as(output.shape(), op)? };
        self.written(op, &Lowering::Move(opforge_tile::forms::Move::Copy), &[&bias], &[output])
    }
}

/// What is multiplied, in cuBLAS' terms; none for what it does not take, and for what is small.
fn problem(form: &Contract, inputs: &[&Meta], output: &Meta) -> Option<Problem> {
    let (mut a, mut b, mut y) = (inputs[0].layout.clone(), inputs[1].layout.clone(), output.layout.clone());
    if let Contract::Linear { .. } = form {
        if y.dims().len() == 1 {
            (a, y) = (a.unsqueeze(0).ok()?, y.unsqueeze(0).ok()?);
        }
        b = b.transpose(0, 1).ok()?;
    }
    let (dtype, result) = (inputs[0].dtype, output.dtype);
    let is_kept = result == dtype || result == dtype.compute() && inputs.len() == 2;
    numbers(dtype, false).filter(|_| is_kept && inputs.iter().all(|input| input.dtype == dtype))?;
    let rank = y.dims().len();
    let (lead, [rows, columns]) = (&y.dims()[..rank - 2], [y.dims()[rank - 2], y.dims()[rank - 1]]);
    let depth = *a.dims().last()?;
    let is_worth = y.dims().iter().product::<usize>().saturating_mul(depth) >= LEAST;
    let (a, b) = (stretched(&a, lead)?, stretched(&b, lead)?);
    let strides = [&a, &b, &y].map(|layout| &layout.stride()[..rank - 2]);
    let (mut count, mut next) = batch(lead, strides)?;
    let matrix = |layout: &Layout| matrix([layout.dims(), layout.stride()].map(|x| [x[rank - 2], x[rank - 1]]));
    let ((a_transposed, a_lead), (b_transposed, b_lead), (y_transposed, y_lead)) =
        (matrix(&a)?, matrix(&b)?, matrix(&y)?);
    if y_transposed || !is_worth {
        return None;
    }
    let mut rows = rows;
    // Rows of all matrices of the batch that are multiplied by one matrix are those of one.
    if count > 1 && next[1] == 0 && !a_transposed && next[0] == rows * a_lead && next[2] == rows * y_lead {
        (rows, count, next) = (rows * count, 1, [0; 3]);
    }
    let number = |n: usize| c_int::try_from(n).ok();
    let of = |transposed, lead, next| Some(Matrix { transposed, lead: number(lead)?, next: i64::try_from(next).ok()? });
    Some(Problem {
        dtype,
        result,
        rows: number(rows)?,
        columns: number(columns)?,
        depth: number(depth)?,
        count: number(count)?,
        a: of(a_transposed, a_lead, next[0])?,
        b: of(b_transposed, b_lead, next[1])?,
        y: of(false, y_lead, next[2])?,
        adds: inputs.len() > 2,
    })
}

/// A layout with these leading dimensions.
fn stretched(layout: &Layout, lead: &[usize]) -> Option<Layout> {
    let matrix = &layout.dims()[layout.dims().len() - 2..];
    let shape: Shape = lead.iter().chain(matrix).copied().collect();
    layout.broadcast_as(&shape, "matmul").ok()
}

/// How many matrices there are, and how far each tensor's are apart; none where no one distance is.
pub(crate) fn batch(lead: &[usize], strides: [&[usize]; 3]) -> Option<(usize, [usize; 3])> {
    let mut found: Option<(usize, [usize; 3])> = None;
    for (d, &len) in lead.iter().enumerate().filter(|(_, len)| **len != 1) {
        let own = strides.map(|stride| stride[d]);
        found = match found {
            None => Some((len, own)),
            Some((count, outer)) if outer == own.map(|stride| stride * len) => Some((count * len, own)),
            Some(_) => return None,
        };
    }
    Some(found.unwrap_or((1, [0; 3])))
}

/// Whether columns, rather than rows, lie one after the other, and the distance from one to the next; none where neither do.
pub(crate) fn matrix([[rows, columns], [down, along]]: [[usize; 2]; 2]) -> Option<(bool, usize)> {
    let lead = |len: usize, lines: usize, step: usize| match lines {
        0 | 1 => Some(step.max(len).max(1)),
        _ => Some(step).filter(|step| *step >= len.max(1)),
    };
    if (columns <= 1 || along == 1)
        && let Some(lead) = lead(columns, rows, down)
    {
        return Some((false, lead));
    }
    if rows <= 1 || down == 1 { lead(rows, columns, along).map(|lead| (true, lead)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::{batch, matrix};

    #[test]
    fn matrices_have_a_leading_dimension_where_rows_or_columns_are_dense() {
        assert_eq!(matrix([[3, 4], [4, 1]]), Some((false, 4)));
        assert_eq!(matrix([[3, 4], [10, 1]]), Some((false, 10)));
        assert_eq!(matrix([[3, 4], [1, 3]]), Some((true, 3)));
        assert_eq!(matrix([[1, 4], [0, 1]]), Some((false, 4)));
        assert_eq!(matrix([[3, 1], [2, 7]]), Some((false, 2)));
        assert_eq!(matrix([[3, 4], [0, 1]]), None);
        assert_eq!(matrix([[3, 4], [8, 2]]), None);
        assert_eq!(matrix([[3, 4], [2, 1]]), None);
    }

    #[test]
    fn batches_have_one_distance() {
        assert_eq!(batch(&[], [&[], &[], &[]]), Some((1, [0; 3])));
        assert_eq!(batch(&[2, 3], [&[36, 12], &[0, 0], &[30, 10]]), Some((6, [12, 0, 10])));
        assert_eq!(batch(&[2, 3], [&[36, 12], &[0, 4], &[30, 10]]), None);
        assert_eq!(batch(&[1, 3], [&[9, 12], &[5, 0], &[30, 10]]), Some((3, [12, 0, 10])));
    }
}
