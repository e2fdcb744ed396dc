//! What expressions compute, in a kernel.

use opforge_core::DType;
use opforge_trace::{Expression, Node, Op};

use crate::code::Code;
use crate::kernel::Source;
use crate::rare::{Side, Sides};
use crate::value::Value;

impl Code {
    /// The results of an expression, and where it has none.
    pub fn apply<'a>(&'a self, of: &Expression, inputs: &[Value<'a>]) -> (Vec<Value<'a>>, Option<Value<'a>>) {
        let rounded = if self.target.reorders { rounded(of) } else { vec![false; of.nodes().len()] };
        let mut written =
            Written { code: self, of, inputs, rounded, sides: Sides::new(of), values: vec![None; of.nodes().len()] };
        written.block(None);
        let values = written.values;
        let failure = of.failure().and_then(|id| values[id.number()]);
        (of.results().iter().filter_map(|id| values[id.number()]).collect(), failure)
    }

    /// The one result of an expression that always has it.
    pub fn call<'a>(&'a self, of: &Expression, inputs: &[Value<'a>]) -> Value<'a> {
        self.apply(of, inputs).0[0]
    }
}

/// An expression of which some nodes have values.
struct Written<'a, 'e> {
    code: &'a Code,
    of: &'e Expression,
    inputs: &'e [Value<'a>],
    rounded: Vec<bool>,
    sides: Sides,
    values: Vec<Option<Value<'a>>>,
}

impl<'a> Written<'a, '_> {
    /// The nodes that are computed here: those of a side of a choice, or those that always are.
    fn block(&mut self, side: Option<Side>) {
        let of = self.of;
        for (i, node) in of.nodes().iter().enumerate() {
            if self.sides.place(i) == Some(side) {
                self.values[i] = Some(self.value(i, node));
            }
        }
    }

    fn value(&mut self, i: usize, node: &Node) -> Value<'a> {
        let code = self.code;
        match node.op {
            Op::Input(k) => self.inputs[k],
            Op::Constant(bits) => code.constant_bits(bits, node.dtype),
            Op::Select if [1, 2].iter().any(|&n| self.sides.is_block((i, n))) => self.chosen(i, node),
            op => match magnitude(self.of, node) {
                // What is known is no operation: compilers of WGSL refuse some of constants.
                Some(bits) => code.constant_bits(bits, node.dtype),
                None => {
                    let operands = node.operands.iter().filter_map(|id| self.values[id.number()]).map(|value| value.id);
                    let value = code.defined(node.dtype, Source::Compute(op), &operands.collect::<Vec<_>>());
                    if self.rounded[i] { code.defined(node.dtype, Source::Kept, &[value.id]) } else { value }
                }
            },
        }
    }

    /// A choice of which one side is a block, or both are.
    fn chosen(&mut self, i: usize, node: &Node) -> Value<'a> {
        let (code, of) = (self.code, |n: usize| node.operands[n].number());
        let known = |written: &Self, n: usize| written.values[of(n)].filter(|_| !written.sides.is_block((i, n)));
        let first = known(self, 1).or(known(self, 2)).unwrap_or_else(|| code.constant_bits(0, node.dtype));
        let result = code.var(first);
        for n in [1, 2] {
            if let (true, Some(condition)) = (self.sides.is_block((i, n)), self.values[of(0)]) {
                code.when(if n == 1 { condition } else { !condition }, || {
                    self.block(Some((i, n)));
                    if let Some(value) = self.values[of(n)] {
                        result.set(value);
                    }
                });
            }
        }
        result.get()
    }
}

/// The bits of a node that is a constant's magnitude.
fn magnitude(of: &Expression, node: &Node) -> Option<u64> {
    match (of.node(*node.operands.first().filter(|_| node.op == Op::Abs)?).op, node.dtype) {
        (Op::Constant(bits), DType::F32) => Some(bits & 0x7fff_ffff),
        (Op::Constant(bits), DType::F64) => Some(bits & (u64::MAX >> 1)),
        _ => None,
    }
}

/// Which sums something that was added is taken away from again, to see how they were rounded: `(x + c) - c` is not `x`.
fn rounded(of: &Expression) -> Vec<bool> {
    let mut rounded = vec![false; of.nodes().len()];
    let is_sum = |node: &Node| node.dtype.is_float() && matches!(node.op, Op::Add | Op::Sub);
    for node in of.nodes().iter().filter(|node| is_sum(node)) {
        for (one, other) in [(0, 1), (1, 0)] {
            let (sum, other) = (node.operands[one], node.operands[other]);
            rounded[sum.number()] |= is_sum(of.node(sum)) && of.node(sum).operands.contains(&other);
        }
    }
    rounded
}
