//! Reads tile functions: calls them once with symbols that write down what is done to them, and keeps that as an [`Expression`], which prints
//! as C.
//!
//! ```
//! use opforge_core::DType;
//! use opforge_tile::{Float, UnaryFn};
//!
//! #[derive(Clone, Copy)]
//! struct LeakyRelu;
//! impl UnaryFn for LeakyRelu {
//!     #[inline(always)]
//!     fn float<V: Float>(self, x: V) -> V {
//!         V::select(x.gt(V::splat(0.0)), x, x * V::splat(0.25))
//!     }
//! }
//!
//! let expression = opforge_trace::unary(LeakyRelu, DType::F32, true).expect("floats have it");
//! assert_eq!(
//!     expression.to_c("leaky_relu"),
//!     "float leaky_relu(float x) {\n    return 0.0f < x ? x : x * 0.25f;\n}\n"
//! );
//! ```
//!
//! What it calls beside C's own functions is in [`C_PRELUDE`], except for [intrinsics](Expression::intrinsics).

mod c;
mod expression;
mod families;
mod record;
mod reduction;
mod rows;
mod symbol;

pub use c::{C_PRELUDE, c_operation, c_type};
pub use expression::{Expression, Function, Id, Node, Op, bits};
pub use families::{binary, cast, choose, compare, ternary, test, unary, update};
pub use record::Arithmetic;
pub use reduction::{Reduction, reduce, reduce_truth};
pub use rows::{Pass, Passes, rows};
pub use symbol::Symbol;
