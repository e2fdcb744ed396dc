//! Tile functions: the mathematics of operators, element by element, stated once for everybody who carries it out.
//!
//! A tile function is generic over the type of its elements and uses nothing but what [`Float`], [`Int`] and [`Mask`] offer: arithmetic,
//! comparisons and choices, no memory and no branches. So it is read in two ways: compiled, for the vectors of each instruction set
//! (`opforge-cpu`), and traced, with symbols that write down what is done to them (`opforge-trace`). What is no function of elements is stated as
//! plain data: [`forms`].
//!
//! Hence comparisons give masks, of integers too; a fast path is [`Float::select_rarely`], which a trace holds as a choice; and what is computed lane
//! by lane in f64 is an [`Intrinsic`] with a name. A trace is told whether multiply-add rounds once ([`Float::fused`]). `opforge/tests/trace`
//! compiles the C of every tile function and reduction of the registry, in every dtype, and expects the bits that the kernels give on each
//! instruction set.
//!
//! ```
//! use opforge_tile::{Float, Int, UnaryFn, math};
//!
//! /// `x / (1 + e^-x)`, or for integers the greater of x and 0.
//! #[derive(Clone, Copy)]
//! struct Gate;
//! impl UnaryFn for Gate {
//!     const INT: bool = true;
//!     #[inline(always)]
//!     fn float<V: Float>(self, x: V) -> V {
//!         x * math::sigmoid(x)
//!     }
//!     #[inline(always)]
//!     fn int<I: Int>(self, x: I) -> I {
//!         I::select(x.gt(I::from_i64(0)), x, I::from_i64(0))
//!     }
//! }
//! assert_eq!([Gate.int(-3i32), Gate.int(3)], [0, 3]); // Integers are elements themselves.
//! ```

// What the derive `Attributes` makes names the crate above, which shows the same module `term`.
extern crate opforge_core as opforge;

mod float;
pub mod forms;
mod function;
mod int;
mod intrinsic;
pub mod math;
mod number;
mod rows;
mod squares;

pub use float::{Bits, Float, Mask};
pub use function::{BinaryFn, CompareFn, Integers, Reducer, TernaryFn, TestFn, TruthReducer, UnaryFn, UpdateFn};
pub use int::Int;
pub use intrinsic::{Intrinsic, Of1, Of2};
pub use number::Number;
pub use rows::{Fold, Row, RowFn, Softmax, SoftmaxSlope};
pub use squares::Squares;
