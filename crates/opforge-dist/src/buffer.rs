//! Memory that a request owns while it runs.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use opforge_core::{DType, DeviceLocation, Element, Error, Result};
use opforge_runtime::alloc::Room;

/// Bytes that a request owns while it runs, so that nothing else touches what an engine reads or writes, also when its waiter gives up.
///
/// Memory of the host comes from the allocator of `opforge-runtime`: counted, limited, aligned. Memory of others, devices included, is lent
/// by [`Buffer::from_raw`]; only an engine of that device can use it.
pub struct Buffer {
    address: NonNull<u8>,
    len: usize,
    location: DeviceLocation,
    /// Keeps the memory; never read.
    _owner: Owner,
}

enum Owner {
    Room { _memory: Room<u8> },
    Lent { _memory: Arc<dyn Any + Send + Sync> },
}

// SAFETY: the memory is the owner's, which the buffer holds, and no one else uses it as long as the buffer lives: a room is private to it, and
// `from_raw` demands it. Rooms have no ties to a thread.
unsafe impl Send for Buffer {}
// SAFETY: shared references only read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// No bytes.
    pub fn empty() -> Self {
        Self::of_room(Room::new())
    }

    /// `len` bytes of 0.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros(len: usize) -> Result<Self> {
        let mut room = Room::<u8>::with_capacity(len)?;
        // SAFETY: the room has a capacity of `len` bytes, which are written before the length is set.
        unsafe {
            room.as_mut_ptr().write_bytes(0, len);
            room.set_len(len);
        }
        Ok(Self::of_room(room))
    }

    /// `len` bytes of any content.
    ///
    /// # Errors
    /// Out of memory.
    ///
    /// # Safety
    /// Nothing reads a byte before something has written it.
    pub(crate) unsafe fn unwritten(len: usize) -> Result<Self> {
        let mut room = Room::<u8>::with_capacity(len)?;
        // SAFETY: the room has a capacity of `len` bytes; the caller sees to it that they are written before they are read.
        unsafe { room.set_len(len) };
        Ok(Self::of_room(room))
    }

    /// A copy of bytes.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(Self::of_room(Room::copied(bytes)?))
    }

    /// A copy of elements.
    ///
    /// # Errors
    /// Out of memory.
    ///
    /// ```
    /// # use opforge_dist::Buffer;
    /// let buffer = Buffer::of(&[1i64, 2])?;
    /// assert_eq!((buffer.len(), buffer.to_vec::<i64>()?), (16, vec![1, 2]));
    /// # Ok::<(), opforge_core::Error>(())
    /// ```
    pub fn of<T: Element>(elements: &[T]) -> Result<Self> {
        // SAFETY: the types of elements (bool, integers, floats and pairs of floats) have no padding, so all bytes of the slice are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(elements.as_ptr().cast::<u8>(), size_of_val(elements)) };
        Self::from_bytes(bytes)
    }

    fn of_room(mut room: Room<u8>) -> Self {
        let address = NonNull::new(room.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Buffer { address, len: room.len(), location: DeviceLocation::Cpu, _owner: Owner::Room { _memory: room } }
    }

    /// Memory of someone else, of the host or of a device.
    ///
    /// # Safety
    /// As long as `owner` lives, `len` bytes at `address` stay valid at `location` and, for the host, initialised; until the buffer is dropped, nobody
    /// else reads or writes them.
    pub unsafe fn from_raw(
        address: NonNull<u8>,
        len: usize,
        location: DeviceLocation,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Buffer { address, len, location, _owner: Owner::Lent { _memory: owner } }
    }

    /// The room, where the memory is one of the allocator's.
    pub(crate) fn into_room(self) -> std::result::Result<Room<u8>, Self> {
        match self._owner {
            Owner::Room { _memory: room } => Ok(room),
            Owner::Lent { .. } => Err(self),
        }
    }

    /// Whether the memory is someone else's, who may use it again when a call is done.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self._owner, Owner::Lent { .. })
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the memory is.
    pub fn location(&self) -> DeviceLocation {
        self.location
    }

    /// The first byte's address, at [`Buffer::location`].
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }

    /// The bytes.
    ///
    /// # Errors
    /// The memory is not the host's.
    pub fn bytes(&self) -> Result<&[u8]> {
        self.check_host()?;
        // SAFETY: `len` initialised bytes of the host are at the address as long as the owner lives, and only this buffer uses them.
        Ok(unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.len) })
    }

    /// The bytes, to be changed.
    ///
    /// # Errors
    /// The memory is not the host's.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.check_host()?;
        // SAFETY: `len` initialised bytes of the host are at the address as long as the owner lives, only this buffer uses them, and it is borrowed
        // exclusively.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.len) })
    }

    fn check_host(&self) -> Result<()> {
        match self.location {
            DeviceLocation::Cpu => Ok(()),
            other => Err(Error::device("buffer", "memory", other, "cpu")),
        }
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// The memory is not the host's, or its length is no multiple of the element's size.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let bytes = self.bytes()?;
        if bytes.len() % size_of::<T>() != 0 {
            let accepted = format!("a multiple of {} bytes for {}", size_of::<T>(), T::DTYPE);
            return Err(Error::shape("buffer", "length", bytes.len(), accepted));
        }
        let mut elements = vec![T::default(); bytes.len() / size_of::<T>()];
        // SAFETY: any bytes are numbers; those of bools are made 0 or 1. The vector has as many bytes, and is other memory.
        unsafe {
            let to = elements.as_mut_ptr().cast::<u8>();
            match T::DTYPE {
                DType::Bool => bytes.iter().enumerate().for_each(|(i, &byte)| to.add(i).write(u8::from(byte != 0))),
                _ => to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()),
            }
        }
        Ok(elements)
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes, {})", self.len, self.location)
    }
}
