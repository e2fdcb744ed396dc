//! Reductions, traced.

use opforge_core::{DType, Element, Scalar, with_int};
use opforge_tile::{Float, Int, Integers, Reducer, TruthReducer};

use crate::expression::{Expression, Id, Op};
use crate::families::{converted, is_traced};
use crate::record::{Arithmetic, record, trace};
use crate::symbol::Symbol;

/// What a reduction computes: `after(combine(.. combine(identity, before(x0)) .., before(xn)))`, in any order of the elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduction {
    /// What changes nothing when it is combined; an expression without inputs.
    pub identity: Expression,
    /// Of an element, what is combined.
    pub before: Expression,
    /// Two of these made one.
    pub combine: Expression,
    /// Of all that are combined, the result.
    pub after: Expression,
}

/// The expression of a function of inputs of these dtypes.
fn part(inputs: &[DType], arithmetic: Arithmetic, function: impl Fn(&[Id]) -> Id) -> Expression {
    trace(inputs.to_vec(), arithmetic, &mut || {
        let symbols = inputs.iter().enumerate().map(|(i, &dtype)| record(dtype, Op::Input(i), &[]));
        (vec![function(&symbols.collect::<Vec<_>>())], None)
    })
}

/// A reduction of `count` elements of a dtype to one, f16 and bf16 as f32; none where it does not have the dtype.
pub fn reduce<R: Reducer>(
    r: R,
    input: DType,
    output: DType,
    count: usize,
    arithmetic: impl Into<Arithmetic>,
) -> Option<Reduction> {
    let arithmetic = arithmetic.into();
    fn floats<T: Element>(r: impl Reducer, count: usize, arithmetic: Arithmetic) -> Reduction
    where
        Symbol<T>: Float,
    {
        let (of, dtype) = (Symbol::<T>::of, T::DTYPE);
        Reduction {
            identity: part(&[], arithmetic, |_| Symbol::<T>::splat(r.identity()).id),
            before: part(&[dtype], arithmetic, |x| r.map(of(x[0])).id),
            combine: part(&[dtype; 2], arithmetic, |x| r.combine(of(x[0]), of(x[1])).id),
            after: part(&[dtype], arithmetic, |x| r.finish(of(x[0]), count as f64).id),
        }
    }
    fn ints<T: Element>(r: impl Reducer, input: DType, output: DType) -> Reduction
    where
        Symbol<T>: Int,
    {
        let (of, dtype) = (Symbol::<T>::of, T::DTYPE);
        Reduction {
            identity: part(&[], Arithmetic::Fused, |_| r.int_identity::<Symbol<T>>().id),
            before: part(&[input], Arithmetic::Fused, |x| r.int_map(of(converted(x[0], input, dtype))).id),
            combine: part(&[dtype; 2], Arithmetic::Fused, |x| r.int_combine(of(x[0]), of(x[1])).id),
            after: part(&[dtype], Arithmetic::Fused, |x| converted(x[0], dtype, output)),
        }
    }
    Some(match (input.compute(), R::INTEGERS) {
        (DType::F32, _) => floats::<f32>(r, count, arithmetic),
        (DType::F64, _) => floats::<f64>(r, count, arithmetic),
        (dtype, _) if !is_traced(dtype) => return None,
        (_, Integers::Refuse) => return None,
        (dtype, Integers::Widen) => ints::<i64>(r, dtype, output),
        (DType::Bool, Integers::Same) => ints::<u8>(r, DType::Bool, output),
        (dtype, Integers::Same) => with_int!(dtype, T => ints::<T>(r, dtype, output), _ => return None),
    })
}

/// As [`reduce`], of whether elements differ from 0.
pub fn reduce_truth(r: TruthReducer, input: DType, output: DType) -> Option<Reduction> {
    let input = input.compute();
    if !is_traced(input) {
        return None;
    }
    let of = Symbol::<u8>::of;
    Some(Reduction {
        identity: part(&[], Arithmetic::Fused, |_| Symbol::<u8>::constant(Scalar::Bool(r.identity())).id),
        before: part(&[input], Arithmetic::Fused, |x| {
            converted(converted(x[0], input, DType::Bool), DType::Bool, DType::U8)
        }),
        combine: part(&[DType::U8; 2], Arithmetic::Fused, |x| r.combine(of(x[0]), of(x[1])).id),
        after: part(&[DType::U8], Arithmetic::Fused, |x| converted(x[0], DType::U8, output)),
    })
}
