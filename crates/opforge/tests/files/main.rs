//! Files of tensors in the formats of others.

mod npy;
mod pickle;
mod safetensors;
