//! Where a builder's tensors come from: variables, given tensors and files.

use std::collections::HashMap;

use opforge::npy::NpzTensors;
use opforge::pickle::PthTensors;
use opforge::safetensors::{BufferedSafetensors, MmapedSafetensors, SliceSafetensors};
use opforge::{DType, Device, Error, Result, Shape, Tensor};

use super::SimpleBackend;
use crate::var_map::{check_shape, missing};
use crate::{Init, VarMap};

impl SimpleBackend for NpzTensors {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        check_shape(name, &shape, &tensor)?;
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        NpzTensors::get(self, name)?.ok_or_else(|| missing(name))?.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.get_shape_and_dtype(name).is_ok()
    }
}

impl SimpleBackend for PthTensors {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        check_shape(name, &shape, &tensor)?;
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        PthTensors::get(self, name)?.ok_or_else(|| missing(name))?.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.tensor_infos().contains_key(name)
    }
}

impl SimpleBackend for VarMap {
    fn get(&self, shape: Shape, name: &str, init: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        VarMap::get(self, shape, name, init, dtype, device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        self.lock().get(name).map(|var| var.as_tensor().clone()).ok_or_else(|| missing(name))
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }
}

pub(super) struct Zeros;

impl SimpleBackend for Zeros {
    fn get(&self, shape: Shape, _: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::zeros(shape, dtype, device)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        Err(Error::value("get_unchecked", "name", name, "a builder of tensors with shapes; this one makes zeros"))
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

pub(super) struct Tensors(pub HashMap<String, Tensor>);

impl Tensors {
    fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
        let tensor = self.get(name)?;
        if tensor.device() != device {
            return Err(Error::devices("get", device, tensor.device()));
        }
        Ok(tensor.clone())
    }

    fn get(&self, name: &str) -> Result<&Tensor> {
        self.0.get(name).ok_or_else(|| missing(name))
    }
}

/// Backends of given tensors, which `load` gives by name and `get` finds.
macro_rules! given_tensors {
    ($($ty:ty),*) => {
        $(impl SimpleBackend for $ty {
            fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Result<Tensor> {
                let tensor = self.load(name, device)?;
                check_shape(name, &shape, &tensor)?;
                tensor.to_dtype(dtype)
            }

            fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
                self.load(name, device)?.to_dtype(dtype)
            }

            fn contains_tensor(&self, name: &str) -> bool {
                <$ty>::get(self, name).is_ok()
            }
        })*
    };
}
given_tensors!(Tensors, MmapedSafetensors, BufferedSafetensors, SliceSafetensors<'_>);
