//! The host's access to storages.

use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

use opforge_core::{DType, Element, Error, Result};

use super::failure::Failure;
use super::machine::Vm;
use super::state::State;
use crate::alloc::{self, Workspace};
use crate::storage::Storage;
use crate::sync::MutexGuard;

/// Waits for the last instruction that writes a storage and gives its bytes. Kernels that write it wait until the guard is dropped.
///
/// Do not wait for anything while holding a guard: what is waited for may itself wait for the guard. For several storages at once there
/// is [`read_all`].
///
/// # Errors
/// [`Error::Deferred`] if the content is unusable because a kernel failed; [`Error::OutOfMemory`]; [`Error::Device`] without data.
pub fn read(storage: &Storage) -> Result<ReadGuard<'_>> {
    Vm::global().read(storage)
}

/// As [`read`] for several storages, waiting until all of them can be read.
///
/// # Errors
/// As for [`read`]; of the first storage that has one.
pub fn read_all<'a>(storages: &[&'a Storage]) -> Result<Vec<ReadGuard<'a>>> {
    Vm::global().read_all(storages)
}

/// Waits for all instructions that use a storage and gives its bytes for writing. Kernels that use it wait until the guard is dropped.
///
/// # Errors
/// As for [`read`]; [`Error::Value`] for read-only memory.
pub fn write(storage: &Storage) -> Result<WriteGuard<'_>> {
    Vm::global().write(storage)
}

/// Waits for the last instruction that writes a storage.
///
/// # Errors
/// [`Error::Deferred`] if the content is unusable because a kernel failed.
pub fn wait_for_read(storage: &Storage) -> Result<()> {
    Vm::global().wait_for_host(&[storage], false).map(drop)
}

/// Waits for all instructions that use a storage.
///
/// # Errors
/// [`Error::Deferred`] if the content is unusable because a kernel failed.
pub fn wait_for_write(storage: &Storage) -> Result<()> {
    Vm::global().wait_for_host(&[storage], true).map(drop)
}

/// A storage's bytes, unchanged as long as this lives: in main memory itself, or copied there from another device.
#[derive(Debug)]
pub struct ReadGuard<'a> {
    bytes: HostBytes,
    access: Access<'a>,
}

/// A storage's bytes, for the host alone as long as this lives. Those of another device are copied to main memory, and back at the end; what
/// the device says against that is the [`Error::Deferred`] of who reads the storage next.
#[derive(Debug)]
pub struct WriteGuard<'a> {
    bytes: HostBytes,
    access: Access<'a>,
}

/// A storage's bytes in main memory.
struct HostBytes {
    data: NonNull<u8>,
    /// Where they lie, if they are a copy.
    copy: Option<Workspace>,
}

impl HostBytes {
    fn of(storage: &Storage) -> Result<Self> {
        if storage.device().is_cpu() {
            return Ok(HostBytes { data: storage.data()?, copy: None });
        }
        let (memory, copy) = (storage.device().memory()?, Workspace::new(storage.nbytes())?);
        // SAFETY: the storage and the copy hold that many bytes; the access keeps kernels off.
        unsafe {
            let to = std::slice::from_raw_parts_mut(copy.as_ptr(), storage.nbytes());
            match storage.content() {
                Some(content) => memory.gather(content, to)?,
                None => memory.download(storage.data()?.as_ptr(), to)?,
            }
            Ok(HostBytes { data: NonNull::new_unchecked(copy.as_ptr()), copy: Some(copy) })
        }
    }
}

impl std::fmt::Debug for HostBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.copy.is_some() { "a copy" } else { "the storage's" })
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let Access { vm, storage, .. } = self.access;
        if self.bytes.copy.is_none() {
            return;
        }
        let copy_back = || {
            let (memory, to) = (storage.device().memory()?, storage.data()?);
            // SAFETY: the copy and the storage hold that many bytes; the access keeps kernels off.
            unsafe { memory.upload(self, to.as_ptr()) }
        };
        if let Err(error) = copy_back() {
            let failure = Failure::new("write".into(), Location::caller().into(), error);
            storage.deps.get(&mut vm.lock().token).set_poison(failure);
        }
    }
}

/// A host access in progress.
struct Access<'a> {
    vm: &'a Vm,
    storage: &'a Storage,
    write: bool,
}

impl<'a> Access<'a> {
    /// Begins an access that nothing stands in the way of.
    fn begin(vm: &'a Vm, state: &mut State, storage: &'a Storage, write: bool) -> Self {
        let deps = storage.deps.get(&mut state.token);
        if write {
            deps.host_write = true;
        } else {
            deps.host_reads += 1;
        }
        Access { vm, storage, write }
    }

    fn into_read(self) -> Result<ReadGuard<'a>> {
        Ok(ReadGuard { bytes: HostBytes::of(self.storage)?, access: self })
    }
}

impl std::fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.storage.fmt(f)
    }
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        let mut state = self.vm.lock();
        let deps = self.storage.deps.get(&mut state.token);
        if self.write {
            deps.host_write = false;
        } else {
            deps.host_reads -= 1;
        }
        self.vm.unlock_after_progress(state);
    }
}

impl ReadGuard<'_> {
    /// A copy of `count` elements from a byte offset on. Any byte but 0 reads as true.
    ///
    /// # Errors
    /// When the elements are not all within the storage, or the offset is not aligned for them; [`Error::OutOfMemory`].
    pub fn to_vec<T: Element>(&self, byte_offset: usize, count: usize) -> Result<Vec<T>> {
        let size = std::mem::size_of::<T>();
        let end = count.checked_mul(size).and_then(|bytes| byte_offset.checked_add(bytes));
        let bytes = end.and_then(|end| self.get(byte_offset..end)).ok_or_else(|| {
            let given = format!("{count} {} from byte {byte_offset} on", T::DTYPE);
            Error::index("read", "elements", given, format!("elements within {} bytes", self.len()))
        })?;
        if T::DTYPE == DType::Bool {
            return alloc::vec_of(bytes.iter().map(|&byte| T::from_scalar((byte != 0).into())));
        }
        let first = bytes.as_ptr().cast::<T>();
        if !first.is_aligned() {
            return Err(Error::value("read", "offset", byte_offset, format!("a multiple of {size} bytes")));
        }
        // SAFETY: the bytes are `count` elements of T, aligned and unchanged during the access, and every pattern of bits is a value of an
        // element type other than bool.
        let elements = unsafe { std::slice::from_raw_parts(first, count) };
        if size_of_val(elements) <= alloc::UNASKED {
            return Ok(elements.to_vec());
        }
        alloc::vec_of(elements.iter().copied())
    }
}

impl Deref for ReadGuard<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the storage holds this many initialised bytes; no kernel and no host writes them during the access.
        unsafe { std::slice::from_raw_parts(self.bytes.data.as_ptr(), self.access.storage.nbytes()) }
    }
}

impl Deref for WriteGuard<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the storage holds this many initialised bytes; nobody else uses them during the access.
        unsafe { std::slice::from_raw_parts(self.bytes.data.as_ptr(), self.access.storage.nbytes()) }
    }
}

impl DerefMut for WriteGuard<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the storage holds this many initialised bytes; nobody else uses them during the access.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.data.as_ptr(), self.access.storage.nbytes()) }
    }
}

impl Vm {
    pub(super) fn read<'a>(&'a self, storage: &'a Storage) -> Result<ReadGuard<'a>> {
        let mut state = self.wait_for_host(&[storage], false)?;
        let access = Access::begin(self, &mut state, storage, false);
        drop(state);
        access.into_read()
    }

    fn read_all<'a>(&'a self, storages: &[&'a Storage]) -> Result<Vec<ReadGuard<'a>>> {
        let mut state = self.wait_for_host(storages, false)?;
        let begin = |storage: &&'a Storage| Access::begin(self, &mut state, storage, false);
        let accesses: Vec<_> = storages.iter().map(begin).collect();
        drop(state);
        accesses.into_iter().map(Access::into_read).collect()
    }

    pub(super) fn write<'a>(&'a self, storage: &'a Storage) -> Result<WriteGuard<'a>> {
        if storage.is_read_only() {
            return Err(Error::value("write", "storage", "read-only memory", "memory that may be written"));
        }
        if storage.content().is_some() {
            return Err(Error::device("write", "storage", storage.device(), "a device whose storages have addresses"));
        }
        let mut state = self.wait_for_host(&[storage], true)?;
        let access = Access::begin(self, &mut state, storage, true);
        drop(state);
        Ok(WriteGuard { bytes: HostBytes::of(storage)?, access })
    }

    /// Waits until the host may read, or write, all of these at once; checks that their content is usable.
    fn wait_for_host(&self, storages: &[&Storage], write: bool) -> Result<MutexGuard<'_, State>> {
        let obstacle = |state: &mut State| storages.iter().find_map(|storage| state.host_obstacle(storage, write));
        let mut state = self.wait_while(obstacle)?;
        let failure = storages.iter().find_map(|storage| storage.deps.get(&mut state.token).poison().cloned());
        let Some(failure) = failure else { return Ok(state) };
        drop(state);
        let mut state = self.wait_while(|state| storages.iter().find_map(|s| state.reader_before_passing(s)))?;
        storages.iter().for_each(|storage| state.told(storage, &failure));
        Err(failure.deliver())
    }
}
