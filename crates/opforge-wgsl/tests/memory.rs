//! Devices by a driver whose memory is the host's and which takes no kernels: memory, copies, errors, and what the CPU computes instead.

use std::ptr;
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opforge::{Device, Error, ErrorKind, Result, Tensor};
use opforge_wgsl::driver::{Driver, Failure, Handle, Launch, Opened, VERSION};

/// Bytes of a buffer at most.
const MOST: u64 = 1 << 20;

unsafe extern "C" fn describe(number: u32, name: *mut u8, capacity: usize) -> usize {
    let text = b"Host";
    if number > 1 || capacity < text.len() {
        return 0;
    }
    // SAFETY: the caller has room for as many bytes.
    unsafe { ptr::copy_nonoverlapping(text.as_ptr(), name, text.len()) };
    text.len()
}

unsafe extern "C" fn open(number: u32, opened: *mut Opened, failure: *mut Failure) {
    let found = Opened { gpu: ptr::null_mut(), most_bytes: MOST, most_buffers: 0, doubles: 0, long_integers: 0 };
    // SAFETY: both are the caller's.
    unsafe {
        match number {
            0 => opened.write(found),
            _ => (*failure).note(Failure::OTHER, "it is broken"),
        }
    }
}

unsafe extern "C" fn buffer(_: Handle, nbytes: u64, failure: *mut Failure) -> Handle {
    if nbytes == MOST {
        // SAFETY: it is the caller's.
        unsafe { (*failure).note(Failure::OUT_OF_MEMORY, "full") };
        return ptr::null_mut();
    }
    Box::into_raw(Box::new(vec![0u8; nbytes as usize])).cast()
}

/// The bytes of a buffer.
///
/// # Safety
/// The handle is that of a buffer, which nobody else uses now.
unsafe fn bytes<'a>(buffer: Handle) -> &'a mut Vec<u8> {
    // SAFETY: the handle is the address of a vector in a box, which nobody else uses now.
    unsafe { &mut *buffer.cast::<Vec<u8>>() }
}

unsafe extern "C" fn release(buffer: Handle) {
    // SAFETY: the handle was made of a box.
    drop(unsafe { Box::from_raw(buffer.cast::<Vec<u8>>()) });
}

unsafe extern "C" fn write(_: Handle, to: Handle, offset: u64, from: *const u8, nbytes: usize, _: *mut Failure) {
    assert!(offset.is_multiple_of(4) && nbytes.is_multiple_of(4));
    let offset = offset as usize;
    // SAFETY: buffer and bytes are the caller's.
    unsafe { bytes(to)[offset..offset + nbytes].copy_from_slice(slice::from_raw_parts(from, nbytes)) };
}

unsafe extern "C" fn read(_: Handle, from: Handle, offset: u64, to: *mut u8, nbytes: usize, _: *mut Failure) {
    assert!(offset.is_multiple_of(4) && nbytes.is_multiple_of(4));
    let offset = offset as usize;
    // SAFETY: buffer and bytes are the caller's.
    unsafe { slice::from_raw_parts_mut(to, nbytes).copy_from_slice(&bytes(from)[offset..offset + nbytes]) };
}

unsafe extern "C" fn clear(_: Handle, buffer: Handle, nbytes: u64, _: *mut Failure) {
    // SAFETY: the buffer is the caller's.
    unsafe { bytes(buffer)[..nbytes as usize].fill(0) };
}

unsafe extern "C" fn compile(_: Handle, _: *const u8, _: usize, _: u32, _: u32, failure: *mut Failure) -> Handle {
    // SAFETY: it is the caller's.
    unsafe { (*failure).note(Failure::OTHER, "no kernels") };
    ptr::null_mut()
}

unsafe extern "C" fn run(_: Handle, _: *const Launch, _: usize, failure: *mut Failure) {
    // SAFETY: it is the caller's.
    unsafe { (*failure).note(Failure::OTHER, "no kernels") };
}

unsafe extern "C" fn wait(_: Handle, _: *mut Failure) {}

unsafe extern "C" fn tidy(_: Handle) {}

const HOST: Driver =
    Driver { version: VERSION, describe, open, buffer, release, write, read, clear, compile, run, wait, tidy };
static DRIVER: Driver = HOST;
static OLDER: Driver = Driver { version: VERSION - 1, ..HOST };

fn device() -> Result<Device> {
    // SAFETY: the functions do what is said of them.
    unsafe { opforge_wgsl::bring(&DRIVER)? };
    opforge_wgsl::device(0)
}

/// Tests one after the other: one of them has what has no kernel refused, for the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn drivers_of_other_versions_and_gpus_that_are_not_there_are_refused() -> Result<()> {
    let _alone = alone();
    // SAFETY: none of its functions is called.
    let older = unsafe { opforge_wgsl::bring(&OLDER) }.unwrap_err();
    assert_eq!(older.to_string(), "device mismatch in wgpu, driver: 0 (accepted: a driver of version 1)");
    device()?;
    assert_eq!(opforge_wgsl::available(), ["Host", "Host"]);
    let errors = [1, 2].map(|number| opforge_wgsl::device(number).unwrap_err().to_string());
    assert!(errors[0].contains("it is broken") && errors[1].contains("0 to 1"), "{errors:?}");
    opforge_wgsl::synchronize(0)
}

#[test]
fn bytes_of_any_number_are_copied_and_what_lies_beside_them_stays() -> Result<()> {
    let _alone = alone();
    let device = device()?;
    for n in 1..19 {
        let values: Vec<u8> = (1..=n).collect();
        let x = Tensor::new(&values[..], &Device::Cpu)?;
        let there = x.to_device(&device)?;
        assert_eq!(there.to_vec1::<u8>()?, values);
        for start in 0..usize::from(n) {
            let part = there.narrow(0, start, usize::from(n) - start)?;
            assert_eq!(part.to_device(&Device::Cpu)?.to_vec1::<u8>()?, &values[start..]);
        }
    }
    Ok(())
}

#[test]
fn the_cpu_computes_what_there_is_no_kernel_for() -> Result<()> {
    let _alone = alone();
    let device = device()?;
    let x = Tensor::new(&[[1f32, 2.0], [3.0, 4.0]], &device)?;
    x.set_requires_grad(true)?;
    let y = x.matmul(&x)?.exp()?.sum_all()?;
    assert!((y.to_scalar::<f32>()? - (7f32.exp() + 10f32.exp() + 15f32.exp() + 22f32.exp())).abs() < 1e3);
    assert!(y.device().same_device(&device));
    opforge_wgsl::set_fallback(false);
    let refused = x.sqrt().and_then(|y| y.to_vec2::<f32>()).unwrap_err();
    opforge_wgsl::set_fallback(true);
    assert_eq!(refused.root().kind(), ErrorKind::Device);
    assert!(refused.to_string().contains("at most 0 at a time on wgpu:0"), "{refused}");
    Ok(())
}

#[test]
fn too_little_memory_is_an_error_that_says_how_much_was_asked_for() -> Result<()> {
    let _alone = alone();
    let device = device()?;
    for nbytes in [MOST as usize, MOST as usize + 1, 1 << 30] {
        let refused = Tensor::zeros(nbytes, opforge::DType::U8, &device).and_then(|x| x.to_vec1::<u8>()).unwrap_err();
        let names_it = |requested| matches!(refused.root(), Error::OutOfMemory { requested: r, .. } if *r == requested);
        assert!(names_it(nbytes), "{refused:?}");
    }
    Ok(())
}
