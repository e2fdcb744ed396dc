//! What nearly every operator's file uses.

pub use std::sync::Arc;

pub use opforge_core::{Scalar, normalize_dim};
pub use opforge_runtime::Kernel;
pub use opforge_tile::math;
pub use opforge_tile::{BinaryFn, CompareFn, Number, TestFn, UnaryFn, UpdateFn};
pub use opforge_tile::{Bits, Float, Fold, Int, Mask, Row, RowFn};
pub use smallvec::{SmallVec, smallvec};

pub use crate::arguments::{Operand, Rules, TensorOrScalar};
pub use crate::autograd::{Backward, is_grad_enabled};
pub(crate) use crate::declaration::functions;
pub use crate::declaration::*;
pub use crate::dispatch::{Out, dispatch, dispatch_into, dispatch_to, dispatch1};
pub use crate::family::*;
pub use crate::operator::*;
pub use crate::{DType, Device, Dim, Error, Generator, Layout, Meta, Result, Shape, Tensor};
