//! Memory of a GPU, and copies from and to the host.

use std::ptr::{self, NonNull};

use opforge_core::{Error, Result};
use opforge_runtime::Memory;
use wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, MapMode};

use crate::backend::Wgpu;

/// What copies are multiples of.
const WORD: usize = 4;

impl Wgpu {
    /// A buffer of at least so many bytes.
    pub(crate) fn buffer(&self, nbytes: usize, usage: BufferUsages) -> Result<Buffer> {
        let limit = self.gpu.device.limits().max_storage_buffer_binding_size as usize;
        let none = || Error::OutOfMemory { requested: nbytes, in_use: 0, limit };
        let size = nbytes.max(1).checked_next_multiple_of(16).filter(|&size| size <= limit).ok_or_else(none)?;
        let descriptor = BufferDescriptor { label: None, size: size as u64, usage, mapped_at_creation: false };
        let made = self.gpu.checked("allocate", || self.gpu.device.create_buffer(&descriptor));
        made.map_err(|error| if matches!(error, Error::OutOfMemory { .. }) { none() } else { error })
    }

    /// A buffer that kernels use.
    pub(crate) fn storage(&self, nbytes: usize) -> Result<Buffer> {
        self.buffer(nbytes, BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST)
    }

    /// The words of a buffer, when everything that was issued has run.
    pub(crate) fn read(&self, from: &Buffer, offset: usize, nbytes: usize) -> Result<Vec<u8>> {
        let staging = self.buffer(nbytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        let (sender, receiver) = std::sync::mpsc::channel();
        self.gpu.checked("download", || {
            let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(from, offset as u64, &staging, 0, nbytes as u64);
            self.gpu.queue.submit([encoder.finish()]);
            staging.map_async(MapMode::Read, .., move |result| {
                // Who no longer waits does not ask.
                let _ = sender.send(result);
            });
        })?;
        self.gpu.wait()?;
        let failed =
            |error: String| Error::Kernel { op: "download".into(), message: format!("{}: {error}", self.gpu.name) };
        let mapped = receiver.recv().map_err(|error| failed(error.to_string()))?;
        mapped.map_err(|error| failed(error.to_string()))?;
        let view = staging.get_mapped_range(..).map_err(|error| failed(error.to_string()))?;
        Ok(view[..nbytes].to_vec())
    }

    /// The bytes of a block from an address on; copies are of whole words.
    fn bytes(&self, address: usize, nbytes: usize) -> Result<Vec<u8>> {
        let (buffer, offset) = self.places.find(address)?;
        let first = offset / WORD * WORD;
        let end = (offset + nbytes).next_multiple_of(WORD);
        let mut bytes = self.read(&buffer, first, end - first)?;
        bytes.truncate(offset - first + nbytes);
        bytes.drain(..offset - first);
        Ok(bytes)
    }

    /// Writes bytes at an address; words at the ends keep what they have besides.
    fn write(&self, bytes: &[u8], address: usize) -> Result<()> {
        let (buffer, offset) = self.places.find(address)?;
        let first = offset / WORD * WORD;
        let end = (offset + bytes.len()).next_multiple_of(WORD);
        let mut words = bytes.to_vec();
        if (first, end) != (offset, offset + bytes.len()) {
            words = self.read(&buffer, first, end - first)?;
            words[offset - first..offset - first + bytes.len()].copy_from_slice(bytes);
        }
        self.gpu.checked("upload", || {
            self.gpu.queue.write_buffer(&buffer, first as u64, &words);
            self.gpu.queue.submit([]);
        })?;
        Ok(())
    }
}

impl Memory for Wgpu {
    fn name(&self) -> &str {
        self.gpu.name
    }

    fn allocate(&self, nbytes: usize) -> Result<NonNull<u8>> {
        self.tidy();
        let address = self.places.add(self.storage(nbytes)?)?;
        NonNull::new(ptr::without_provenance_mut(address)).ok_or_else(|| Error::msg("wgpu: no address"))
    }

    unsafe fn free(&self, block: NonNull<u8>, _: usize) {
        self.retire(self.places.remove(block.addr().get()));
    }

    unsafe fn clear(&self, to: *mut u8, nbytes: usize) -> Result<()> {
        let (buffer, offset) = self.places.find(to.addr())?;
        if offset != 0 {
            return self.write(&vec![0; nbytes], to.addr());
        }
        // From a block's beginning on, and what is cleared beyond is nobody's: blocks are cleared as a whole.
        self.gpu.checked("clear", || {
            let mut encoder = self.gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
            encoder.clear_buffer(&buffer, 0, Some(nbytes.next_multiple_of(WORD) as u64));
            self.gpu.queue.submit([encoder.finish()]);
        })
    }

    unsafe fn upload(&self, from: &[u8], to: *mut u8) -> Result<()> {
        if from.is_empty() { Ok(()) } else { self.write(from, to.addr()) }
    }

    unsafe fn download(&self, from: *const u8, to: &mut [u8]) -> Result<()> {
        if !to.is_empty() {
            to.copy_from_slice(&self.bytes(from.addr(), to.len())?);
        }
        Ok(())
    }
}
