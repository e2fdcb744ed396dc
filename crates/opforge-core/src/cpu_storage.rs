//! Vectors of elements of any dtype: how the host sees a tensor's memory.

use crate::{Complex, DType, Element, Error, F8E4M3, F8E5M2, Result, WithDType, bf16, f16};

/// How vectors of an element type become a [`CpuStorage`], and come back.
pub trait Hosted: Sized {
    /// A vector as a storage of its dtype.
    fn into_cpu(values: Vec<Self>) -> CpuStorage;
    /// The same, borrowed.
    fn cpu_ref(values: &[Self]) -> CpuStorageRef<'_>;
    /// The elements of a storage of this dtype.
    fn of_cpu(storage: &CpuStorage) -> Option<&[Self]>;
    /// The same, to be changed.
    fn of_cpu_mut(storage: &mut CpuStorage) -> Option<&mut Vec<Self>>;
}

macro_rules! storages {
    ($($variant:ident($ty:ty)),* $(,)?) => {
        /// A vector of elements of some dtype.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum CpuStorage { $($variant(Vec<$ty>)),* }

        /// A slice of elements of some dtype.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[allow(missing_docs)]
        pub enum CpuStorageRef<'a> { $($variant(&'a [$ty])),* }

        impl CpuStorage {
            /// The dtype of the elements.
            pub const fn element_dtype(&self) -> DType {
                match self { $(CpuStorage::$variant(_) => DType::$variant),* }
            }

            /// A storage of a dtype without elements.
            pub const fn empty(dtype: DType) -> Self {
                match dtype { $(DType::$variant => CpuStorage::$variant(Vec::new())),* }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self { $(CpuStorage::$variant(values) => values.len()),* }
            }

            /// The elements, borrowed.
            pub fn as_storage_ref(&self) -> CpuStorageRef<'_> {
                match self { $(CpuStorage::$variant(values) => CpuStorageRef::$variant(values)),* }
            }
        }

        impl CpuStorageRef<'_> {
            /// The dtype of the elements.
            pub const fn element_dtype(&self) -> DType {
                match self { $(CpuStorageRef::$variant(_) => DType::$variant),* }
            }

            /// A copy of the elements.
            pub fn to_owned(&self) -> CpuStorage {
                match self { $(CpuStorageRef::$variant(values) => CpuStorage::$variant(values.to_vec())),* }
            }
        }

        $(impl From<Vec<$ty>> for CpuStorage {
            fn from(values: Vec<$ty>) -> Self {
                CpuStorage::$variant(values)
            }
        }

        impl Hosted for $ty {
            fn into_cpu(values: Vec<Self>) -> CpuStorage {
                values.into()
            }
            fn cpu_ref(values: &[Self]) -> CpuStorageRef<'_> {
                CpuStorageRef::$variant(values)
            }
            fn of_cpu(storage: &CpuStorage) -> Option<&[Self]> {
                if let CpuStorage::$variant(values) = storage { Some(values) } else { None }
            }
            fn of_cpu_mut(storage: &mut CpuStorage) -> Option<&mut Vec<Self>> {
                if let CpuStorage::$variant(values) = storage { Some(values) } else { None }
            }
        })*
    };
}
storages!(
    Bool(bool),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    F8E4M3(F8E4M3),
    F8E5M2(F8E5M2),
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
    C64(Complex<f32>),
    C128(Complex<f64>),
);

/// Evaluates an expression with the vector in a [`CpuStorage`], of whatever type it is.
///
/// ```
/// # use opforge_core::{CpuStorage, with_storage};
/// let storage = CpuStorage::from(vec![1u8, 2]);
/// assert_eq!(with_storage!(&storage, values => std::mem::size_of_val(&values[..])), 2);
/// ```
#[macro_export]
macro_rules! with_storage {
    ($storage:expr, $values:ident => $value:expr) => {
        match $storage {
            $crate::CpuStorage::Bool($values) => $value,
            $crate::CpuStorage::U8($values) => $value,
            $crate::CpuStorage::U16($values) => $value,
            $crate::CpuStorage::U32($values) => $value,
            $crate::CpuStorage::U64($values) => $value,
            $crate::CpuStorage::I8($values) => $value,
            $crate::CpuStorage::I16($values) => $value,
            $crate::CpuStorage::I32($values) => $value,
            $crate::CpuStorage::I64($values) => $value,
            $crate::CpuStorage::F8E4M3($values) => $value,
            $crate::CpuStorage::F8E5M2($values) => $value,
            $crate::CpuStorage::F16($values) => $value,
            $crate::CpuStorage::BF16($values) => $value,
            $crate::CpuStorage::F32($values) => $value,
            $crate::CpuStorage::F64($values) => $value,
            $crate::CpuStorage::C64($values) => $value,
            $crate::CpuStorage::C128($values) => $value,
        }
    };
}

impl CpuStorage {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as their Rust type.
    ///
    /// # Errors
    /// When they are of another dtype.
    pub fn as_slice<D: WithDType>(&self) -> Result<&[D]> {
        D::of_cpu(self).ok_or_else(|| self.unexpected::<D>())
    }

    /// As [`CpuStorage::as_slice`], to be changed.
    ///
    /// # Errors
    /// As [`CpuStorage::as_slice`].
    pub fn as_mut_slice<D: WithDType>(&mut self) -> Result<&mut [D]> {
        let unexpected = self.unexpected::<D>();
        D::of_cpu_mut(self).map(Vec::as_mut_slice).ok_or(unexpected)
    }

    /// The elements of several storages, one after the other.
    ///
    /// # Errors
    /// For no storage, and for several dtypes.
    pub fn concat(storages: &[CpuStorage]) -> Result<CpuStorage> {
        let Some(first) = storages.first() else {
            return Err(Error::value("concat", "storages", "none", "at least one"));
        };
        if let Some(other) = storages.iter().find(|other| other.element_dtype() != first.element_dtype()) {
            return Err(Error::dtypes("concat", first.element_dtype(), other.element_dtype()));
        }
        let mut all = CpuStorage::empty(first.element_dtype());
        with_storage!(&mut all, all => storages.iter().for_each(|part| append(all, part)));
        Ok(all)
    }

    fn unexpected<D: WithDType>(&self) -> Error {
        let (expected, got) = (<D as Element>::DTYPE, self.element_dtype());
        Error::UnexpectedDType { msg: "dtype of a storage", expected, got }
    }
}

/// Adds the elements of a storage of the vector's dtype.
fn append<T: Hosted + Clone>(all: &mut Vec<T>, part: &CpuStorage) {
    all.extend_from_slice(T::of_cpu(part).unwrap_or_default());
}
