//! Conversions between tensors and Rust's numbers, slices and vectors.

use opforge_core::Element;

use crate::{Device, Error, Tensor};

impl<T: Element> TryFrom<&[T]> for Tensor {
    type Error = Error;
    fn try_from(data: &[T]) -> Result<Self, Error> {
        Tensor::from_slice(data, data.len(), &Device::Cpu)
    }
}

impl<T: Element> TryFrom<Vec<T>> for Tensor {
    type Error = Error;
    fn try_from(data: Vec<T>) -> Result<Self, Error> {
        let len = data.len();
        Tensor::from_vec(data, len, &Device::Cpu)
    }
}

/// A number is a tensor without dimensions.
macro_rules! into_tensor {
    ($($ty:ty),*) => {
        $(impl TryFrom<$ty> for Tensor {
            type Error = Error;
            fn try_from(number: $ty) -> Result<Self, Error> {
                Tensor::new(number, &Device::Cpu)
            }
        })*
    };
}

/// Tensors of rank 0 to 3 as numbers and nested vectors.
macro_rules! from_tensor {
    ($($ty:ty),*) => {
        $(from_tensor!(@one $ty, to_scalar);
        from_tensor!(@one Vec<$ty>, to_vec1);
        from_tensor!(@one Vec<Vec<$ty>>, to_vec2);
        from_tensor!(@one Vec<Vec<Vec<$ty>>>, to_vec3);)*
    };
    (@one $ty:ty, $method:ident) => {
        impl TryFrom<&Tensor> for $ty {
            type Error = Error;
            fn try_from(tensor: &Tensor) -> Result<Self, Error> {
                tensor.$method()
            }
        }
        impl TryFrom<Tensor> for $ty {
            type Error = Error;
            fn try_from(tensor: Tensor) -> Result<Self, Error> {
                tensor.$method()
            }
        }
    };
}
into_tensor!(
    bool,
    u8,
    u16,
    u32,
    u64,
    i8,
    i16,
    i32,
    i64,
    crate::F8E4M3,
    crate::F8E5M2,
    crate::f16,
    crate::bf16,
    f32,
    f64
);
from_tensor!(
    bool,
    u8,
    u16,
    u32,
    u64,
    i8,
    i16,
    i32,
    i64,
    crate::F8E4M3,
    crate::F8E5M2,
    crate::f16,
    crate::bf16,
    f32,
    f64
);
