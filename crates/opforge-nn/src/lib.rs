//! Layers, losses, optimizers and learning-rate schedules over [`opforge`], under candle-nn's names; where values are not candle's, the documentation of
//! [`Tensor`](opforge::Tensor) says so.
//!
//! ```
//! use opforge::{DType, Device, Module, Tensor};
//! use opforge_nn::{AdamW, Optimizer, VarBuilder, VarMap, linear, loss, seq};
//! # fn main() -> opforge::Result<()> {
//! let vars = VarMap::new();
//! let vb = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
//! let model = seq().add(linear(2, 16, vb.pp("in"))?).add_fn(|x| x.tanh()).add(linear(16, 1, vb.pp("out"))?);
//!
//! let x = Tensor::new(&[[0f32, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], &Device::Cpu)?;
//! let xor = Tensor::new(&[[0f32], [1.0], [1.0], [0.0]], &Device::Cpu)?;
//! let mut optimizer = AdamW::new_lr(vars.all_vars(), 0.05)?;
//! for _ in 0..200 {
//!     optimizer.backward_step(&loss::mse(&model.forward(&x)?, &xor)?)?;
//! }
//! assert!(loss::mse(&model.forward(&x)?, &xor)?.to_scalar::<f32>()? < 0.01);
//! # Ok(())
//! # }
//! ```

pub mod activation;
pub mod attention;
pub mod batch_norm;
pub mod conv;
mod dropout;
pub mod embedding;
pub mod encoding;
pub mod func;
pub mod group_norm;
pub mod init;
pub mod kv_cache;
pub mod layer_norm;
pub mod linear;
pub mod loss;
pub mod moe;
pub mod ops;
pub mod optim;
pub mod rnn;
pub mod rotary_emb;
pub mod sampling;
pub mod schedule;
pub mod sequential;
pub mod var_builder;
pub mod var_map;

/// [`attention`] by its earlier name.
pub mod cpu_flash_attention {
    pub use crate::attention::cpu_flash::standard::run_flash_attn_cpu;
}

/// [`attention::varlen`] by its earlier name.
pub mod varlen_attention {
    pub use crate::attention::varlen::flash_attn_varlen_unfused;
}

pub use activation::{Activation, PReLU, prelu};
pub use batch_norm::{BatchNorm, BatchNormConfig, batch_norm};
pub use conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose1d, ConvTranspose1dConfig, ConvTranspose2d,
    ConvTranspose2dConfig, conv_transpose1d, conv_transpose1d_no_bias, conv_transpose2d, conv_transpose2d_no_bias,
    conv1d, conv1d_no_bias, conv2d, conv2d_no_bias,
};
pub use dropout::Dropout;
pub use embedding::{Embedding, embedding};
pub use func::{Func, FuncT, func, func_t};
pub use group_norm::{GroupNorm, group_norm};
pub use init::Init;
pub use layer_norm::{LayerNorm, LayerNormConfig, RmsNorm, layer_norm, layer_norm_no_bias, rms_norm};
pub use linear::{Linear, linear, linear_b, linear_no_bias};
pub use opforge::{Module, ModuleT};
pub use optim::{Adam, AdamW, Optimizer, ParamsAdam, ParamsAdamW, ParamsSGD, SGD};
pub use rnn::{GRU, GRUConfig, LSTM, LSTMConfig, RNN, gru, lstm};
pub use sequential::{Sequential, seq};
pub use var_builder::VarBuilder;
pub use var_map::VarMap;
