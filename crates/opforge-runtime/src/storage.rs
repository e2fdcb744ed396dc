//! Memory that tensors share.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use opforge_core::{Element, Error, Result};

use crate::alloc::{self, Room};
use crate::device::Device;
use crate::vm::{Deps, Guarded};

/// Untyped memory that tensors share: its bytes, who owns them, and what the VM knows about them.
///
/// Up to 64 bytes are held in the storage itself, aligned to 16; more is reserved from the [allocator](crate::alloc) when the first kernel
/// that uses it is about to run. Until something is written its bytes are zero. Bytes are read and written through [`crate::vm::read`] and [`crate::vm::write`], which wait for the kernels before them.
pub struct Storage {
    /// The first byte; null until the memory is reserved. Set once.
    data: AtomicPtr<u8>,
    nbytes: usize,
    device: Device,
    read_only: bool,
    /// Whether others know the address and use it whenever they like.
    exposed: AtomicBool,
    owner: Owner,
    version: AtomicU64,
    /// Changes in place that `version` does not count.
    uncounted: AtomicU64,
    /// How many references are those of queued instructions.
    pub(crate) queued: AtomicU32,
    /// Guarded by the VM's lock.
    pub(crate) deps: Guarded<Deps>,
    /// What is kept with the content by those who made it of the content.
    derived: OnceLock<Box<dyn Any + Send + Sync>>,
    tiny: Tiny,
}

/// The memory of a storage of the pool's that needs no more: scalars and the like cost no block.
#[repr(align(16))]
struct Tiny(UnsafeCell<[u8; Tiny::SIZE]>);

impl Tiny {
    const SIZE: usize = 64;
}

// SAFETY: the bytes are reached through the storage's address only, and the VM orders the accesses to a storage.
unsafe impl Sync for Tiny {}

enum Owner {
    /// The allocator of this crate.
    Pool,
    /// Somebody else's memory, valid as long as this lives.
    Foreign(#[allow(dead_code)] Box<dyn Any + Send + Sync>),
    /// What a device knows of bytes that have no one address.
    Scattered(Box<dyn Any + Send + Sync>),
}

impl Storage {
    /// A storage of `nbytes` zeros on a device, whose memory is not reserved yet. On [`Device::Meta`] it never is.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] for more bytes than [`alloc::limit`].
    #[inline]
    pub fn new(device: Device, nbytes: usize) -> Result<Arc<Self>> {
        if device.is_cpu() {
            alloc::check_request(nbytes)?;
        }
        Ok(Self::promised(device, nbytes))
    }

    /// As [`Storage::new`], however many bytes: for tensors that may never be computed. Whether memory can be had shows when it is reserved.
    #[inline]
    pub fn promised(device: Device, nbytes: usize) -> Arc<Self> {
        Self::with_owner(ptr::null_mut(), nbytes, device, false, Owner::Pool)
    }

    /// A storage in main memory with a copy of these bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Arc<Self>> {
        let storage = Self::new(Device::Cpu, bytes.len())?;
        let data = storage.reserve(false)?;
        // SAFETY: the new memory holds `nbytes` bytes and nobody else knows it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.as_ptr(), bytes.len()) };
        Ok(storage)
    }

    /// A storage that takes over a vector's memory.
    pub fn from_vec<T: Element>(values: Vec<T>) -> Arc<Self> {
        let mut values = values;
        let (data, nbytes) = (values.as_mut_ptr(), size_of_val(values.as_slice()));
        // SAFETY: the vector owns its buffer wherever its head is moved to, elements have no padding (`Element`), and nothing else uses it.
        unsafe { Self::from_raw(NonNull::new_unchecked(data).cast(), nbytes, false, Box::new(values)) }
    }

    /// A storage that takes over the memory of a vector of the allocator's.
    pub fn from_room<T: Element>(values: Room<T>) -> Arc<Self> {
        let mut values = values;
        let (data, nbytes) = (values.as_mut_ptr(), size_of_val(&values[..]));
        // SAFETY: the room owns its block wherever its head is moved to, elements have no padding (`Element`), and nothing else uses it.
        unsafe { Self::from_raw(NonNull::new_unchecked(data).cast(), nbytes, false, Box::new(values)) }
    }

    /// A storage over foreign main memory, which `owner` keeps alive. `owner` is dropped on any thread.
    ///
    /// # Safety
    /// Until `owner` is dropped, `data` is valid for reads of `nbytes` initialised bytes, and for writes unless `read_only`; and while
    /// the VM or a guard uses the storage nobody else writes there (nor reads what the VM writes).
    pub unsafe fn from_raw(
        data: NonNull<u8>,
        nbytes: usize,
        read_only: bool,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Arc<Self> {
        // No bytes lie anywhere: an empty vector's address suits its own elements, and not those of another dtype that they may be seen as.
        let nowhere = NonNull::new(ptr::without_provenance_mut(alloc::ALIGNMENT)).filter(|_| nbytes == 0);
        let data = nowhere.unwrap_or(data);
        // SAFETY: the host's memory is the CPU's, and the caller promises of it what is asked.
        unsafe { Self::from_raw_on(Device::Cpu, data, nbytes, read_only, owner) }
    }

    /// As [`Storage::from_raw`], over memory of a device, whose own address `data` is.
    ///
    /// # Safety
    /// As there, for the device in place of the host.
    pub unsafe fn from_raw_on(
        device: Device,
        data: NonNull<u8>,
        nbytes: usize,
        read_only: bool,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Arc<Self> {
        Self::with_owner(data.as_ptr(), nbytes, device, read_only, Owner::Foreign(owner))
    }

    /// A storage of `nbytes` bytes that have no one address, such as those that lie on several machines: `content` is what their device knows of them.
    /// Kernels cannot use it; hosts read it by [`crate::Memory::gather`].
    pub fn scattered(device: Device, nbytes: usize, content: Box<dyn Any + Send + Sync>) -> Arc<Self> {
        Self::with_owner(ptr::null_mut(), nbytes, device, false, Owner::Scattered(content))
    }

    /// What its device knows of a [scattered](Storage::scattered) storage.
    pub fn content(&self) -> Option<&(dyn Any + Send + Sync)> {
        match &self.owner {
            Owner::Scattered(content) => Some(&**content),
            Owner::Pool | Owner::Foreign(_) => None,
        }
    }

    #[inline]
    fn with_owner(data: *mut u8, nbytes: usize, device: Device, read_only: bool, owner: Owner) -> Arc<Self> {
        let storage = Storage {
            data: AtomicPtr::new(data),
            nbytes,
            device,
            read_only,
            exposed: AtomicBool::new(false),
            owner,
            version: AtomicU64::new(0),
            uncounted: AtomicU64::new(0),
            queued: AtomicU32::new(0),
            deps: Guarded::new(Deps::default()),
            derived: OnceLock::new(),
            tiny: Tiny(UnsafeCell::new([0; Tiny::SIZE])),
        };
        Arc::new(storage)
    }

    /// The size in bytes.
    #[inline]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Where the bytes are.
    #[inline]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Whether the memory is somebody else's and must not be written.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether the memory has been reserved.
    #[inline]
    pub fn is_reserved(&self) -> bool {
        !self.data.load(Ordering::Relaxed).is_null()
    }

    /// Whether the memory begins at a multiple of `bytes`, a power of two up to 16. What will be reserved does.
    #[inline]
    pub fn is_aligned(&self, bytes: usize) -> bool {
        self.data.load(Ordering::Relaxed).addr().is_multiple_of(bytes)
    }

    /// How often the content has been changed in place, as counted by [`Storage::bump_version`].
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Counts an in-place change. Whoever submits the change calls this; the VM does not know which outputs were there before.
    #[inline]
    pub fn bump_version(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// How often the content has been changed in place, whoever counts it: what is made of the content stays true while this does. Others change memory
    /// without being counted ([`Storage::is_exposed`]).
    pub fn changes(&self) -> u64 {
        self.version().wrapping_add(self.uncounted.load(Ordering::Acquire))
    }

    /// Counts an in-place change that [`Storage::version`] is not to show.
    pub fn bump_changes(&self) {
        self.uncounted.fetch_add(1, Ordering::AcqRel);
    }

    /// A place for what is made of the content and is to end with it; [`Storage::changes`] tells whether it is still true.
    #[inline]
    pub fn derived(&self) -> &OnceLock<Box<dyn Any + Send + Sync>> {
        &self.derived
    }

    /// Whether nobody else holds the storage but instructions that wait for their turn: what is submitted next is the next to use it.
    pub fn is_unshared(self: &Arc<Self>) -> bool {
        let before = self.queued.load(Ordering::Acquire);
        let holders = Arc::strong_count(self);
        // An instruction may begin or end to wait meanwhile: in doubt it counts as a holder.
        let queued = before.min(self.queued.load(Ordering::Acquire));
        holders <= 1 + queued as usize && !self.is_exposed()
    }

    /// The address of the first byte, reserving the memory if need be. It stays the same as long as the storage lives.
    ///
    /// Access through it is not ordered with kernels; see [`Storage::expose`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Device`] for a storage without data.
    #[inline]
    pub fn data(&self) -> Result<NonNull<u8>> {
        match NonNull::new(self.data.load(Ordering::Acquire)) {
            Some(data) => Ok(data),
            None => self.reserve(true),
        }
    }

    /// As [`Storage::data`], for handing the memory to others (numpy, DLPack), who use it between calls: waits for the instructions that use
    /// the storage, and from now on [`crate::vm::submit`] returns only when an instruction on it has run.
    ///
    /// # Errors
    /// As [`Storage::data`]; [`Error::Deferred`] if the content is unusable because a kernel failed.
    pub fn expose(&self) -> Result<NonNull<u8>> {
        self.exposed.store(true, Ordering::Relaxed);
        crate::vm::wait_for_write(self)?;
        self.data()
    }

    /// Whether others use the memory too: see [`Storage::expose`].
    #[inline]
    pub fn is_exposed(&self) -> bool {
        self.exposed.load(Ordering::Relaxed)
    }

    /// As [`Storage::data`] for a kernel that writes first: memory that is reserved now may hold anything.
    #[inline]
    pub fn data_for_output(&self) -> Result<NonNull<u8>> {
        match NonNull::new(self.data.load(Ordering::Acquire)) {
            Some(data) => Ok(data),
            None => self.reserve(false),
        }
    }

    /// Whether the memory is the storage's own. It is always in an `Arc`, where it does not move.
    #[inline]
    fn is_tiny(&self) -> bool {
        (1..=Tiny::SIZE).contains(&self.nbytes) && self.device.is_cpu() && matches!(self.owner, Owner::Pool)
    }

    #[inline]
    fn reserve(&self, zeroed: bool) -> Result<NonNull<u8>> {
        if self.is_tiny() {
            let data = self.tiny.0.get().cast::<u8>();
            self.data.store(data, Ordering::Release);
            // SAFETY: the address of a field.
            return Ok(unsafe { NonNull::new_unchecked(data) });
        }
        let block = self.allocate(zeroed)?;
        match self.data.compare_exchange(ptr::null_mut(), block.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(block),
            Err(other) => {
                // SAFETY: another thread was first; nobody has seen this block.
                unsafe { self.free(block) };
                NonNull::new(other).ok_or_else(|| Error::msg("storage: memory vanished"))
            }
        }
    }

    /// A block of the device's memory.
    #[inline]
    fn allocate(&self, zeroed: bool) -> Result<NonNull<u8>> {
        if !self.device.is_cpu() {
            return self.allocate_on_device(zeroed);
        }
        let block = alloc::allocate(self.nbytes)?;
        if zeroed {
            // SAFETY: the block is new and holds `nbytes` bytes.
            unsafe { block.write_bytes(0, self.nbytes) };
        }
        Ok(block)
    }

    #[cold]
    fn allocate_on_device(&self, zeroed: bool) -> Result<NonNull<u8>> {
        if self.content().is_some() {
            return Err(Error::device("storage", "device", self.device, "a device whose storages have addresses"));
        }
        let memory = self.device.memory()?;
        let block = memory.allocate(self.nbytes)?;
        if zeroed {
            // SAFETY: the block is new and holds `nbytes` bytes.
            let cleared = unsafe { memory.clear(block.as_ptr(), self.nbytes) };
            if let Err(error) = cleared {
                // SAFETY: nobody has seen the block.
                unsafe { memory.free(block, self.nbytes) };
                return Err(error);
            }
        }
        Ok(block)
    }

    /// Gives a block back.
    ///
    /// # Safety
    /// It came from [`Storage::allocate`] of this storage and is not used any more.
    #[inline]
    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: the block is of this storage's device and has `nbytes`; nobody uses it any more.
        unsafe {
            match self.device {
                Device::Cpu => alloc::free(block, self.nbytes),
                device => {
                    // What has given a block is there to stay.
                    if let Ok(memory) = device.memory() {
                        memory.free(block, self.nbytes);
                    }
                }
            }
        }
    }
}

impl Drop for Storage {
    #[inline]
    fn drop(&mut self) {
        if self.is_tiny() {
            return;
        }
        if let (Owner::Pool, Some(block)) = (&self.owner, NonNull::new(*self.data.get_mut())) {
            // SAFETY: `reserve` got the block; with the storage ends every use of it.
            unsafe { self.free(block) };
        }
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("device", &self.device)
            .field("nbytes", &self.nbytes)
            .field("reserved", &self.is_reserved())
            .field("version", &self.version())
            .finish_non_exhaustive()
    }
}
