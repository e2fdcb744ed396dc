//! Functions of rows, traced.

use opforge_core::{DType, Element};
use opforge_tile::{Float, Fold, Row, RowFn};

use crate::expression::{Expression, Id};
use crate::record::{Arithmetic, trace};
use crate::symbol::Symbol;

/// What a function of rows computes, pass by pass.
///
/// Expressions are of the elements of a place, input by input; then of what is kept at the place, and of the numbers that the passes before have
/// found.
#[derive(Debug, Clone)]
pub struct Passes {
    /// Inputs, whose elements come first in every expression.
    pub inputs: usize,
    /// The passes, in order.
    pub passes: Vec<Pass>,
}

/// A pass over a row.
#[derive(Debug, Clone)]
pub enum Pass {
    /// Finds a number: the fold of an expression. A second result is kept at the place.
    Fold(Fold, Expression),
    /// Writes an expression's result to an output, place by place.
    Write(usize, Expression),
}

/// A pass, its results still nodes of the whole trace.
enum Recorded {
    Fold(Fold, Vec<Id>),
    Write(usize, Id),
}

/// The row of a trace.
struct Recorder<T, const K: usize> {
    passes: Vec<Recorded>,
    found: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Element, const K: usize> Recorder<T, K> {
    fn place() -> ([Symbol<T>; K], Symbol<T>) {
        (std::array::from_fn(Symbol::input), Symbol::input(K))
    }

    /// Notes a fold, and gives the number that it finds.
    fn found(&mut self, by: Fold, results: Vec<Id>) -> Symbol<T> {
        self.passes.push(Recorded::Fold(by, results));
        self.found += 1;
        Symbol::input(K + self.found)
    }
}

impl<T: Element, const K: usize> Row<K> for Recorder<T, K>
where
    Symbol<T>: Float,
{
    type Element = Symbol<T>;

    fn fold(&mut self, by: Fold, term: impl Fn([Symbol<T>; K], Symbol<T>) -> Symbol<T>) -> Symbol<T> {
        let (elements, kept) = Self::place();
        let term = term(elements, kept);
        self.found(by, vec![term.id])
    }

    fn fold_keeping(&mut self, by: Fold, place: impl Fn([Symbol<T>; K], Symbol<T>) -> [Symbol<T>; 2]) -> Symbol<T> {
        let (elements, kept) = Self::place();
        let [term, kept] = place(elements, kept);
        self.found(by, vec![term.id, kept.id])
    }

    fn write(&mut self, output: usize, element: impl Fn([Symbol<T>; K], Symbol<T>) -> Symbol<T>) {
        let (elements, kept) = Self::place();
        self.passes.push(Recorded::Write(output, element(elements, kept).id));
    }
}

/// The passes of a function of rows of a dtype, f16 and bf16 as f32; none for dtypes that are no floats.
pub fn rows<F: RowFn<K>, const K: usize>(f: F, dtype: DType, arithmetic: impl Into<Arithmetic>) -> Option<Passes> {
    let arithmetic = arithmetic.into();
    match dtype.compute() {
        DType::F32 => Some(passes::<f32, F, K>(f, arithmetic)),
        DType::F64 => Some(passes::<f64, F, K>(f, arithmetic)),
        _ => None,
    }
}

fn passes<T: Element, F: RowFn<K>, const K: usize>(f: F, arithmetic: Arithmetic) -> Passes
where
    Symbol<T>: Float,
{
    let mut row = Recorder::<T, K> { passes: Vec::new(), found: 0, element: std::marker::PhantomData };
    let whole = trace(Vec::new(), arithmetic, &mut || {
        f.row(&mut row);
        (Vec::new(), None)
    });
    // What is found later is no input of a pass.
    let mut inputs = K + 1;
    let mut of = |results: Vec<Id>, finds: bool| {
        let expression = Expression { inputs: vec![T::DTYPE; inputs], results, ..whole.clone() };
        inputs += usize::from(finds);
        expression
    };
    let passes = row.passes.into_iter().map(|pass| match pass {
        Recorded::Fold(by, results) => Pass::Fold(by, of(results, true)),
        Recorded::Write(output, result) => Pass::Write(output, of(vec![result], false)),
    });
    Passes { inputs: K, passes: passes.collect() }
}
