//! Parts of tensors, for programs of several processes that each hold a part of the model.

use std::path::Path;

use opforge::safetensors::MmapedSafetensors;
use opforge::{DType, Device, Error, Result, Shape, Tensor};

use super::{Backend, VarBuilderArgs};
use crate::var_map::check_shape;

/// Which part of a tensor is asked for: of `world_size` equal parts along `dim`, that of this rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The dimension that is divided.
    pub dim: usize,
    /// The number of the part.
    pub rank: usize,
    /// How many parts there are.
    pub world_size: usize,
}

/// The whole tensor.
impl Default for Shard {
    fn default() -> Self {
        Shard { dim: 0, rank: 0, world_size: 1 }
    }
}

impl Shard {
    /// The part of a tensor of the file.
    fn of(self, name: &str, whole: &Tensor) -> Result<Tensor> {
        let Shard { dim, rank, world_size } = self;
        let len = whole.dim(dim)?;
        if rank >= world_size || !len.is_multiple_of(world_size) {
            let given = format!("{self:?} of {name}, {:?}", whole.shape());
            return Err(Error::value("get", "hints", given, "a rank below world_size, which divides the length"));
        }
        let part = len / world_size;
        whole.narrow(dim, rank * part, part)?.contiguous()
    }
}

/// The tensors of safetensors files, of which parts may be asked for.
pub struct ShardedSafeTensors(MmapedSafetensors);

/// A builder of parts of tensors.
///
/// ```
/// use opforge::{DType, Device, Tensor};
/// use opforge_nn::var_builder::{Shard, ShardedSafeTensors};
/// # fn main() -> opforge::Result<()> {
/// # let path = std::env::temp_dir().join(format!("shards-{}.safetensors", std::process::id()));
/// Tensor::arange(0f32, 4.0, &Device::Cpu)?.save_safetensors("w", &path)?;
/// let vb = ShardedSafeTensors::var_builder(&[&path], DType::F32, &Device::Cpu)?;
/// let second = vb.get_with_hints(2, "w", Shard { dim: 0, rank: 1, world_size: 2 })?;
/// assert_eq!(second.to_vec1::<f32>()?, [2.0, 3.0]);
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
pub type ShardedVarBuilder<'a> = VarBuilderArgs<'a, ShardedSafeTensors>;

impl ShardedSafeTensors {
    /// A builder over these files: see [`VarBuilder::from_mmaped_safetensors`](super::VarBuilder::from_mmaped_safetensors).
    ///
    /// # Errors
    /// When a file cannot be read or is malformed.
    pub fn var_builder<P: AsRef<Path>>(
        paths: &[P],
        dtype: DType,
        device: &Device,
    ) -> Result<ShardedVarBuilder<'static>> {
        let backend = ShardedSafeTensors(MmapedSafetensors::multi(paths)?);
        Ok(VarBuilderArgs::new_with_args(backend, dtype, device))
    }
}

impl Backend for ShardedSafeTensors {
    type Hints = Shard;

    /// The shape is that of the whole tensor, and is held to it, where there is one part only.
    fn get(&self, shape: Shape, name: &str, shard: Shard, dtype: DType, device: &Device) -> Result<Tensor> {
        let whole = self.0.load(name, device)?;
        if shard.world_size == 1 {
            check_shape(name, &shape, &whole)?;
        }
        shard.of(name, &whole)?.to_dtype(dtype)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        self.0.load(name, device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.0.get(name).is_ok()
    }
}
