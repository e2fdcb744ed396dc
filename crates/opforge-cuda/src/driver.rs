//! The driver's functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use opforge_core::{Error, Result};

use crate::library::{absent, functions, open};

/// An address in a GPU's memory.
pub(crate) type Address = u64;
/// What the driver refers to by a pointer: a context, a stream, a module, a function, a pool.
pub(crate) type Handle = *mut c_void;

functions! {
    /// The driver.
    Driver {
        init = "cuInit" (c_uint);
        error_name = "cuGetErrorName" (c_int, *mut *const c_char);
        error_string = "cuGetErrorString" (c_int, *mut *const c_char);
        device_count = "cuDeviceGetCount" (*mut c_int);
        device_get = "cuDeviceGet" (*mut c_int, c_int);
        device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
        device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
        device_total_memory = "cuDeviceTotalMem_v2" (*mut usize, c_int);
        context_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
        context_set = "cuCtxSetCurrent" (Handle);
        pool = "cuDeviceGetDefaultMemPool" (*mut Handle, c_int);
        pool_set = "cuMemPoolSetAttribute" (Handle, c_int, *mut c_void);
        pool_get = "cuMemPoolGetAttribute" (Handle, c_int, *mut c_void);
        pool_trim = "cuMemPoolTrimTo" (Handle, usize);
        memory_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
        allocate = "cuMemAllocAsync" (*mut Address, usize, Handle);
        free = "cuMemFreeAsync" (Address, Handle);
        clear = "cuMemsetD8Async" (Address, u8, usize, Handle);
        upload = "cuMemcpyHtoDAsync_v2" (Address, *const c_void, usize, Handle);
        download = "cuMemcpyDtoHAsync_v2" (*mut c_void, Address, usize, Handle);
        host_allocate = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
        host_address = "cuMemHostGetDevicePointer_v2" (*mut Address, *mut c_void, c_uint);
        stream_create = "cuStreamCreate" (*mut Handle, c_uint);
        stream_wait = "cuStreamSynchronize" (Handle);
        stream_query = "cuStreamQuery" (Handle);
        event_create = "cuEventCreate" (*mut Handle, c_uint);
        event_record = "cuEventRecord" (Handle, Handle);
        event_wait = "cuEventSynchronize" (Handle);
        event_query = "cuEventQuery" (Handle);
        event_elapsed = "cuEventElapsedTime" (*mut f32, Handle, Handle);
        event_destroy = "cuEventDestroy_v2" (Handle);
        module_load = "cuModuleLoadData" (*mut Handle, *const c_void);
        module_function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
        function_set = "cuFuncSetAttribute" (Handle, c_int, c_int);
        launch = "cuLaunchKernel" (
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
        );
    }
}

/// The driver's code for memory that there is not.
pub(crate) const OUT_OF_MEMORY: c_int = 2;
/// The driver's code for what has not run yet.
pub(crate) const NOT_READY: c_int = 600;

/// What is asked about a device, by the driver's numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attribute {
    Multiprocessors = 16,
    Major = 75,
    Minor = 76,
    /// The most shared memory that a block can be given.
    SharedMemory = 97,
    Pools = 115,
}

/// The attribute of a function, by the driver's number, that is the most dynamic shared memory of a block.
pub(crate) const DYNAMIC_SHARED_MEMORY: c_int = 8;

/// What is asked about a pool of memory, by the driver's numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PoolAttribute {
    /// How much of what nobody uses is kept.
    Threshold = 4,
    Reserved = 5,
    ReservedMost = 6,
}

impl Driver {
    /// The driver, opened and started at the first call.
    ///
    /// # Errors
    /// [`Error::Device`] where there is none.
    pub fn get() -> Result<&'static Driver> {
        static DRIVER: OnceLock<std::result::Result<Driver, String>> = OnceLock::new();
        let names = if cfg!(windows) { &["nvcuda.dll"][..] } else { &["libcuda.so.1", "libcuda.so"] };
        let start = || {
            let driver = Driver::of(open(names)?)?;
            // SAFETY: there is nothing to prepare.
            match unsafe { (driver.init)(0) } {
                0 => Ok(driver),
                code => Err(driver.describe(code)),
            }
        };
        DRIVER.get_or_init(start).as_ref().map_err(|missing| absent("the driver", missing))
    }

    /// What a code means, in the driver's words.
    fn describe(&self, code: c_int) -> String {
        let text = |get: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = ptr::null();
            // SAFETY: the driver writes the address of a text that is never freed, or null.
            unsafe {
                get(code, &mut text);
                if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
            }
        };
        format!("{} ({code}: {})", text(self.error_string), text(self.error_name))
    }

    /// The error that a code tells; none for 0. `op` is who asked, `device` where.
    ///
    /// # Errors
    /// That one.
    pub fn check(&self, op: &'static str, device: &str, code: c_int) -> Result<()> {
        match code {
            0 => Ok(()),
            OUT_OF_MEMORY => Err(Error::OutOfMemory { requested: 0, in_use: 0, limit: 0 }),
            code => Err(Error::Kernel { op: op.into(), message: format!("{device}: {}", self.describe(code)) }),
        }
    }

    /// How many devices there are.
    ///
    /// # Errors
    /// The driver's.
    pub fn count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the driver writes a number.
        self.check("device_count", "cuda", unsafe { (self.device_count)(&mut count) })?;
        Ok(count.max(0) as usize)
    }
}
