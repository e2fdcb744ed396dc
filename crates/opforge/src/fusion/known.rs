//! Chains that one loop of their own carries out, without blocks. They are told by what they compute, not by names.

use opforge_cpu::reduce::squares_of_differences;
use opforge_tile::{BinaryFn, Float, Squares, UnaryFn};
use opforge_trace::{Arithmetic, Expression, Reduction};

use super::chain::{Chain, Fused, Link};
use super::part::Part;
use crate::operator::Lowering;
use crate::{DType, Meta};

/// The sum or mean of squared differences: nothing between the subtraction and the reduction is written, not even to a cache.
pub(super) fn fuse(chain: &Chain<'_>, wanted: &dyn Fn(usize) -> bool) -> Option<Fused> {
    let total = chain.total.as_ref()?;
    let (first, square) = match &chain.links[..] {
        [first] => (first, None),
        [first, square] => (first, Some(square)),
        _ => return None,
    };
    let [x, y] = &first.part.inputs[..] else { return None };
    let (dtype, count) = (x.dtype, total.part.inputs[0].elem_count());
    let passes = match square {
        None => passes(first, total, wanted),
        Some(square) => passes(first, square, wanted) && passes(square, total, wanted),
    };
    if !passes || x.elem_count() != count || y.elem_count() != count {
        return None;
    }
    if elementwise(first.part)? != opforge_trace::binary(Difference, dtype, Arithmetic::Plain)? {
        return None;
    }
    let squares = squares_of(square.map(|link| link.part), total.part, (dtype, count))?;
    let kernel = squares_of_differences(squares, dtype, count)?;
    Some(Fused { kernel, inputs: first.accesses[..2].to_vec(), outputs: vec![total.result()] })
}

/// Whether a call reads nothing but what another makes, and nobody else does.
fn passes(from: &Link<'_>, to: &Link<'_>, wanted: &dyn Fn(usize) -> bool) -> bool {
    let made = from.result();
    to.accesses[..to.part.inputs.len()].iter().all(|access| *access == made) && !wanted(made.storage)
}

/// Which reduction of squares a call to square, if there is one, and a total are.
fn squares_of(square: Option<&Part>, total: &Part, (dtype, count): (DType, usize)) -> Option<Squares> {
    let squared = opforge_trace::unary(Square, dtype, Arithmetic::Plain)?;
    let mut reduction = reduction(total)?;
    if let Some(square) = square {
        // A product whose factors are the same is a square.
        let made = elementwise(square)?;
        let is_square = made == squared || made == opforge_trace::binary(Product, dtype, Arithmetic::Plain)?;
        let is_plain = reduction.before == opforge_trace::unary(Same, dtype, Arithmetic::Plain)?;
        if !is_square || !is_plain {
            return None;
        }
        reduction.before = squared;
    }
    let is = |squares: &Squares| {
        opforge_trace::reduce(*squares, dtype, dtype, count, Arithmetic::Plain).is_some_and(|known| known == reduction)
    };
    [Squares::Mean, Squares::Sum].into_iter().find(is)
}

/// What a call computes of single elements.
fn elementwise(part: &Part) -> Option<Expression> {
    let Lowering::Tile(tile) = lowering(part)? else { return None };
    let dtypes: Vec<DType> = part.inputs.iter().map(|input| input.dtype).collect();
    tile.trace(&dtypes, Arithmetic::Plain)
}

/// What a call computes of all elements.
fn reduction(part: &Part) -> Option<Reduction> {
    let Lowering::Reduce(reduce) = lowering(part)? else { return None };
    let (input, output) = (&part.inputs[0], &part.outputs[0]);
    reduce.trace(input.dtype, output.dtype, input.elem_count(), Arithmetic::Plain)
}

fn lowering(part: &Part) -> Option<Lowering> {
    let (inputs, outputs): (Vec<&Meta>, Vec<&Meta>) = (part.inputs.iter().collect(), part.outputs.iter().collect());
    part.op.lower(&inputs, &outputs).ok()
}

#[derive(Clone, Copy)]
struct Difference;
impl BinaryFn for Difference {
    fn float<V: Float>(self, a: V, b: V) -> V {
        a - b
    }
}

#[derive(Clone, Copy)]
struct Product;
impl BinaryFn for Product {
    fn float<V: Float>(self, a: V, b: V) -> V {
        a * b
    }
}

#[derive(Clone, Copy)]
struct Square;
impl UnaryFn for Square {
    fn float<V: Float>(self, x: V) -> V {
        x * x
    }
}

#[derive(Clone, Copy)]
struct Same;
impl UnaryFn for Same {
    fn float<V: Float>(self, x: V) -> V {
        x
    }
}
