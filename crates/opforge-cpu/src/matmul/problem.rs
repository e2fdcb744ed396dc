//! What a product multiplies: sizes and strides, with dimensions joined that act as one.

use opforge_core::{Error, Meta, Result};
use smallvec::SmallVec;

use super::operand::Operand;

/// One batch dimension: its length and how far a step moves each operand, in elements.
#[derive(Clone, Copy, Debug)]
struct Batch {
    len: usize,
    a: usize,
    b: usize,
}

/// A batch of products `c [m, n] = a [m, k] b [k, n]`, each `c` contiguous and one after the other. Strides are in elements.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    batch: SmallVec<[Batch; 4]>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Row and column strides.
    pub a: (usize, usize),
    pub b: (usize, usize),
    /// The stride of the vector `[n]` that is added to each row of `c`.
    pub bias: Option<usize>,
    /// Whether the output holds sums as they are, f32, of f16 or bf16. Then there is no bias.
    pub wide: bool,
}

impl Problem {
    /// `a [.., m, k]` times `b [.., k, n]`, batch dimensions equal.
    pub fn matmul(op: &'static str, a: &Meta, b: &Meta, output: &Meta) -> Result<Self> {
        let wide = output.dtype != a.dtype && output.dtype == a.dtype.compute();
        check_dtypes(op, a, &[b, output][..if wide { 1 } else { 2 }])?;
        let ([a_batch @ .., m, k], [b_batch @ .., k2, n]) = (a.dims(), b.dims()) else {
            return Err(Error::shapes(op, a.shape(), b.shape(), "at least two dimensions each"));
        };
        if k != k2 || a_batch != b_batch {
            return Err(Error::shapes(op, a.shape(), b.shape(), "[.., m, k] and [.., k, n] of equal batch dimensions"));
        }
        let dims: SmallVec<[usize; 6]> = a_batch.iter().copied().chain([*m, *n]).collect();
        check_output(op, output, &dims)?;
        let ([a_steps @ .., a_row, a_column], [b_steps @ .., b_row, b_column]) = (a.layout.stride(), b.layout.stride())
        else {
            unreachable!("as many strides as dimensions");
        };
        let batch = a_batch.iter().zip(a_steps.iter().zip(b_steps)).map(|(&len, (&a, &b))| Batch { len, a, b });
        let mut problem = Problem {
            batch: batch.filter(|b| b.len != 1).collect(),
            m: *m,
            n: *n,
            k: *k,
            a: (*a_row, *a_column),
            b: (*b_row, *b_column),
            bias: None,
            wide,
        };
        problem.collapse();
        Ok(problem)
    }

    /// `x [.., k]` times the transpose of `w [n, k]`, plus `bias [n]`.
    pub fn linear(op: &'static str, x: &Meta, w: &Meta, bias: Option<&Meta>, output: &Meta) -> Result<Self> {
        check_dtypes(op, x, &[w, output])?;
        let (&[.., k], &[n, k2]) = (x.dims(), w.dims()) else {
            return Err(Error::shapes(op, x.shape(), w.shape(), "x [.., k] and weight [n, k]"));
        };
        if k != k2 {
            return Err(Error::shapes(op, x.shape(), w.shape(), "x [.., k] and weight [n, k]"));
        }
        if let Some(bias) = bias {
            check_dtypes(op, x, &[bias])?;
            if bias.dims() != [n] {
                return Err(Error::shape(op, "bias", format!("{:?}", bias.shape()), format!("[{n}]")));
            }
        }
        let rows = &x.dims()[..x.rank() - 1];
        let dims: SmallVec<[usize; 6]> = rows.iter().copied().chain([n]).collect();
        check_output(op, output, &dims)?;
        let strides = x.layout.stride();
        let batch = rows.iter().zip(strides).map(|(&len, &a)| Batch { len, a, b: 0 });
        let mut problem = Problem {
            batch: batch.filter(|b| b.len != 1).collect(),
            m: 1,
            n,
            k,
            a: (0, strides[rows.len()]),
            b: (w.layout.stride()[1], w.layout.stride()[0]),
            bias: bias.map(|b| b.layout.stride()[0]),
            wide: false,
        };
        problem.collapse();
        Ok(problem)
    }

    /// The problem of the transposes: the left operand is the right one's, and the bias is added to columns.
    pub fn turned(self) -> Self {
        let batch = self.batch.iter().map(|dim| Batch { len: dim.len, a: dim.b, b: dim.a }).collect();
        let turn = |(row, column)| (column, row);
        Problem { batch, m: self.n, n: self.m, a: turn(self.b), b: turn(self.a), ..self }
    }

    /// Makes batch dimensions over which `b` stays into rows of `a`, and joins those that act as one.
    fn collapse(&mut self) {
        while let Some(inner) = self.batch.last().copied() {
            let as_rows = inner.b == 0 && (self.m == 1 || inner.a == self.m * self.a.0);
            if !as_rows {
                break;
            }
            self.batch.pop();
            if self.m == 1 {
                self.a.0 = inner.a;
            }
            self.m *= inner.len;
        }
        let mut joined: SmallVec<[Batch; 4]> = SmallVec::new();
        for &inner in &self.batch {
            match joined.last_mut() {
                Some(outer) if outer.a == inner.a * inner.len && outer.b == inner.b * inner.len => {
                    *outer = Batch { len: outer.len * inner.len, ..inner };
                }
                _ => joined.push(inner),
            }
        }
        self.batch = joined;
    }

    /// The number of products.
    pub fn batches(&self) -> usize {
        self.batch.iter().map(|b| b.len).product()
    }

    /// Whether all products of the batch have the same `b`.
    pub fn shares_b(&self) -> bool {
        self.batch.iter().all(|dim| dim.b == 0)
    }

    /// Where the operands of a product start, in elements.
    #[inline]
    pub fn offsets(&self, mut batch: usize) -> (usize, usize) {
        let (mut a, mut b) = (0, 0);
        for dim in self.batch.iter().rev() {
            let i = batch % dim.len;
            batch /= dim.len;
            a += i * dim.a;
            b += i * dim.b;
        }
        (a, b)
    }

    /// Where an element of the output is.
    pub fn place<T: Operand>(&self, c: *mut T, element: usize) -> *mut T {
        if self.wide { c.cast::<T::Acc>().wrapping_add(element).cast() } else { c.wrapping_add(element) }
    }

    /// Multiplications in all; saturates.
    pub fn work(&self) -> usize {
        [self.m, self.n, self.k].into_iter().fold(self.batches(), usize::saturating_mul)
    }
}

fn check_dtypes(op: &'static str, first: &Meta, others: &[&Meta]) -> Result<()> {
    match others.iter().find(|m| m.dtype != first.dtype) {
        Some(other) => Err(Error::dtype(op, "operand", other.dtype, first.dtype)),
        None => Ok(()),
    }
}

fn check_output(op: &'static str, output: &Meta, dims: &[usize]) -> Result<()> {
    if output.dims() != dims || !output.layout.is_contiguous() {
        return Err(Error::shape(op, "output", format!("{:?}", output.layout), format!("{dims:?}, contiguous")));
    }
    Ok(())
}
