//! Memory of a GPU, and copies from and to the host.

use std::ptr::{self, NonNull};

use opforge_core::{Error, Result};
use opforge_runtime::Memory;

use crate::backend::Wgsl;

/// What copies are multiples of.
const WORD: usize = 4;

impl Wgsl {
    /// The bytes of a block from an address on; copies are of whole words.
    fn bytes(&self, address: usize, nbytes: usize) -> Result<Vec<u8>> {
        let (buffer, offset) = self.places.find(address)?;
        let first = offset / WORD * WORD;
        let end = (offset + nbytes).next_multiple_of(WORD);
        let mut bytes = self.gpu.read(&buffer, first, end - first)?;
        bytes.truncate(offset - first + nbytes);
        bytes.drain(..offset - first);
        Ok(bytes)
    }

    /// Writes bytes at an address; words at the ends keep what they have besides.
    fn put(&self, bytes: &[u8], address: usize) -> Result<()> {
        let (buffer, offset) = self.places.find(address)?;
        let first = offset / WORD * WORD;
        let end = (offset + bytes.len()).next_multiple_of(WORD);
        if (first, end) == (offset, offset + bytes.len()) {
            return self.gpu.write("upload", &buffer, first, bytes);
        }
        let mut words = self.gpu.read(&buffer, first, end - first)?;
        words[offset - first..offset - first + bytes.len()].copy_from_slice(bytes);
        self.gpu.write("upload", &buffer, first, &words)
    }
}

impl Memory for Wgsl {
    fn name(&self) -> &str {
        self.gpu.name
    }

    fn allocate(&self, nbytes: usize) -> Result<NonNull<u8>> {
        self.tidy();
        let address = self.places.add(self.gpu.buffer(nbytes)?)?;
        NonNull::new(ptr::without_provenance_mut(address)).ok_or_else(|| Error::msg("wgpu: no address"))
    }

    unsafe fn free(&self, block: NonNull<u8>, _: usize) {
        self.retire(self.places.remove(block.addr().get()));
    }

    unsafe fn clear(&self, to: *mut u8, nbytes: usize) -> Result<()> {
        let (buffer, offset) = self.places.find(to.addr())?;
        if offset != 0 {
            return self.put(&vec![0; nbytes], to.addr());
        }
        // From a block's beginning on, and what is cleared beyond is nobody's: blocks are cleared as a whole.
        self.gpu.clear(&buffer, nbytes.next_multiple_of(WORD))
    }

    unsafe fn upload(&self, from: &[u8], to: *mut u8) -> Result<()> {
        if from.is_empty() { Ok(()) } else { self.put(from, to.addr()) }
    }

    unsafe fn download(&self, from: *const u8, to: &mut [u8]) -> Result<()> {
        if !to.is_empty() {
            to.copy_from_slice(&self.bytes(from.addr(), to.len())?);
        }
        Ok(())
    }

    fn wait(&self) -> Result<()> {
        // A forked process has issued nothing.
        if self.gpu.is_ours() { self.gpu.wait() } else { Ok(()) }
    }
}
