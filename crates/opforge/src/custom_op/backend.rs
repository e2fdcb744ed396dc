//! What candle's programs do with storages and devices without tensors: computed by tensors over them.

use opforge_core::{Hosted, with_storage};

use super::{CpuStorage, host};
use crate::methods::CmpOp;
use crate::{DType, Device, DeviceLocation, Error, Layout, Result, Scalar, Shape, Tensor, WithDType};

/// A reduction, as [`BackendStorage::reduce_op`] takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReduceOp {
    Sum,
    Min,
    Max,
    ArgMin,
    ArgMax,
}

impl ReduceOp {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::ArgMin => "argmin",
            ReduceOp::ArgMax => "argmax",
        }
    }
}

/// The CPU as a device of its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CpuDevice;

/// What storages of all devices have. Layouts say where the elements are; results lie in row-major order.
pub trait BackendStorage: Sized {
    /// The device's type.
    type Device: BackendDevice;

    /// The dtype of the elements.
    fn dtype(&self) -> DType;
    /// Where the elements are.
    fn device(&self) -> &Self::Device;
    /// A copy of all elements.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn try_clone(&self, layout: &Layout) -> Result<Self>;
    /// A copy of all elements in main memory.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn to_cpu_storage(&self) -> Result<CpuStorage>;
    /// As [`Tensor::to_dtype`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self>;
    /// As [`Tensor::affine`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self>;
    /// As [`Tensor::powf`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self>;
    /// As [`Tensor::elu`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self>;
    /// The reduction along these dimensions; positions along a single one.
    ///
    /// # Errors
    /// Positions along several dimensions; a layout beyond the storage.
    fn reduce_op(&self, op: ReduceOp, layout: &Layout, dims: &[usize]) -> Result<Self>;
    /// As [`Tensor::cmp`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn cmp(&self, op: CmpOp, rhs: &Self, lhs_l: &Layout, rhs_l: &Layout) -> Result<Self>;
    /// As [`Tensor::where_cond`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn where_cond(&self, layout: &Layout, t: &Self, t_l: &Layout, f: &Self, f_l: &Layout) -> Result<Self>;
    /// As [`Tensor::index_select`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn index_select(&self, ids: &Self, layout: &Layout, ids_l: &Layout, dim: usize) -> Result<Self>;
    /// As [`Tensor::gather`].
    ///
    /// # Errors
    /// Those of the method; a layout beyond the storage.
    fn gather(&self, layout: &Layout, ids: &Self, ids_l: &Layout, dim: usize) -> Result<Self>;
    /// The products of `b` matrices `[m, k]` and `[k, n]`, for `(b, m, n, k)`.
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; layouts of other sizes.
    fn matmul(&self, rhs: &Self, bmnk: (usize, usize, usize, usize), lhs_l: &Layout, rhs_l: &Layout) -> Result<Self>;
    /// Writes the elements that a layout names into another storage, one after the other from a place on.
    ///
    /// # Errors
    /// When they do not fit there; another dtype.
    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_l: &Layout) -> Result<()>;
    /// Writes a number into the elements that a layout names.
    ///
    /// # Errors
    /// For a number that the dtype does not hold; a layout beyond the storage.
    fn const_set(&mut self, number: Scalar, layout: &Layout) -> Result<()>;
}

/// What devices of all kinds have.
pub trait BackendDevice: Sized + std::fmt::Debug + Clone {
    /// The type of the memory.
    type Storage: BackendStorage;

    /// The device of that number.
    ///
    /// # Errors
    /// Where there is none.
    fn new(ordinal: usize) -> Result<Self>;
    /// Where it is.
    fn location(&self) -> DeviceLocation;
    /// Whether both are the same.
    fn same_device(&self, other: &Self) -> bool;
    /// Zeros.
    ///
    /// # Errors
    /// When there is no memory for them.
    fn zeros_impl(&self, shape: &Shape, dtype: DType) -> Result<Self::Storage>;
    /// A copy of these elements.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn storage_from_slice<T: WithDType>(&self, values: &[T]) -> Result<Self::Storage>;
    /// A copy of these elements.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn storage_from_cpu_storage(&self, storage: &CpuStorage) -> Result<Self::Storage>;
    /// These elements.
    ///
    /// # Errors
    /// When there is no memory for them.
    fn storage_from_cpu_storage_owned(&self, storage: CpuStorage) -> Result<Self::Storage>;
    /// Numbers that are uniform in `[lo, up)`.
    ///
    /// # Errors
    /// As [`Tensor::rand`].
    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<Self::Storage>;
    /// Normal numbers.
    ///
    /// # Errors
    /// As [`Tensor::randn`].
    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<Self::Storage>;
    /// Starts the device's random numbers anew.
    ///
    /// # Errors
    /// As [`Device::set_seed`].
    fn set_seed(&self, seed: u64) -> Result<()>;
    /// The seed of the device's random numbers.
    ///
    /// # Errors
    /// As [`Device::get_current_seed`].
    fn get_current_seed(&self) -> Result<u64>;
    /// Waits for all calls.
    ///
    /// # Errors
    /// As [`Device::synchronize`].
    fn synchronize(&self) -> Result<()>;
}

impl BackendStorage for CpuStorage {
    type Device = CpuDevice;

    fn dtype(&self) -> DType {
        self.element_dtype()
    }
    fn device(&self) -> &CpuDevice {
        &CpuDevice
    }
    fn try_clone(&self, _: &Layout) -> Result<Self> {
        Ok(self.clone())
    }
    fn to_cpu_storage(&self) -> Result<CpuStorage> {
        Ok(self.clone())
    }
    fn to_dtype(&self, layout: &Layout, dtype: DType) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.to_dtype(dtype)?)
    }
    fn affine(&self, layout: &Layout, mul: f64, add: f64) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.affine(mul, add)?)
    }
    fn powf(&self, layout: &Layout, exponent: f64) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.powf(exponent)?)
    }
    fn elu(&self, layout: &Layout, alpha: f64) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.elu(alpha)?)
    }
    fn reduce_op(&self, op: ReduceOp, layout: &Layout, dims: &[usize]) -> Result<Self> {
        host::elements(&reduced(&host::viewed(self, layout)?, op, dims)?)
    }
    fn cmp(&self, op: CmpOp, rhs: &Self, lhs_l: &Layout, rhs_l: &Layout) -> Result<Self> {
        host::elements(&host::viewed(self, lhs_l)?.cmp(&host::viewed(rhs, rhs_l)?, op)?)
    }
    fn where_cond(&self, layout: &Layout, t: &Self, t_l: &Layout, f: &Self, f_l: &Layout) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.where_cond(&host::viewed(t, t_l)?, &host::viewed(f, f_l)?)?)
    }
    fn index_select(&self, ids: &Self, layout: &Layout, ids_l: &Layout, dim: usize) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.index_select(&host::viewed(ids, ids_l)?, dim)?)
    }
    fn gather(&self, layout: &Layout, ids: &Self, ids_l: &Layout, dim: usize) -> Result<Self> {
        host::elements(&host::viewed(self, layout)?.gather(&host::viewed(ids, ids_l)?, dim)?)
    }
    fn matmul(&self, rhs: &Self, bmnk: (usize, usize, usize, usize), lhs_l: &Layout, rhs_l: &Layout) -> Result<Self> {
        let (b, m, n, k) = bmnk;
        let lhs = host::viewed(self, lhs_l)?.reshape((b, m, k))?;
        host::elements(&lhs.matmul(&host::viewed(rhs, rhs_l)?.reshape((b, k, n))?)?)
    }
    fn copy_strided_src(&self, dst: &mut Self, dst_offset: usize, src_l: &Layout) -> Result<()> {
        let source = host::elements(&host::viewed(self, src_l)?)?;
        let (count, room) = (source.len(), dst.len().saturating_sub(dst_offset));
        if count > room {
            let given = format!("{count} elements from {dst_offset} on");
            return Err(Error::shape("copy_strided_src", "src", given, format!("at most {room} elements")));
        }
        let mismatch = Error::dtypes("copy_strided_src", source.element_dtype(), dst.element_dtype());
        with_storage!(dst, to => write(&source, to, dst_offset)).ok_or(mismatch)
    }
    fn const_set(&mut self, number: Scalar, layout: &Layout) -> Result<()> {
        let all = host::viewed(self, &Layout::contiguous(self.len()))?;
        Tensor::over_storage(all.storage().clone(), all.dtype(), layout.clone())?.const_set(number)?;
        *self = host::whole(&all)?;
        Ok(())
    }
}

/// Copies the elements of a storage to a place in a vector; `None` for another dtype.
fn write<T: Hosted + Copy>(source: &CpuStorage, to: &mut [T], start: usize) -> Option<()> {
    let source = T::of_cpu(source)?;
    to[start..][..source.len()].copy_from_slice(source);
    Some(())
}

fn reduced(tensor: &Tensor, op: ReduceOp, dims: &[usize]) -> Result<Tensor> {
    let along_each = |f: fn(&Tensor, usize) -> Result<Tensor>| {
        dims.iter().try_fold(tensor.clone(), |reduced, &dim| f(&reduced, dim))
    };
    match (op, dims) {
        (ReduceOp::Sum, _) => tensor.sum_keepdim(dims),
        (ReduceOp::Max, _) => along_each(Tensor::max_keepdim),
        (ReduceOp::Min, _) => along_each(Tensor::min_keepdim),
        (ReduceOp::ArgMax, &[dim]) => tensor.argmax_keepdim(dim),
        (ReduceOp::ArgMin, &[dim]) => tensor.argmin_keepdim(dim),
        _ => Err(Error::value(op.name(), "dims", format!("{dims:?}"), "a single dimension")),
    }
}

impl BackendDevice for CpuDevice {
    type Storage = CpuStorage;

    fn new(_: usize) -> Result<Self> {
        Ok(CpuDevice)
    }
    fn location(&self) -> DeviceLocation {
        DeviceLocation::Cpu
    }
    fn same_device(&self, _: &Self) -> bool {
        true
    }
    fn zeros_impl(&self, shape: &Shape, dtype: DType) -> Result<CpuStorage> {
        host::elements(&Tensor::zeros(shape, dtype, &Device::Cpu)?)
    }
    fn storage_from_slice<T: WithDType>(&self, values: &[T]) -> Result<CpuStorage> {
        Ok(T::to_cpu_storage(values))
    }
    fn storage_from_cpu_storage(&self, storage: &CpuStorage) -> Result<CpuStorage> {
        Ok(storage.clone())
    }
    fn storage_from_cpu_storage_owned(&self, storage: CpuStorage) -> Result<CpuStorage> {
        Ok(storage)
    }
    fn rand_uniform(&self, shape: &Shape, dtype: DType, lo: f64, up: f64) -> Result<CpuStorage> {
        host::elements(&Tensor::zeros(shape, dtype, &Device::Cpu)?.rand_like(lo, up)?)
    }
    fn rand_normal(&self, shape: &Shape, dtype: DType, mean: f64, std: f64) -> Result<CpuStorage> {
        host::elements(&Tensor::zeros(shape, dtype, &Device::Cpu)?.randn_like(mean, std)?)
    }
    fn set_seed(&self, seed: u64) -> Result<()> {
        Device::Cpu.set_seed(seed)
    }
    fn get_current_seed(&self) -> Result<u64> {
        Device::Cpu.get_current_seed()
    }
    fn synchronize(&self) -> Result<()> {
        Device::Cpu.synchronize()
    }
}
