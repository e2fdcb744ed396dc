//! Functions of all elements, and what kernels for every dtype are made of: candle's helpers for custom operators.

use super::CpuStorage;
use crate::{Error, Layout, Result, WithDType};

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

/// As [`unary_map`], where `f_vec` writes the results for elements that lie next to each other.
///
/// # Panics
/// As [`unary_map`].
pub fn unary_map_vec<T: Copy, U: Copy>(
    values: &[T],
    layout: &Layout,
    mut f: impl FnMut(T) -> U,
    mut f_vec: impl FnMut(&[T], &mut [U]),
) -> Vec<U> {
    let Some((start, end)) = layout.contiguous_offsets().filter(|(start, end)| start < end) else {
        return unary_map(values, layout, f);
    };
    let values = &values[start..end];
    let mut results = vec![f(values[0]); values.len()];
    f_vec(values, &mut results);
    results
}

/// As [`binary_map`], where `f_vec` writes the results for elements that lie next to each other on both sides, and `f_scalar_vec` those for a
/// single number on the left, repeated.
///
/// # Panics
/// As [`unary_map`].
pub fn binary_map_vec<T: Copy>(
    lhs_layout: &Layout,
    rhs_layout: &Layout,
    lhs: &[T],
    rhs: &[T],
    mut f: impl FnMut(T, T) -> T,
    mut f_vec: impl FnMut(&[T], &[T], &mut [T]),
    mut f_scalar_vec: impl FnMut(T, &[T], &mut [T]),
) -> Vec<T> {
    let Some((start, end)) = rhs_layout.contiguous_offsets().filter(|(start, end)| start < end) else {
        return binary_map(lhs_layout, rhs_layout, lhs, rhs, f);
    };
    let rhs = &rhs[start..end];
    if let Some((start, end)) = lhs_layout.contiguous_offsets() {
        let lhs = &lhs[start..end];
        let mut results = vec![f(lhs[0], rhs[0]); rhs.len()];
        f_vec(lhs, rhs, &mut results);
        return results;
    }
    if lhs_layout.stride().iter().all(|&stride| stride == 0) {
        let number = lhs[lhs_layout.start_offset()];
        let mut results = vec![f(number, rhs[0]); rhs.len()];
        f_scalar_vec(number, rhs, &mut results);
        return results;
    }
    lhs_layout.indices().zip(rhs).map(|(i, &b)| f(lhs[i], b)).collect()
}

/// Panics where a vector of so many results would end the process.
fn check_room<U>(count: usize) {
    if let Err(error) = opforge_runtime::alloc::check_available(count.saturating_mul(size_of::<U>())) {
        panic!("{error}");
    }
}

/// Evaluates an expression with the vector in a storage of numbers; other dtypes are errors of `$name`.
macro_rules! with_numbers {
    ($name:expr, $storage:expr, $values:ident => $value:expr) => {
        match $storage {
            CpuStorage::U8($values) => $value,
            CpuStorage::U16($values) => $value,
            CpuStorage::U32($values) => $value,
            CpuStorage::U64($values) => $value,
            CpuStorage::I8($values) => $value,
            CpuStorage::I16($values) => $value,
            CpuStorage::I32($values) => $value,
            CpuStorage::I64($values) => $value,
            CpuStorage::F8E4M3($values) => $value,
            CpuStorage::F8E5M2($values) => $value,
            CpuStorage::F16($values) => $value,
            CpuStorage::BF16($values) => $value,
            CpuStorage::F32($values) => $value,
            CpuStorage::F64($values) => $value,
            other => Err(Error::UnsupportedDTypeForOp(other.element_dtype(), $name).bt()),
        }
    };
}

/// The vector of the right storage, which has the left one's type.
fn same<T: WithDType>(rhs: &CpuStorage) -> Result<&[T]> {
    rhs.as_slice::<T>().map_err(|_| Error::dtypes("map", T::DTYPE, rhs.element_dtype()))
}

/// A kernel of one argument, for numbers of every dtype.
pub trait Map1 {
    /// The kernel.
    ///
    /// # Errors
    /// Whatever it refuses.
    fn f<T: WithDType>(&self, values: &[T], layout: &Layout) -> Result<Vec<T>>;

    /// The kernel for the storage's dtype.
    ///
    /// # Errors
    /// Those of the kernel; dtypes that are not numbers.
    fn map(&self, storage: &CpuStorage, layout: &Layout) -> Result<CpuStorage> {
        with_numbers!("map1", storage, values => Ok(self.f(values, layout)?.into()))
    }
}

/// As [`Map1`], with results of a dtype that the kernel chooses.
pub trait Map1Any {
    /// The kernel; `wrap` makes a storage of results that are of the argument's type.
    ///
    /// # Errors
    /// Whatever it refuses.
    fn f<T: WithDType, W: Fn(Vec<T>) -> CpuStorage>(
        &self,
        values: &[T],
        layout: &Layout,
        wrap: W,
    ) -> Result<CpuStorage>;

    /// As [`Map1::map`].
    ///
    /// # Errors
    /// As [`Map1::map`].
    fn map(&self, storage: &CpuStorage, layout: &Layout) -> Result<CpuStorage> {
        with_numbers!("map1-any", storage, values => self.f(values, layout, CpuStorage::from))
    }
}

/// A kernel of two arguments of one dtype.
pub trait Map2 {
    /// The kernel.
    ///
    /// # Errors
    /// Whatever it refuses.
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<T>>;

    /// The kernel for the storages' dtype.
    ///
    /// # Errors
    /// Those of the kernel; several dtypes, and those that are not numbers.
    fn map(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<CpuStorage> {
        with_numbers!("map2", s1, v1 => Ok(self.f(v1, l1, same(s2)?, l2)?.into()))
    }
}

/// As [`Map2`], of a kernel that changes its first argument.
pub trait Map2InPlace {
    /// The kernel.
    ///
    /// # Errors
    /// Whatever it refuses.
    fn f<T: WithDType>(&self, v1: &mut [T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<()>;

    /// As [`Map2::map`].
    ///
    /// # Errors
    /// As [`Map2::map`].
    fn map(&self, s1: &mut CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<()> {
        with_numbers!("map2-in-place", s1, v1 => self.f(v1, l1, same(s2)?, l2))
    }
}

/// As [`Map2`], with results in `u8`.
pub trait Map2U8 {
    /// The kernel.
    ///
    /// # Errors
    /// Whatever it refuses.
    fn f<T: WithDType>(&self, v1: &[T], l1: &Layout, v2: &[T], l2: &Layout) -> Result<Vec<u8>>;

    /// As [`Map2::map`].
    ///
    /// # Errors
    /// As [`Map2::map`].
    fn map(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<CpuStorage> {
        with_numbers!("map2-u8", s1, v1 => Ok(self.f(v1, l1, same(s2)?, l2)?.into()))
    }
}
