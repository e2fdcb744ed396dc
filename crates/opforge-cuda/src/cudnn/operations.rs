//! Operations of graphs: functions of elements, products of matrices, reductions.

use std::ffi::c_int;

use super::graph::{Graph, Tensor, Values};

/// cuDNN's numbers of dtypes that pass between operations.
pub(super) const FLOAT: c_int = 0;
pub(super) const INTEGER: c_int = 4;
pub(super) const BOOLEAN: c_int = 11;

/// Kinds of descriptors, and attributes of them, for operations of each sort.
mod element {
    use std::ffi::c_int;

    pub const KIND: c_int = 0;
    pub const MODE: c_int = 0;
    pub const COMPUTED_IN: c_int = 1;
    pub const AXIS: c_int = 9;
    pub const OPERATION: c_int = 13;
    pub const BY: c_int = 750;
    pub const RESULT: c_int = 753;
    /// Of operands, in their order.
    pub const OPERANDS: [c_int; 3] = [751, 752, 758];
}
mod product {
    use std::ffi::c_int;

    pub const KIND: c_int = 18;
    pub const COMPUTED_IN: c_int = 1500;
    pub const OPERATION: c_int = 19;
    pub const BY: c_int = 1523;
    pub const TENSORS: [c_int; 3] = [1520, 1521, 1522];
}
mod reduction {
    use std::ffi::c_int;

    pub const KIND: c_int = 21;
    pub const OPERATOR: c_int = 1600;
    pub const COMPUTED_IN: c_int = 1601;
    pub const OPERATION: c_int = 22;
    pub const BY: c_int = 1612;
    pub const TENSORS: [c_int; 2] = [1610, 1611];
}
mod reshape {
    use std::ffi::c_int;

    pub const OPERATION: c_int = 31;
    pub const TENSORS: [c_int; 2] = [2200, 2201];
}

/// Functions of elements: `cudnnPointwiseMode_t`.
#[derive(Clone, Copy)]
pub(super) enum Function {
    Add = 0,
    Multiply = 1,
    Divide = 6,
    Subtract = 9,
    Exp = 13,
    Log = 15,
    IsAtLeast = 303,
    Position = 501,
    Select = 601,
}

/// What combines elements: `cudnnReduceTensorOp_t`.
#[derive(Clone, Copy)]
pub(super) enum Combine {
    Sum = 0,
    Max = 3,
}

impl Graph {
    /// A function of elements; `computed_in` is a dtype, and `axis` that of positions.
    pub fn function(
        &mut self,
        function: Function,
        operands: &[&Tensor],
        to: &Tensor,
        computed_in: c_int,
        axis: Option<i64>,
    ) -> Option<()> {
        let axis = axis.map(|axis| [axis]);
        let mut how = vec![
            (element::MODE, Values::Pointwise(function as c_int)),
            (element::COMPUTED_IN, Values::DType(computed_in)),
        ];
        how.extend(axis.as_ref().map(|axis| (element::AXIS, Values::Integers(axis))));
        let by = [self.describe(element::KIND, &how)?];
        let tensors: Vec<_> = operands.iter().map(|tensor| [tensor.at]).collect();
        let to = [to.at];
        let mut all = vec![(element::BY, Values::Descriptors(&by)), (element::RESULT, Values::Descriptors(&to))];
        let operands = element::OPERANDS.into_iter().zip(&tensors);
        all.extend(operands.map(|(attribute, tensor)| (attribute, Values::Descriptors(tensor))));
        self.operation(element::OPERATION, &all)
    }

    /// A function of elements in single precision, of the first operand's shape.
    pub fn apply(&mut self, function: Function, operands: &[&Tensor]) -> Option<Tensor> {
        let to = self.between(FLOAT, &operands[0].dims)?;
        self.function(function, operands, &to, FLOAT, None)?;
        Some(to)
    }

    /// `to = a b`, of matrices.
    pub fn multiply(&mut self, a: &Tensor, b: &Tensor, to: &Tensor) -> Option<()> {
        let by = [self.describe(product::KIND, &[(product::COMPUTED_IN, Values::DType(FLOAT))])?];
        let all = [[a.at], [b.at], [to.at]];
        let tensors = product::TENSORS.into_iter().zip(&all);
        let mut attributes: Vec<_> = tensors.map(|(at, tensor)| (at, Values::Descriptors(tensor))).collect();
        attributes.push((product::BY, Values::Descriptors(&by)));
        self.operation(product::OPERATION, &attributes)
    }

    /// Combines elements along dimensions that are shorter in `to`.
    pub fn combine(&mut self, operator: Combine, from: &Tensor, to: &Tensor) -> Option<()> {
        let how = [
            (reduction::OPERATOR, Values::Reduction(operator as c_int)),
            (reduction::COMPUTED_IN, Values::DType(FLOAT)),
        ];
        let by = [self.describe(reduction::KIND, &how)?];
        let [of_from, of_to] = reduction::TENSORS;
        let attributes = [
            (reduction::BY, Values::Descriptors(&by)),
            (of_from, Values::Descriptors(&[from.at])),
            (of_to, Values::Descriptors(&[to.at])),
        ];
        self.operation(reduction::OPERATION, &attributes)
    }

    /// The same elements, seen in another way, rounded to a dtype.
    pub fn seen_as(&mut self, from: &Tensor, dtype: c_int, dims: &[i64], strides: &[i64]) -> Option<Tensor> {
        let to = self.strided_between(dtype, dims, strides)?;
        let [of_from, of_to] = reshape::TENSORS;
        let attributes = [(of_from, Values::Descriptors(&[from.at])), (of_to, Values::Descriptors(&[to.at]))];
        self.operation(reshape::OPERATION, &attributes)?;
        Some(to)
    }
}
