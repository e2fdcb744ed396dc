//! The memory of devices.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

use opforge_core::{Error, Result};

use crate::alloc;

/// The memory of one device, as its backend gives it to storages. Addresses are the device's own: the host hands them on and never follows
/// them.
///
/// Calls come from any thread, and from kernels. Copies are there when the call returns.
pub trait Memory: Send + Sync + 'static {
    /// What the device is called: `"cuda:0"`.
    fn name(&self) -> &str;

    /// A block of at least `nbytes` bytes, which may be 0, for [`Memory::free`] to take back.
    ///
    /// # Errors
    /// [`opforge_core::Error::OutOfMemory`].
    fn allocate(&self, nbytes: usize) -> Result<NonNull<u8>>;

    /// Takes back a block.
    ///
    /// # Safety
    /// `block` came from [`Memory::allocate`] with the same `nbytes` and is not used any more.
    unsafe fn free(&self, block: NonNull<u8>, nbytes: usize);

    /// Writes zeros.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// `to` is valid for `nbytes` bytes of a block, which nobody else uses meanwhile.
    unsafe fn clear(&self, to: *mut u8, nbytes: usize) -> Result<()>;

    /// Copies to the device.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// `to` is valid for as many bytes of a block, which nobody else uses meanwhile.
    unsafe fn upload(&self, from: &[u8], to: *mut u8) -> Result<()>;

    /// Copies from the device.
    ///
    /// # Errors
    /// The device's.
    ///
    /// # Safety
    /// `from` is valid for as many bytes of a block, which nobody else writes meanwhile.
    unsafe fn download(&self, from: *const u8, to: &mut [u8]) -> Result<()>;

    /// Waits until everything that was issued to the device has run; where calls return when it has, there is nothing to wait for.
    ///
    /// # Errors
    /// What the device failed of meanwhile.
    fn wait(&self) -> Result<()> {
        Ok(())
    }

    /// The queue that the device's work is issued to, for a library that issues to it itself: CUDA's stream, whose device is then the calling thread's
    /// current one. Null where there is none. `op` is who issues; errors that show later name it.
    ///
    /// # Errors
    /// The device's.
    fn queue(&self, _op: &str) -> Result<*mut c_void> {
        Ok(ptr::null_mut())
    }

    /// Writes the bytes of a storage whose content has [no one address](crate::Storage::scattered).
    ///
    /// # Errors
    /// The device's; [`Error::Device`] where it has no such storages.
    fn gather(&self, _content: &(dyn Any + Send + Sync), _to: &mut [u8]) -> Result<()> {
        Err(Error::device("storage", "content", self.name(), "a device with scattered storages"))
    }
}

/// Main memory, by this crate's [allocator](crate::alloc). Storages of the CPU know the way themselves.
pub struct HostMemory;

impl Memory for HostMemory {
    fn name(&self) -> &str {
        "cpu"
    }

    fn allocate(&self, nbytes: usize) -> Result<NonNull<u8>> {
        alloc::allocate(nbytes)
    }

    unsafe fn free(&self, block: NonNull<u8>, nbytes: usize) {
        // SAFETY: `allocate` takes blocks from the same allocator, this one of `nbytes`; it is not used any more.
        unsafe { alloc::free(block, nbytes) }
    }

    unsafe fn clear(&self, to: *mut u8, nbytes: usize) -> Result<()> {
        // SAFETY: `nbytes` bytes are writable at `to`, a block of main memory that nobody else uses.
        unsafe { to.write_bytes(0, nbytes) };
        Ok(())
    }

    unsafe fn upload(&self, from: &[u8], to: *mut u8) -> Result<()> {
        // SAFETY: `to` is valid for as many bytes of a block that nobody else uses, which `from` is no part of.
        unsafe { from.as_ptr().copy_to_nonoverlapping(to, from.len()) };
        Ok(())
    }

    unsafe fn download(&self, from: *const u8, to: &mut [u8]) -> Result<()> {
        // SAFETY: `from` is valid for as many bytes as `to`, which is borrowed alone and thus not of the block.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }
}
