//! Vectors in memory of the allocator.
//!
//! Memory whose size users choose is the allocator's: results, working memory of kernels and their tables are counted and held to the limit, and too
//! little of it is an error.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use opforge_core::Result;

use super::{Workspace, too_large};

/// A vector whose memory is the allocator's: it is counted, held to the limit, and asking for too much is an error.
pub struct Room<T> {
    /// None as long as there is no capacity.
    block: Option<Workspace>,
    capacity: usize,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Copy> Room<T> {
    /// An empty vector.
    pub const fn new() -> Self {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= super::ALIGNMENT) };
        Room { block: None, capacity: 0, len: 0, elements: PhantomData }
    }

    /// An empty vector with a capacity of `len` elements.
    ///
    /// # Errors
    /// [`opforge_core::Error::OutOfMemory`] beyond the limit or the system's memory.
    pub fn with_capacity(len: usize) -> Result<Self> {
        let mut room = Self::new();
        if len > 0 {
            let nbytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large(usize::MAX))?;
            room.block = Some(Workspace::new(nbytes)?);
            room.capacity = len;
        }
        Ok(room)
    }

    /// `len` times a value.
    ///
    /// # Errors
    /// As [`Room::with_capacity`].
    pub fn filled(len: usize, value: T) -> Result<Self> {
        let mut room = Self::with_capacity(len)?;
        for i in 0..len {
            // SAFETY: `i` is below the capacity.
            unsafe { room.as_mut_ptr().add(i).write(value) };
        }
        room.len = len;
        Ok(room)
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// As [`Room::with_capacity`].
    pub fn copied(values: &[T]) -> Result<Self> {
        let mut room = Self::with_capacity(values.len())?;
        // SAFETY: the new block holds as many elements.
        unsafe { room.as_mut_ptr().copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        room.len = values.len();
        Ok(room)
    }

    /// The elements of an iterator.
    ///
    /// # Errors
    /// As [`Room::with_capacity`], before the first element is asked for where the iterator knows how many there are.
    pub fn collect(iter: impl IntoIterator<Item = T>) -> Result<Self> {
        let iter = iter.into_iter();
        let mut room = Self::with_capacity(iter.size_hint().0)?;
        for value in iter {
            room.push(value)?;
        }
        Ok(room)
    }

    /// Adds an element; the capacity doubles when it is exhausted.
    ///
    /// # Errors
    /// As [`Room::with_capacity`].
    #[inline]
    pub fn push(&mut self, value: T) -> Result<()> {
        if self.len == self.capacity {
            self.grow()?;
        }
        // SAFETY: `len` is below the capacity.
        unsafe { self.as_mut_ptr().add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Takes all elements away; the capacity stays.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let mut more = Self::with_capacity(self.capacity.saturating_mul(2).max(16))?;
        // SAFETY: both blocks hold `len` elements, and they are different blocks.
        unsafe { more.as_mut_ptr().copy_from_nonoverlapping(self.as_mut_ptr(), self.len) };
        more.len = self.len;
        *self = more;
        Ok(())
    }

    /// The first element's address, aligned to [`super::ALIGNMENT`]; dangling without a capacity.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.first().as_ptr()
    }

    /// Says how many elements there are.
    ///
    /// # Safety
    /// The first `len` elements have been written, and `len` is at most the capacity.
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity);
        self.len = len;
    }

    #[inline]
    fn first(&self) -> NonNull<T> {
        self.block.as_ref().and_then(|block| NonNull::new(block.as_ptr().cast())).unwrap_or(NonNull::dangling())
    }
}

impl<T: Copy> Default for Room<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Deref for Room<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the block holds `len` elements that have been written, and the vector owns it.
        unsafe { std::slice::from_raw_parts(self.first().as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Room<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the block holds `len` elements that have been written; the vector owns it and is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first().as_ptr(), self.len) }
    }
}

impl<T: Copy + std::fmt::Debug> std::fmt::Debug for Room<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self[..].fmt(f)
    }
}
