//! The C structures of DLPack 1.x: <https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h>.

use std::ffi::{CStr, c_void};

use opforge::DType;
use opforge_core::DeviceLocation;

/// The version of the structures written here.
pub const VERSION: Version = Version { major: 1, minor: 0 };

/// Main memory, as a device type.
pub const CPU: i32 = 1;
/// CUDA devices, as a device type.
pub const CUDA: i32 = 2;

/// [`ManagedVersioned::flags`]: the memory must not be written.
pub const READ_ONLY: u64 = 1;
/// [`ManagedVersioned::flags`]: the memory is a copy made for this exchange.
pub const IS_COPIED: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[derive(Debug)]
#[repr(C)]
pub struct DlTensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DataType,
    /// `ndim` lengths.
    pub shape: *mut i64,
    /// `ndim` strides in elements; null for row-major order.
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// A tensor with its owner, as DLPack 0.x has it.
#[repr(C)]
pub struct Managed {
    pub tensor: DlTensor,
    pub context: *mut c_void,
    pub deleter: Option<Deleter<Managed>>,
}

/// A tensor with its owner, as DLPack 1.x has it.
#[repr(C)]
pub struct ManagedVersioned {
    pub version: Version,
    pub context: *mut c_void,
    pub deleter: Option<Deleter<ManagedVersioned>>,
    pub flags: u64,
    pub tensor: DlTensor,
}

/// What the two forms have in common.
pub trait Exchange: Sized + 'static {
    /// The name of a capsule with one.
    const NAME: &'static CStr;
    /// The name once somebody has taken it over.
    const USED: &'static CStr;

    fn new(tensor: DlTensor, context: *mut c_void, deleter: Deleter<Self>, flags: u64) -> Self;
    fn content(&self) -> Content<'_, Self>;
}

/// Frees a structure and what it points to.
type Deleter<M> = unsafe extern "C" fn(*mut M);

/// What a structure holds, in either form.
pub struct Content<'a, M> {
    pub tensor: &'a DlTensor,
    pub context: *mut c_void,
    pub deleter: Option<Deleter<M>>,
    pub read_only: bool,
    /// The version, where there is one.
    pub version: Option<Version>,
}

impl Exchange for Managed {
    const NAME: &'static CStr = c"dltensor";
    const USED: &'static CStr = c"used_dltensor";

    fn new(tensor: DlTensor, context: *mut c_void, deleter: Deleter<Self>, _flags: u64) -> Self {
        Managed { tensor, context, deleter: Some(deleter) }
    }

    fn content(&self) -> Content<'_, Self> {
        let Managed { ref tensor, context, deleter } = *self;
        Content { tensor, context, deleter, read_only: false, version: None }
    }
}

impl Exchange for ManagedVersioned {
    const NAME: &'static CStr = c"dltensor_versioned";
    const USED: &'static CStr = c"used_dltensor_versioned";

    fn new(tensor: DlTensor, context: *mut c_void, deleter: Deleter<Self>, flags: u64) -> Self {
        ManagedVersioned { version: VERSION, context, deleter: Some(deleter), flags, tensor }
    }

    fn content(&self) -> Content<'_, Self> {
        let ManagedVersioned { ref tensor, context, deleter, flags, version } = *self;
        Content { tensor, context, deleter, read_only: flags & READ_ONLY != 0, version: Some(version) }
    }
}

/// The kinds of numbers, by their codes.
const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const COMPLEX: u8 = 5;
const BOOL: u8 = 6;
const FLOAT8_E4M3FN: u8 = 10;
const FLOAT8_E5M2: u8 = 12;

impl Device {
    /// A device by DLPack's numbers, if it has some.
    pub fn of(device: opforge::Device) -> Option<Device> {
        match device.location() {
            DeviceLocation::Cpu => Some(Device { kind: CPU, id: 0 }),
            DeviceLocation::Cuda { gpu_id } => Some(Device { kind: CUDA, id: i32::try_from(gpu_id).ok()? }),
            _ => None,
        }
    }

    /// The device, if it is there.
    pub fn present(self) -> Option<opforge::Device> {
        match (self.kind, usize::try_from(self.id)) {
            (CPU, _) => Some(opforge::Device::Cpu),
            (CUDA, Ok(number)) if number < crate::cuda::count() => opforge_cuda::device(number).ok(),
            _ => None,
        }
    }
}

impl From<DType> for DataType {
    fn from(dtype: DType) -> Self {
        let code = match dtype {
            DType::Bool => BOOL,
            DType::BF16 => BFLOAT,
            DType::F8E4M3 => FLOAT8_E4M3FN,
            DType::F8E5M2 => FLOAT8_E5M2,
            dtype if dtype.is_float() => FLOAT,
            dtype if dtype.is_complex() => COMPLEX,
            dtype if dtype.is_signed() => INT,
            _ => UINT,
        };
        DataType { code, bits: (dtype.size_in_bytes() * 8) as u8, lanes: 1 }
    }
}

impl DataType {
    /// The dtype, if tensors can have it.
    pub fn to_dtype(self) -> Option<DType> {
        DType::ALL.into_iter().find(|&dtype| DataType::from(dtype) == self)
    }
}
