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
/// The failure is there to be written to, as [`Driver`] demands of every call.
unsafe fn guarded<T>(failure: *mut Failure, none: T, work: impl FnOnce() -> Result<T>) -> T {
    let panicked = |payload: Box<dyn std::any::Any + Send>| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        other(text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("the driver panicked"))
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(payload))).unwrap_or_else(
        |Fault(code, message)| {
            // SAFETY: the failure is there to be written to until the call returns, by this function's contract.
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
        // SAFETY: `Driver` demands room for `capacity` bytes, of which `length` are written.
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
        // SAFETY: `Driver` demands that `opened` is writable.
        unsafe { opened.write(found) };
        Ok(())
    };
    // SAFETY: `Driver` demands a failure that is writable.
    unsafe { guarded(failure, (), work) }
}

unsafe extern "C" fn buffer(gpu: Handle, nbytes: u64, failure: *mut Failure) -> Handle {
    // SAFETY: `Driver` demands a GPU of `open`, and a failure that is writable.
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
    // SAFETY: `Driver` demands a GPU and a buffer of this driver, `nbytes` readable bytes, and a failure that is writable.
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
    // SAFETY: `Driver` demands a GPU and a buffer of this driver, and `nbytes` bytes and a failure that are writable.
    unsafe {
        guarded(failure, (), || of::<Gpu>(gpu).read(of(buffer), offset, slice::from_raw_parts_mut(bytes, nbytes)));
    }
}

unsafe extern "C" fn clear(gpu: Handle, buffer: Handle, nbytes: u64, failure: *mut Failure) {
    // SAFETY: `Driver` demands a GPU and a buffer of this driver, and a failure that is writable.
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
        // SAFETY: `Driver` demands a GPU of `open`, and a text of `length` readable bytes.
        let (gpu, text) = unsafe { (of::<Gpu>(gpu), slice::from_raw_parts(text, length)) };
        let text = std::str::from_utf8(text).map_err(other)?;
        gpu.compile(text, buffers, (status != 0).then_some(status)).map(handle)
    };
    // SAFETY: `Driver` demands a failure that is writable.
    unsafe { guarded(failure, ptr::null_mut(), work) }
}

/// A launch by this crate's own values.
///
/// # Safety
/// What it names is there until it has been issued: handles of this driver, and arrays of the lengths beside them.
unsafe fn launch(issued: &Issued) -> Launch<'_> {
    // SAFETY: the handles are those of a kernel and of buffers, and the arrays have the lengths beside them, by this function's contract.
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
        // SAFETY: `Driver` demands a GPU of `open`, and `count` readable launches.
        let (gpu, launches) = unsafe { (of::<Gpu>(gpu), slice::from_raw_parts(launches, count)) };
        // SAFETY: `Driver` demands what launches name until the call returns, which is when they have been issued.
        gpu.run(&launches.iter().map(|issued| unsafe { launch(issued) }).collect::<Vec<_>>())
    };
    // SAFETY: `Driver` demands a failure that is writable.
    unsafe { guarded(failure, (), work) }
}

unsafe extern "C" fn wait(gpu: Handle, failure: *mut Failure) {
    // SAFETY: `Driver` demands a GPU of `open`, and a failure that is writable.
    unsafe { guarded(failure, (), || of::<Gpu>(gpu).wait()) }
}

unsafe extern "C" fn tidy(gpu: Handle) {
    // SAFETY: `Driver` demands a GPU of `open`. What fails here, fails where a result is read.
    let _ = catch_unwind(AssertUnwindSafe(|| unsafe { of::<Gpu>(gpu) }.tidy()));
}
