//! What a tile function computes, as a value.

use opforge_core::{DType, Scalar};
use opforge_tile::{Intrinsic, Of1, Of2};

/// A node's number in its expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(crate) u32);

impl Id {
    /// The node's place in [`Expression::nodes`].
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// An intrinsic's code.
#[derive(Debug, Clone, Copy)]
pub enum Function {
    /// Of one number.
    Of1(Of1),
    /// Of two.
    Of2(Of2),
}

/// What a node computes of its operands. Floats follow IEEE; integers wrap.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    /// The argument of this number.
    Input(usize),
    /// The number with these bits.
    Constant(u64),
    /// The opposite number: of floats the other sign bit, of NaN too.
    Neg,
    /// A float's magnitude.
    Abs,
    /// The square root.
    Sqrt,
    /// Rounded down.
    Floor,
    /// Rounded up.
    Ceil,
    /// Rounded towards zero.
    Trunc,
    /// Rounded to the nearest integer, halves to even.
    RoundTiesEven,
    /// The opposite bits, or truth.
    Not,
    /// The sum.
    Add,
    /// The difference.
    Sub,
    /// The product.
    Mul,
    /// The quotient, of integers rounded towards zero, and 0 for a divisor of 0.
    Div,
    /// What an integer division leaves, and 0 for a divisor of 0.
    Rem,
    /// The lesser of floats: NaN if either is.
    Min,
    /// The greater of floats: NaN if either is.
    Max,
    /// `a * b + c`, rounded once.
    MulAdd,
    /// The bits, or truths, of both.
    And,
    /// Of either.
    Or,
    /// Of one but not both.
    Xor,
    /// Shifted to the left by so many bits.
    Shl(u32),
    /// An unsigned integer shifted to the right by so many bits.
    Shr(u32),
    /// As [`opforge_tile::Int::shift_left`].
    ShiftLeft,
    /// As [`opforge_tile::Int::shift_right`].
    ShiftRight,
    /// As [`opforge_tile::Int::wrapping_pow`].
    Pow,
    /// As [`opforge_tile::Int::gcd`].
    Gcd,
    /// 2 to the power, as [`opforge_tile::Float::exp2_or`] takes it from a machine.
    Exp2,
    /// As [`opforge_tile::Float::over`] of a machine that approximates.
    Quotient,
    /// Whether `a < b`.
    Lt,
    /// Whether `a <= b`.
    Le,
    /// Whether `a == b`.
    Eq,
    /// Whether `a != b`.
    Ne,
    /// The second operand if the first is true, else the third.
    Select,
    /// The number in another type, as Rust's `as` has it: integers wrap, floats saturate, NaN gives 0.
    Convert,
    /// The same bits as another type.
    Reinterpret,
    /// A function of f64 with a name.
    Call(&'static str, Function),
}

impl Op {
    /// What tells operations apart.
    fn key(&self) -> (std::mem::Discriminant<Op>, u64, &'static str) {
        let (number, name) = match *self {
            Op::Input(i) => (i as u64, ""),
            Op::Constant(bits) => (bits, ""),
            Op::Shl(count) | Op::Shr(count) => (count.into(), ""),
            Op::Call(name, function) => (matches!(function, Function::Of2(_)).into(), name),
            _ => (0, ""),
        };
        (std::mem::discriminant(self), number, name)
    }
}

impl PartialEq for Op {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Op {}
impl std::hash::Hash for Op {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// An operation of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// The result's dtype: bool, an integer, f32 or f64.
    pub dtype: DType,
    /// What is computed.
    pub op: Op,
    /// Of what: nodes before this one.
    pub operands: Vec<Id>,
}

/// What a tile function computes of an element of each input. No two nodes are equal: what is needed twice is computed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    pub(crate) inputs: Vec<DType>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) results: Vec<Id>,
    pub(crate) failure: Option<Id>,
}

impl Expression {
    /// The arguments' dtypes.
    pub fn inputs(&self) -> &[DType] {
        &self.inputs
    }

    /// The nodes, each after its operands.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of this number.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The results.
    pub fn results(&self) -> &[Id] {
        &self.results
    }

    /// The node that is true where the function has no result, if that may be.
    pub fn failure(&self) -> Option<Id> {
        self.failure
    }

    /// Whether each node is one that results, or the failure, are made of.
    pub fn used(&self) -> Vec<bool> {
        self.uses().into_iter().map(|uses| uses > 0).collect()
    }

    /// How often each node is used by those that are needed.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.nodes.len()];
        for id in self.results.iter().chain(&self.failure) {
            uses[id.0 as usize] += 1;
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if uses[i] > 0 {
                node.operands.iter().for_each(|id| uses[id.0 as usize] += 1);
            }
        }
        uses
    }

    /// The functions that it calls by name.
    pub fn intrinsics(&self) -> impl Iterator<Item = (&'static str, Function)> {
        self.nodes.iter().filter_map(|node| match node.op {
            Op::Call(name, function) => Some((name, function)),
            _ => None,
        })
    }

    /// The expression in which input `i` is always this number; later inputs move up.
    #[must_use]
    pub fn bind(mut self, i: usize, value: Scalar) -> Self {
        self.inputs.remove(i);
        for node in &mut self.nodes {
            match &mut node.op {
                Op::Input(k) if *k == i => node.op = Op::Constant(bits(value, node.dtype)),
                Op::Input(k) if *k > i => *k -= 1,
                _ => {}
            }
        }
        self
    }
}

/// The bits of a number as an element of a dtype that is computed in.
pub fn bits(value: Scalar, dtype: DType) -> u64 {
    match (dtype, value) {
        (DType::F32, _) => (value.to_f64() as f32).to_bits().into(),
        (DType::F64, _) => value.to_f64().to_bits(),
        (DType::Bool, _) => value.to_bool().into(),
        (_, Scalar::UInt(u)) => u,
        _ => value.to_i64() as u64,
    }
}

impl From<Intrinsic<Of1>> for Op {
    fn from(intrinsic: Intrinsic<Of1>) -> Op {
        Op::Call(intrinsic.name, Function::Of1(intrinsic.function))
    }
}
impl From<Intrinsic<Of2>> for Op {
    fn from(intrinsic: Intrinsic<Of2>) -> Op {
        Op::Call(intrinsic.name, Function::Of2(intrinsic.function))
    }
}
