//! Rust types of elements, and how numbers become them.

use crate::cpu_storage::Hosted;
use crate::{CpuStorage, CpuStorageRef, DType, Error, F8E4M3, F8E5M2, Result, Scalar};
use half::{bf16, f16};
use num_complex::Complex;

/// A Rust type that a tensor can store: the host's side of a [`DType`].
pub trait Element: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The dtype whose elements have this type's size, alignment and bit pattern.
    const DTYPE: DType;
    /// The value as a [`Scalar`], exactly.
    fn to_scalar(self) -> Scalar;
    /// The nearest value of this type; 64-bit integers are exact, and out of range saturates.
    fn from_scalar(v: Scalar) -> Self;
}

/// A real number type, convertible to and from f64 with `as` semantics (saturating to integers, rounding to floats).
pub trait WithDType: Element + Hosted + num_traits::NumAssign + PartialOrd + std::fmt::Display {
    /// The nearest value of this type; integers truncate and saturate, and NaN gives 0.
    fn from_f64(v: f64) -> Self;
    /// The value as f64; 64-bit integers round.
    fn to_f64(self) -> f64;

    /// A vector as a storage.
    fn to_cpu_storage_owned(data: Vec<Self>) -> CpuStorage {
        Self::into_cpu(data)
    }
    /// A copy of the elements as a storage.
    fn to_cpu_storage(data: &[Self]) -> CpuStorage {
        Self::into_cpu(data.to_vec())
    }
    /// The elements as a borrowed storage.
    fn cpu_storage_ref(data: &[Self]) -> CpuStorageRef<'_> {
        Self::cpu_ref(data)
    }
    /// The elements of a storage of this dtype.
    ///
    /// # Errors
    /// [`Error::UnexpectedDType`] for another dtype.
    fn cpu_storage_as_slice(storage: &CpuStorage) -> Result<&[Self]> {
        storage.as_slice()
    }
    /// The vector of a storage of this dtype.
    ///
    /// # Errors
    /// As [`WithDType::cpu_storage_as_slice`].
    fn cpu_storage_data(mut storage: CpuStorage) -> Result<Vec<Self>> {
        let got = storage.element_dtype();
        let values = Self::of_cpu_mut(&mut storage).map(std::mem::take);
        values.ok_or(Error::UnexpectedDType { msg: "dtype of a storage", expected: Self::DTYPE, got })
    }
}

/// The floating-point types.
pub trait FloatDType: WithDType {}

/// The integer types that may hold indices.
pub trait IntDType: WithDType + num_traits::Bounded {
    /// True for any value other than zero.
    fn is_true(&self) -> bool;
    /// The value as an index.
    fn as_usize(&self) -> usize;
}

macro_rules! element {
    ($($ty:ty => $dtype:ident: $from:expr),* $(,)?) => {
        $(impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
            fn to_scalar(self) -> Scalar { self.into() }
            fn from_scalar(v: Scalar) -> Self { ($from)(v) }
        })*
    };
}
element!(
    bool => Bool: Scalar::to_bool,
    F8E4M3 => F8E4M3: |v: Scalar| WithDType::from_f64(v.to_f64()),
    F8E5M2 => F8E5M2: |v: Scalar| WithDType::from_f64(v.to_f64()),
    f16 => F16: |v: Scalar| WithDType::from_f64(v.to_f64()),
    bf16 => BF16: |v: Scalar| WithDType::from_f64(v.to_f64()),
    f32 => F32: |v: Scalar| v.to_f64() as f32,
    f64 => F64: Scalar::to_f64,
    Complex<f32> => C64: |v: Scalar| { let (re, im) = v.to_complex(); Complex::new(re as f32, im as f32) },
    Complex<f64> => C128: |v: Scalar| { let (re, im) = v.to_complex(); Complex::new(re, im) },
);

macro_rules! int_element {
    ($($ty:ty => $dtype:ident),*) => {
        $(impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
            fn to_scalar(self) -> Scalar { self.into() }
            fn from_scalar(v: Scalar) -> Self {
                match v {
                    Scalar::Bool(b) => b.into(),
                    Scalar::Int(i) => i128::from(i).clamp(<$ty>::MIN as i128, <$ty>::MAX as i128) as $ty,
                    Scalar::UInt(u) => u.min(<$ty>::MAX as u64) as $ty,
                    Scalar::Float(f) | Scalar::Complex(f, _) => f as $ty,
                }
            }
        })*
    };
}
int_element!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, i8 => I8, i16 => I16, i32 => I32, i64 => I64);

macro_rules! with_dtype {
    ($($ty:ty),*) => {
        $(impl WithDType for $ty {
            fn from_f64(v: f64) -> Self { v as $ty }
            fn to_f64(self) -> f64 { self as f64 }
        })*
    };
}
with_dtype!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

macro_rules! with_dtype_small {
    ($($ty:ty),*) => {
        $(impl WithDType for $ty {
            // By way of f32, as kernels round; `half` does not always round an f64 to the nearest bf16.
            fn from_f64(v: f64) -> Self { <$ty>::from_f32(v as f32) }
            fn to_f64(self) -> f64 { <$ty>::to_f64(self) }
        })*
    };
}
with_dtype_small!(f16, bf16, F8E4M3, F8E5M2);

impl FloatDType for F8E4M3 {}
impl FloatDType for F8E5M2 {}
impl FloatDType for f16 {}
impl FloatDType for bf16 {}
impl FloatDType for f32 {}
impl FloatDType for f64 {}

macro_rules! int_dtype {
    ($($ty:ty),*) => {
        $(impl IntDType for $ty {
            #[inline]
            fn is_true(&self) -> bool { *self != 0 }
            #[inline]
            fn as_usize(&self) -> usize { *self as usize }
        })*
    };
}
int_dtype!(u8, u16, u32, u64, i8, i16, i32, i64);
