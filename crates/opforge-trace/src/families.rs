//! The families of tile functions, traced.

use opforge_core::{DType, Element, with_int};
use opforge_tile::{BinaryFn, CompareFn, Float, Int, TernaryFn, TestFn, UnaryFn, UpdateFn};

use crate::expression::{Expression, Id, Op};
use crate::record::{Arithmetic, record, trace};
use crate::symbol::Symbol;

/// A function of `K` symbols of type `T`, and its results.
fn traced<T: Element, const K: usize>(
    arithmetic: Arithmetic,
    function: impl Fn([Symbol<T>; K]) -> (Vec<Id>, Option<Id>),
) -> Expression {
    trace(vec![T::DTYPE; K], arithmetic, &mut || function(std::array::from_fn(Symbol::input)))
}

/// One result that is always there.
fn one<T>(result: Symbol<T>) -> (Vec<Id>, Option<Id>) {
    only(result.id, None)
}

#[inline(never)]
fn only(result: Id, failure: Option<Id>) -> (Vec<Id>, Option<Id>) {
    (vec![result], failure)
}

/// A function of one element of a dtype, f16 and bf16 as f32; none where the function does not have the dtype.
pub fn unary<F: UnaryFn>(f: F, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Expression> {
    let arithmetic = arithmetic.into();
    Some(match dtype.compute() {
        DType::F32 => traced::<f32, 1>(arithmetic, |[x]| one(f.float(x))),
        DType::F64 => traced::<f64, 1>(arithmetic, |[x]| one(f.float(x))),
        DType::Bool if F::BOOL => traced::<bool, 1>(arithmetic, |[x]| one(f.boolean(x))),
        dtype if F::INT => with_int!(dtype, T => traced::<T, 1>(arithmetic, |[x]| one(f.int(x))), _ => return None),
        _ => return None,
    })
}

/// As [`unary`], of two elements.
pub fn binary<F: BinaryFn>(f: F, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Expression> {
    let arithmetic = arithmetic.into();
    fn int<F: BinaryFn, I: Int + Copy>(
        f: F,
        [a, b]: [I; 2],
        id: impl Fn(I) -> Id,
        mask: impl Fn(I::Mask) -> Id,
    ) -> (Vec<Id>, Option<Id>) {
        only(id(f.int(a, b)), F::INT_FAILURE.map(|_| mask(f.int_fails(a, b))))
    }
    Some(match dtype.compute() {
        DType::F32 if F::FLOAT => traced::<f32, 2>(arithmetic, |[a, b]| one(f.float(a, b))),
        DType::F64 if F::FLOAT => traced::<f64, 2>(arithmetic, |[a, b]| one(f.float(a, b))),
        DType::Bool if F::BOOL => traced::<bool, 2>(arithmetic, |[a, b]| one(f.boolean(a, b))),
        dtype if F::INT => {
            with_int!(dtype, T => traced::<T, 2>(arithmetic, |x| int(f, x, |x| x.id, |mask| mask.id)), _ => return None)
        }
        _ => return None,
    })
}

/// As [`unary`], of three elements.
pub fn ternary<F: TernaryFn>(f: F, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Expression> {
    let arithmetic = arithmetic.into();
    Some(match dtype.compute() {
        DType::F32 => traced::<f32, 3>(arithmetic, |[a, b, c]| one(f.float(a, b, c))),
        DType::F64 => traced::<f64, 3>(arithmetic, |[a, b, c]| one(f.float(a, b, c))),
        dtype if F::INT => {
            with_int!(dtype, T => traced::<T, 3>(arithmetic, |[a, b, c]| one(f.int(a, b, c))), _ => return None)
        }
        _ => return None,
    })
}

/// As [`unary`], of a predicate of two elements. Truth values are compared as 0 and 1.
pub fn compare<F: CompareFn>(f: F, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Expression> {
    let arithmetic = arithmetic.into();
    Some(match dtype.compute() {
        DType::F32 => traced::<f32, 2>(arithmetic, |[a, b]| one(f.float(a, b))),
        DType::F64 => traced::<f64, 2>(arithmetic, |[a, b]| one(f.float(a, b))),
        DType::Bool => traced::<bool, 2>(arithmetic, |[a, b]| one(f.int(a.convert::<u8>(), b.convert::<u8>()))),
        dtype => with_int!(dtype, T => traced::<T, 2>(arithmetic, |[a, b]| one(f.int(a, b))), _ => return None),
    })
}

/// As [`compare`], of one element.
pub fn test<F: TestFn>(f: F, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Expression> {
    let arithmetic = arithmetic.into();
    Some(match dtype.compute() {
        DType::F32 => traced::<f32, 1>(arithmetic, |[x]| one(f.float(x))),
        DType::F64 => traced::<f64, 1>(arithmetic, |[x]| one(f.float(x))),
        DType::Bool => traced::<bool, 1>(arithmetic, |[x]| one(f.int(x.convert::<u8>()))),
        dtype => with_int!(dtype, T => traced::<T, 1>(arithmetic, |[x]| one(f.int(x))), _ => return None),
    })
}

/// As [`unary`], of an update: its inputs are the `N` elements to be changed and the one that is only read.
pub fn update<F: UpdateFn<N>, const N: usize>(
    f: F,
    dtype: DType,
    arithmetic: impl Into<Arithmetic>,
) -> Option<Expression> {
    let arithmetic = arithmetic.into();
    fn changed<V: Float, const N: usize>(
        f: impl UpdateFn<N>,
        input: fn(usize) -> V,
        id: fn(V) -> Id,
    ) -> (Vec<Id>, Option<Id>) {
        (f.float(std::array::from_fn(input), input(N)).map(id).to_vec(), None)
    }
    let dtype = dtype.compute();
    let inputs = vec![dtype; N + 1];
    Some(match dtype {
        DType::F32 => trace(inputs, arithmetic, &mut || changed::<Symbol<f32>, N>(f, Symbol::input, |x| x.id)),
        DType::F64 => trace(inputs, arithmetic, &mut || changed::<Symbol<f64>, N>(f, Symbol::input, |x| x.id)),
        _ => return None,
    })
}

/// Whether elements of the dtype are symbols.
pub(crate) fn is_traced(dtype: DType) -> bool {
    !dtype.is_complex() && !dtype.is_storage_only()
}

/// The conversion of an element, as Rust's `as` has it; true is what differs from 0. None for complex numbers and dtypes that are only stored.
pub fn cast(from: DType, to: DType) -> Option<Expression> {
    let (from, to) = (from.compute(), to.compute());
    if !is_traced(from) || !is_traced(to) {
        return None;
    }
    Some(trace(vec![from], Arithmetic::Fused, &mut || {
        (vec![converted(record(from, Op::Input(0), &[]), from, to)], None)
    }))
}

/// A node in another dtype.
pub(crate) fn converted(x: Id, from: DType, to: DType) -> Id {
    match to {
        to if to == from => x,
        DType::Bool => record(to, Op::Ne, &[x, record(from, Op::Constant(0), &[])]),
        to => record(to, Op::Convert, &[x]),
    }
}

/// `a` where the condition, a truth value or a u8, is not 0, else `b`. None for complex numbers and dtypes that are only stored.
pub fn choose(condition: DType, dtype: DType) -> Option<Expression> {
    let dtype = dtype.compute();
    if !is_traced(dtype) {
        return None;
    }
    Some(trace(vec![condition, dtype, dtype], Arithmetic::Fused, &mut || {
        let c = record(condition, Op::Input(0), &[]);
        let zero = || record(condition, Op::Constant(0), &[]);
        let truth = if condition == DType::Bool { c } else { record(DType::Bool, Op::Ne, &[c, zero()]) };
        let [a, b] = [1, 2].map(|i| record(dtype, Op::Input(i), &[]));
        (vec![record(dtype, Op::Select, &[truth, a, b])], None)
    }))
}
