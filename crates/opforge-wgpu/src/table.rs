//! The driver's functions as C has them: handles are addresses of this crate's own values, failures and panics are written to where the caller says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;

use opforge_wgsl::driver::{Driver, Failure, Handle, Launch as Issued, Opened, VERSION};
use wgpu::Buffer;

use crate::gpu::{Fault, Gpu, Result, adapters, describe, other};
use crate::kernel::{Kernel, Launch};

/// The driver by wgpu.
pub static DRIVER: Driver =
    Driver { version: VERSION, describe: name_of, open, buffer, release, write, read, clear, compile, run, wait, tidy };

/// What `work` gives; where it fails or panics, the failure is noted and `none` given.
///
/// # Safety
/// The failure is there to be written to.
unsafe fn guarded<T>(failure: *mut Failure, none: T, work: impl FnOnce() -> Result<T>) -> T {
    let panicked = |payload: Box<dyn std::any::Any + Send>| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        other(text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("the driver panicked"))
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(payload))).unwrap_or_else(
        |Fault(code, message)| {
            // SAFETY: the caller's failure is there until the call returns.
            unsafe { (*failure).note(code, &message) };
            none
        },
    )
}

/// The value that a handle stands for.
///
/// # Safety
/// The handle was given for a `T`, and not released.
unsafe fn of<'a, T>(handle: Handle) -> &'a T {
    // SAFETY: the handle is the address of a `T` in a box, which only `release` drops.
    unsafe { &*handle.cast_const().cast::<T>() }
}

fn handle<T>(value: T) -> Handle {
    Box::into_raw(Box::new(value)).cast()
}

unsafe extern "C" fn name_of(number: u32, name: *mut u8, capacity: usize) -> usize {
    let written = catch_unwind(|| {
        let described = adapters().get(number as usize).map(describe).unwrap_or_default();
        let length = described.len().min(capacity);
        // SAFETY: the caller has room for so many bytes.
        unsafe { ptr::copy_nonoverlapping(described.as_ptr(), name, length) };
        length
    });
    written.unwrap_or(0)
}

unsafe extern "C" fn open(number: u32, opened: *mut Opened, failure: *mut Failure) {
    let work = || {
        let adapters = adapters();
        let gpu = Gpu::open(adapters.get(number as usize).ok_or_else(|| other("there is no GPU of this number"))?)?;
        let limits = gpu.device.limits();
        let found = Opened {
            most_bytes: limits.max_storage_buffer_binding_size,
            most_buffers: limits.max_storage_buffers_per_shader_stage,
            doubles: gpu.doubles.into(),
            long_integers: gpu.long_integers.into(),
            gpu: handle(gpu),
        };
        // SAFETY: the caller has room for it.
        unsafe { opened.write(found) };
        Ok(())
    };
    // SAFETY: the failure is the caller's.
    unsafe { guarded(failure, (), work) }
}

unsafe extern "C" fn buffer(gpu: Handle, nbytes: u64, failure: *mut Failure) -> Handle {
    // SAFETY: the GPU and the failure are the caller's.
    unsafe { guarded(failure, ptr::null_mut(), || of::<Gpu>(gpu).buffer(nbytes).map(handle)) }
}

unsafe extern "C" fn release(buffer: Handle) {
    // SAFETY: the handle was made of a box, and is given back once.
    let buffer = unsafe { Box::from_raw(buffer.cast::<Buffer>()) };
    // A panic says no more than that it was not given back.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(buffer)));
}

unsafe extern "C" fn write(
    gpu: Handle,
    buffer: Handle,
    offset: u64,
    bytes: *const u8,
    nbytes: usize,
    failure: *mut Failure,
) {
    // SAFETY: handles, bytes and the failure are the caller's.
    unsafe {
        guarded(failure, (), || of::<Gpu>(gpu).write(of(buffer), offset, slice::from_raw_parts(bytes, nbytes)));
    }
}

unsafe extern "C" fn read(
    gpu: Handle,
    buffer: Handle,
    offset: u64,
    bytes: *mut u8,
    nbytes: usize,
    failure: *mut Failure,
) {
    // SAFETY: handles, bytes and the failure are the caller's.
    unsafe {
        guarded(failure, (), || of::<Gpu>(gpu).read(of(buffer), offset, slice::from_raw_parts_mut(bytes, nbytes)));
    }
}

unsafe extern "C" fn clear(gpu: Handle, buffer: Handle, nbytes: u64, failure: *mut Failure) {
    // SAFETY: handles and the failure are the caller's.
    unsafe { guarded(failure, (), || of::<Gpu>(gpu).clear(of(buffer), nbytes)) }
}

unsafe extern "C" fn compile(
    gpu: Handle,
    text: *const u8,
    length: usize,
    buffers: u32,
    status: u32,
    failure: *mut Failure,
) -> Handle {
    let work = || {
        // SAFETY: the GPU and the text are the caller's.
        let (gpu, text) = unsafe { (of::<Gpu>(gpu), slice::from_raw_parts(text, length)) };
        let text = std::str::from_utf8(text).map_err(other)?;
        gpu.compile(text, buffers, (status != 0).then_some(status)).map(handle)
    };
    // SAFETY: the failure is the caller's.
    unsafe { guarded(failure, ptr::null_mut(), work) }
}

/// A launch by this crate's own values.
///
/// # Safety
/// Its handles and bytes are the caller's until it has been issued.
unsafe fn launch(issued: &Issued) -> Launch<'_> {
    // SAFETY: the handles are of kernels and buffers that the caller keeps, the arrays of the lengths beside them.
    unsafe {
        Launch {
            kernel: of::<Kernel>(issued.kernel),
            buffers: slice::from_raw_parts(issued.buffers, issued.count).iter().map(|&buffer| of(buffer)).collect(),
            status: (!issued.status.is_null()).then(|| of(issued.status)),
            uniforms: slice::from_raw_parts(issued.uniforms, issued.nbytes),
            groups: issued.groups,
        }
    }
}

unsafe extern "C" fn run(gpu: Handle, launches: *const Issued, count: usize, failure: *mut Failure) {
    let work = || {
        // SAFETY: the GPU, the launches and what they name are the caller's.
        let (gpu, launches) = unsafe { (of::<Gpu>(gpu), slice::from_raw_parts(launches, count)) };
        // SAFETY: what a launch names is there until it has been issued, which is before the call returns.
        gpu.run(&launches.iter().map(|issued| unsafe { launch(issued) }).collect::<Vec<_>>())
    };
    // SAFETY: the failure is the caller's.
    unsafe { guarded(failure, (), work) }
}

unsafe extern "C" fn wait(gpu: Handle, failure: *mut Failure) {
    // SAFETY: the GPU and the failure are the caller's.
    unsafe { guarded(failure, (), || of::<Gpu>(gpu).wait()) }
}

unsafe extern "C" fn tidy(gpu: Handle) {
    // SAFETY: the GPU is the caller's. What fails here, fails where a result is read.
    let _ = catch_unwind(AssertUnwindSafe(|| unsafe { of::<Gpu>(gpu) }.tidy()));
}
