//! candle's view of storages, for custom operators.

use std::any::Any;

use opforge_runtime::vm;

use crate::{Complex, DType, Device, Element, Error, Layout, Result, Shape, Tensor, WithDType, bf16, f16};

/// What storages of all devices have.
pub trait BackendStorage {
    /// The dtype of the elements.
    fn dtype(&self) -> DType;
}

macro_rules! storages {
    ($($variant:ident($ty:ty)),* $(,)?) => {
        /// A vector of elements of some dtype.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum CpuStorage { $($variant(Vec<$ty>)),* }

        impl BackendStorage for CpuStorage {
            fn dtype(&self) -> DType {
                match self { $(CpuStorage::$variant(_) => DType::$variant),* }
            }
        }

        $(impl From<Vec<$ty>> for CpuStorage {
            fn from(values: Vec<$ty>) -> Self {
                CpuStorage::$variant(values)
            }
        })*

        impl CpuStorage {
            fn any(&self) -> &dyn Any {
                match self { $(CpuStorage::$variant(values) => values),* }
            }

            /// The elements of a part of a tensor's storage, on whatever device it is.
            fn read(tensor: &Tensor, start: usize, len: usize) -> Result<Self> {
                let guard = vm::read(tensor.storage())?;
                let first = start * tensor.dtype().size_in_bytes();
                Ok(match tensor.dtype() { $(DType::$variant => guard.to_vec::<$ty>(first, len)?.into()),* })
            }

            /// A tensor of the elements, which are in row-major order, on a device.
            pub(super) fn into_tensor(self, shape: Shape, device: &Device) -> Result<Tensor> {
                match self { $(CpuStorage::$variant(values) => Tensor::from_vec(values, shape, device)),* }
            }
        }
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
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
    C64(Complex<f32>),
    C128(Complex<f64>),
);

impl CpuStorage {
    /// The elements as their Rust type.
    ///
    /// # Errors
    /// When they are of another dtype.
    pub fn as_slice<D: WithDType>(&self) -> Result<&[D]> {
        let unexpected =
            || Error::UnexpectedDType { msg: "dtype of a storage", expected: <D as Element>::DTYPE, got: self.dtype() };
        self.any().downcast_ref::<Vec<D>>().map(Vec::as_slice).ok_or_else(|| unexpected().bt())
    }

    /// A copy of the part of a tensor's storage that its layout spans, the layout within that part, and where the part begins.
    pub(super) fn of(tensor: &Tensor) -> Result<(Self, Layout, usize)> {
        let layout = tensor.layout();
        let start = layout.start_offset();
        let len = if tensor.elem_count() == 0 { 0 } else { layout.span() - start };
        let stride = layout.stride().iter().copied().collect();
        let layout = Layout::new(layout.shape().clone(), stride, 0, "custom operator")?;
        Ok((CpuStorage::read(tensor, start, len)?, layout, start))
    }
}

/// The results of a function for all elements, in row-major order.
///
/// # Panics
/// When they do not fit into memory; a panic within a kernel is an error of its call.
pub fn unary_map<T: Copy, U: Copy>(values: &[T], layout: &Layout, mut f: impl FnMut(T) -> U) -> Vec<U> {
    match layout.contiguous_offsets() {
        Some((start, end)) => values[start..end].iter().map(|&v| f(v)).collect(),
        None => {
            check_room::<U>(layout.shape().elem_count());
            layout.indices().map(|i| f(values[i])).collect()
        }
    }
}

/// The results of a function for all pairs of elements of equal places, in row-major order.
///
/// # Panics
/// As [`unary_map`].
pub fn binary_map<T: Copy, U: Copy>(
    lhs_layout: &Layout,
    rhs_layout: &Layout,
    lhs: &[T],
    rhs: &[T],
    mut f: impl FnMut(T, T) -> U,
) -> Vec<U> {
    check_room::<U>(lhs_layout.shape().elem_count());
    lhs_layout.indices().zip(rhs_layout.indices()).map(|(i, j)| f(lhs[i], rhs[j])).collect()
}

/// Panics where a vector of so many results would end the process.
fn check_room<U>(count: usize) {
    if let Err(error) = opforge_runtime::alloc::check_available(count.saturating_mul(size_of::<U>())) {
        panic!("{error}");
    }
}
