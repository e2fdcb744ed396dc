//! Tile functions of erased type: what elementwise operators lower to.

use std::fmt::Debug;
use std::sync::Arc;

use opforge_core::{DType, Element, Scalar, bf16, f16};
use opforge_cpu::elementwise;
use opforge_runtime::HostKernel;
use opforge_tile::{BinaryFn, CompareFn, TernaryFn, TestFn, UnaryFn, UpdateFn};
use opforge_trace::{Arithmetic, Expression};

use crate::{Error, Meta, Result};

/// A tile function of any type, perhaps with a number as one of two operands.
pub struct Tile {
    function: Box<dyn TileFn>,
    /// Which operand it is, and the number.
    number: Option<(usize, Scalar)>,
}

/// A tile function as those see it who do not know its type.
trait TileFn: Send + Sync {
    /// What it computes of elements of these dtypes; none where it does not have them.
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression>;
    /// The CPU's kernel over operands of the outputs' shape.
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>>;
    /// Where some elements of a dtype have no result: the argument, and what is accepted of it.
    fn failure(&self, _dtype: DType) -> Option<(&'static str, &'static str)> {
        None
    }
    /// Whether a number in the place of an operand of a dtype is one of the wider dtype that is computed in; else it is rounded.
    fn has_wide_numbers(&self, _dtype: DType) -> bool {
        false
    }
    /// The CPU's kernel over one operand and such a number, which is the first or the second (0 or 1).
    fn kernel_of_number(
        &self,
        op: &'static str,
        _number: (usize, Scalar),
        operand: &Meta,
        _output: &Meta,
    ) -> Result<Arc<dyn HostKernel>> {
        Err(Error::UnsupportedDTypeForOp(operand.dtype, op))
    }
}

impl Tile {
    fn of(function: impl TileFn + 'static) -> Self {
        Tile { function: Box::new(function), number: None }
    }
    /// A function of one element, which keeps the dtype.
    pub fn unary(f: impl UnaryFn) -> Self {
        Self::of(Unary(f))
    }
    /// A function of two elements, which keeps the dtype.
    pub fn binary(f: impl BinaryFn) -> Self {
        Self::of(Binary(f))
    }
    /// A function of three elements, which keeps the dtype.
    pub fn ternary(f: impl TernaryFn) -> Self {
        Self::of(Ternary(f))
    }
    /// A predicate of two elements.
    pub fn compare(f: impl CompareFn) -> Self {
        Self::of(Compare(f))
    }
    /// A predicate of one element.
    pub fn test(f: impl TestFn) -> Self {
        Self::of(Test(f))
    }
    /// A function of `N` elements to be changed and one that is only read.
    pub fn update<const N: usize>(f: impl UpdateFn<N>) -> Self {
        Self::of(Update::<_, N>(f))
    }
    /// The same number in another dtype.
    pub fn cast(to: DType) -> Self {
        Self::of(Cast(to))
    }
    /// By the first operand the second or the third.
    pub fn select() -> Self {
        Self::of(Select)
    }

    /// The same function of two elements, of which the first or the second (0 or 1) is always this number: one of the elements' dtype, or, where the
    /// function has [`BinaryFn::WIDE_NUMBERS`], of that which they are computed in.
    pub fn with_number(self, number: Scalar, position: usize) -> Self {
        Tile { number: Some((position, number)), ..self }
    }

    /// What is computed of an element of each input, of these dtypes; f16 and bf16 are widened to f32 before and rounded afterwards.
    /// None for dtypes that have no trace, as complex ones.
    pub fn trace(&self, inputs: &[DType], arithmetic: impl Into<Arithmetic>) -> Option<Expression> {
        let Some((position, number)) = self.number else {
            return self.function.trace(inputs, arithmetic.into());
        };
        let &[dtype] = inputs else { return None };
        let number = if self.function.has_wide_numbers(dtype) { number } else { rounded(number, dtype) };
        Some(self.function.trace(&[dtype, dtype], arithmetic.into())?.bind(position, number))
    }

    /// Whether some elements of a dtype have no result, so that the kernel fails.
    pub fn refuses_elements(&self, dtype: DType) -> bool {
        self.failure(dtype).is_some()
    }

    /// Where some elements of a dtype have no result: the argument, and what is accepted of it.
    pub fn failure(&self, dtype: DType) -> Option<(&'static str, &'static str)> {
        self.function.failure(dtype)
    }

    /// The kernel of the CPU.
    ///
    /// # Errors
    /// Dtypes that the function does not have; shapes that are not broadcast to the outputs'.
    pub(super) fn kernel(&self, op: &'static str, inputs: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        let mut operands =
            inputs.iter().map(|input| stretched(op, input, outputs[0])).collect::<Result<Vec<Meta>>>()?;
        let dtype = inputs[0].dtype;
        if let Some(number) = self.number.filter(|_| self.function.has_wide_numbers(dtype)) {
            return self.function.kernel_of_number(op, number, &operands[0], outputs[0]);
        }
        if let Some((position, _)) = self.number {
            operands.insert(position, stretched(op, &Meta::contiguous(dtype, ()), outputs[0])?);
        }
        let kernel = self.function.kernel(op, &operands.iter().collect::<Vec<_>>(), outputs)?;
        match self.number {
            Some((position, number)) => elementwise::bind(op, kernel, position, number, dtype),
            None => Ok(kernel),
        }
    }
}

/// An operand's meta stretched to the output's shape.
fn stretched(op: &'static str, input: &Meta, output: &Meta) -> Result<Meta> {
    let layout = input.layout.broadcast_as(output.shape(), op)?;
    Ok(Meta { dtype: input.dtype, layout })
}

/// The number as an element of a dtype.
pub(crate) fn rounded(number: Scalar, dtype: DType) -> Scalar {
    match dtype {
        DType::F16 => f16::from_scalar(number).to_scalar(),
        DType::BF16 => bf16::from_scalar(number).to_scalar(),
        _ => number,
    }
}

impl Debug for Tile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tile").field("number", &self.number).finish_non_exhaustive()
    }
}

struct Unary<F>(F);
impl<F: UnaryFn> TileFn for Unary<F> {
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression> {
        opforge_trace::unary(self.0, operands[0], arithmetic)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::unary(op, self.0, operands[0], outputs[0])
    }
}

struct Binary<F>(F);
impl<F: BinaryFn> TileFn for Binary<F> {
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression> {
        opforge_trace::binary(self.0, operands[0], arithmetic)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::binary(op, self.0, operands[0], operands[1], outputs[0])
    }
    fn failure(&self, dtype: DType) -> Option<(&'static str, &'static str)> {
        F::INT_FAILURE.filter(|_| !dtype.is_float())
    }
    fn has_wide_numbers(&self, dtype: DType) -> bool {
        F::WIDE_NUMBERS && matches!(dtype, DType::F16 | DType::BF16)
    }
    fn kernel_of_number(
        &self,
        op: &'static str,
        (position, number): (usize, Scalar),
        operand: &Meta,
        output: &Meta,
    ) -> Result<Arc<dyn HostKernel>> {
        elementwise::binary_of_number(op, self.0, number, position, operand, output)
    }
}

struct Ternary<F>(F);
impl<F: TernaryFn> TileFn for Ternary<F> {
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression> {
        opforge_trace::ternary(self.0, operands[0], arithmetic)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::ternary(op, self.0, [operands[0], operands[1], operands[2]], outputs[0])
    }
}

struct Compare<F>(F);
impl<F: CompareFn> TileFn for Compare<F> {
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression> {
        opforge_trace::compare(self.0, operands[0], arithmetic)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::compare(op, self.0, operands[0], operands[1], outputs[0])
    }
}

struct Test<F>(F);
impl<F: TestFn> TileFn for Test<F> {
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression> {
        opforge_trace::test(self.0, operands[0], arithmetic)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::test(op, self.0, operands[0], outputs[0])
    }
}

struct Update<F, const N: usize>(F);
impl<F: UpdateFn<N>, const N: usize> TileFn for Update<F, N> {
    fn trace(&self, operands: &[DType], arithmetic: Arithmetic) -> Option<Expression> {
        opforge_trace::update::<F, N>(self.0, operands[0], arithmetic)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::update::<N, F>(op, self.0, operands, outputs)
    }
}

struct Cast(DType);
impl TileFn for Cast {
    fn trace(&self, operands: &[DType], _: Arithmetic) -> Option<Expression> {
        opforge_trace::cast(operands[0], self.0)
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::cast(op, operands[0], outputs[0])
    }
}

struct Select;
impl TileFn for Select {
    fn trace(&self, operands: &[DType], _: Arithmetic) -> Option<Expression> {
        opforge_trace::choose(operands[0], operands[1])
    }
    fn kernel(&self, op: &'static str, operands: &[&Meta], outputs: &[&Meta]) -> Result<Arc<dyn HostKernel>> {
        elementwise::select(op, operands[0], operands[1], operands[2], outputs[0])
    }
}
