//! Tensors, operators and autograd.
//!
//! ```
//! use opforge::{Device, Tensor, Var};
//! # fn main() -> opforge::Result<()> {
//! let w = Var::new(&[[1f32, -2.0], [3.0, 4.0]], &Device::Cpu)?;
//! let loss = w.relu()?.sqr()?.sum_all()?;
//! let grads = loss.backward()?;
//! assert_eq!(grads.get(&w).unwrap().to_vec2::<f32>()?, [[2.0, 0.0], [6.0, 8.0]]);
//! # Ok(())
//! # }
//! ```
//!
//! The journey of a call, module by module: [`functional`] checks, promotes and broadcasts; [`mod@dispatch`] chooses an interpreter;
//! [`autograd`] records; the eager interpreter infers, makes outputs and hands an instruction to the VM of `opforge-runtime`, which runs a
//! kernel of `opforge-cpu`. What an operator is stands in [`operator`], what
//! its kinds share in [`family`]; the operators themselves, a file each, in [`ops`]; all that there is in [`registry`].
#![deny(unsafe_code)]

// What the attribute `function` makes names this crate, inside of it too.
extern crate self as opforge;

pub mod arguments;
pub mod autograd;
pub mod custom_op;
pub mod declaration;
pub mod devices;
pub mod dispatch;
pub mod family;
pub mod functional;
pub mod fusion;
pub mod io;
mod methods;
mod module;
pub mod operator;
pub mod ops;
pub mod quantized;
pub mod registry;
pub mod streaming;
mod tensor;
pub mod test_utils;
pub mod utils;

pub use autograd::{GradStore, Var, no_grad};
pub use custom_op::{
    CpuStorage, CpuStorageRef, CudaStorage, CustomOp1, CustomOp2, CustomOp3, InplaceOp1, InplaceOp2, InplaceOp3,
    MetalStorage, Storage, StorageRef,
};
pub use declaration::function;
pub use io::{FileAccess, npy, pickle, safetensors};
pub use methods::{IndexOp, TensorIndexer, ToUsize2};
pub use module::{Module, ModuleT};
pub use opforge_core::term;
pub use opforge_core::{
    Complex, Context, CustomFault, D, DType, DTypeParseError, Dim, Dims, Element, Error, ErrorKind, F8E4M3, F8E5M2,
    FloatDType, IntDType, Layout, Meta, NdIter, Result, Scalar, Shape, ShapeWithOneHole, StridedBlocks, StridedIndex,
    WithDType, bf16, f16,
};
pub use opforge_runtime::{CudaDevice, Device, DeviceLocation, Generator, MetalDevice};
pub use streaming::{StreamTensor, StreamingBinOp, StreamingModule};
pub use tensor::{NdArray, Tensor, TensorId};
pub use tensor::{display, tracer};

/// Names as candle's programs import them.
pub mod backprop {
    pub use crate::autograd::GradStore;
}

/// Names as candle's programs import them.
pub mod op {
    pub use crate::custom_op::{BackpropOp, ReduceOp};
    pub use crate::methods::CmpOp;
}

/// Names as candle's programs import them.
pub mod layout {
    pub use crate::Layout;
    pub use opforge_core::LayoutRelation;
}

/// Names as candle's programs import them.
pub mod nditer {
    pub use opforge_core::{MAX_DIMS, NdIter};
}

/// Names as candle's programs import them.
pub mod conv {
    pub use crate::methods::CudnnFwdAlgo;
}

/// Names as candle's programs import them.
pub mod backend {
    pub use crate::custom_op::{BackendDevice, BackendStorage};
}

/// Names as candle's programs import them.
pub mod cpu_backend {
    pub use crate::custom_op::{
        CpuDevice, CpuStorage, CpuStorageRef, Map1, Map1Any, Map2, Map2InPlace, Map2U8, binary_map, binary_map_vec,
        unary_map, unary_map_vec,
    };
}

/// Names as candle's programs import them.
pub mod shape {
    pub use crate::{D, Dim, Dims, Shape, ShapeWithOneHole};
    pub use opforge_core::{dims0, dims1, dims2, dims3, dims4, dims5};

    /// The shape of a scalar.
    pub const SCALAR: () = ();
}

/// Names as candle's programs import them.
pub mod scalar {
    pub use crate::Scalar;
    pub use crate::arguments::{TensorOrScalar, TensorScalar};
}

/// Names as candle's programs import them.
pub mod error {
    pub use crate::{Context, Error, Result};
    pub use opforge_core::MatMulUnexpectedStriding;

    /// Both results, or the first error.
    ///
    /// # Errors
    /// Those given.
    pub fn zip<T, U>(first: Result<T>, second: Result<U>) -> Result<(T, U)> {
        Ok((first?, second?))
    }
}

/// Returns early with an error made of a format string.
#[macro_export]
macro_rules! bail {
    ($($arg:tt)*) => {
        return Err($crate::Error::msg(format!($($arg)*)).bt())
    };
}
