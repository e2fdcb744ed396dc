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

/// A number is a tensor without dimensions; tensors of rank 0 to 3 are numbers and nested vectors.
macro_rules! conversions {
    ($($ty:ty),* $(,)?) => {
        $(impl TryFrom<$ty> for Tensor {
            type Error = Error;
            fn try_from(number: $ty) -> Result<Self, Error> {
                Tensor::new(number, &Device::Cpu)
            }
        }
        conversions!(@from $ty, to_scalar);
        conversions!(@from Vec<$ty>, to_vec1);
        conversions!(@from Vec<Vec<$ty>>, to_vec2);
        conversions!(@from Vec<Vec<Vec<$ty>>>, to_vec3);)*
    };
    (@from $ty:ty, $method:ident) => {
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
conversions!(bool, u8, u16, u32, u64, i8, i16, i32, i64);
conversions!(crate::F8E4M3, crate::F8E5M2, crate::f16, crate::bf16, f32, f64);
