//! What networks for sequences are made of: attention and recurrent cells.

use opforge_core::Scalar;
use opforge_macros::Attributes;

/// `softmax(q k^T scale) v` of queries `q [.., n, width]`, keys `k [.., m, width]` and values `v [.., m, size]`, and perhaps a mask `[.., n, m]` as fourth
/// input, true where attention may go or, in q's dtype, added to the scores. Leading dimensions are equal, but for the last of them, the heads: each of
/// keys and values may serve several neighbouring ones of queries. A query that is let nowhere gives 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attention {
    /// What scores are multiplied by.
    pub scale: Scalar,
    /// Whether a query sees only the keys up to its own position.
    pub causal: bool,
    /// Whether the gradients of q, k and v are computed instead: inputs are those, the result's gradient and perhaps the mask.
    pub gradient: bool,
}

/// A recurrent cell over a sequence. Inputs: the input's gates, `[steps, batch, gates hidden]`; the state's weight `[gates hidden, hidden]` and bias `[gates
/// hidden]`; the first hidden state `[batch, hidden]` and, if there is one, cell state. Outputs: the hidden states `[steps, batch, hidden]`, the cell
/// states if there are any, and what the gradient needs, `[steps, batch, saved hidden]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Recurrent {
    /// The cell.
    pub cell: CellKind,
    /// Whether the last step comes first.
    pub reverse: bool,
    /// Whether gradients are computed instead. Inputs: what was saved; the hidden states; the first one; the weight; the gradients of the hidden states; and,
    /// if there are cell states, those, the first one, and their gradients. Outputs: the gradients of the input's gates, of the state's gates, and of the
    /// first states.
    pub gradient: bool,
}

/// The kinds of recurrent cells: how the next state follows from the state `h`, the input's blocks of gates `a` and the state's, `b`, bias included; with
/// `s` the logistic function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Attributes)]
pub enum CellKind {
    /// Long short-term memory: of `i, f, o = s(a + b)` in the blocks 0, 1 and 3 and `g = tanh(a2 + b2)` come the cell state `f c + i g` and the state
    /// `o tanh(c)`. `i, f, g, o` are saved.
    Lstm,
    /// Gated recurrent unit: of `r = s(a0 + b0)`, `z = s(a1 + b1)` and `n = tanh(a2 + r b2)` comes `n + z (h - n)`. `r, z, n, b2` are saved.
    Gru,
    /// `tanh(a + b)`, which is saved.
    Tanh,
    /// The positive part of `a + b`, which is saved.
    Relu,
}

impl CellKind {
    /// The blocks of gates.
    pub const fn gates(self) -> usize {
        match self {
            CellKind::Lstm => 4,
            CellKind::Gru => 3,
            CellKind::Tanh | CellKind::Relu => 1,
        }
    }

    /// The blocks of numbers that the gradient needs of a step.
    pub const fn saved(self) -> usize {
        match self {
            CellKind::Lstm | CellKind::Gru => 4,
            CellKind::Tanh | CellKind::Relu => 1,
        }
    }

    /// Whether there is a cell state besides the hidden one.
    pub const fn has_cell(self) -> bool {
        matches!(self, CellKind::Lstm)
    }
}
