//! Memory of a GPU, and copies from and to the host.

use std::ffi::c_void;
use std::ptr::NonNull;

use opforge_core::{Error, Result};
use opforge_runtime::Memory;

use crate::backend::Cuda;
use crate::driver::{Address, OUT_OF_MEMORY};
use crate::gpu::Gpu;
use crate::kept::size_of_block;

fn address(of: *const u8) -> Address {
    of.addr() as Address
}

impl Gpu {
    /// A block of this size, from what is kept or else from the driver.
    fn block(&self, size: usize) -> Result<Address> {
        let kept = if self.is_within_limit(size) { self.kept().take(size) } else { None };
        match kept {
            Some(at) => Ok(at),
            None => self.allocated(size),
        }
    }

    fn allocated(&self, size: usize) -> Result<Address> {
        self.enter("allocate")?;
        let mut at = 0;
        let mut allocate = || match self.is_within_limit(size) {
            // SAFETY: the driver writes an address.
            true => unsafe { (self.driver.allocate)(&mut at, size, self.stream) },
            false => OUT_OF_MEMORY,
        };
        let mut code = allocate();
        if code == OUT_OF_MEMORY {
            // Work that holds memory may end, and what is kept may be in pieces.
            self.trim()?;
            code = allocate();
        }
        match code {
            0 => {
                self.kept().count(size);
                Ok(at)
            }
            OUT_OF_MEMORY => {
                let usage = self.usage()?;
                Err(Error::OutOfMemory { requested: size, in_use: usage.allocated, limit: usage.total })
            }
            code => Err(self.checked("allocate", code).err().unwrap_or_else(|| Error::msg("no memory"))),
        }
    }
}

/// A block of memory, which is kept for others when it is dropped: they use it after all that was issued before.
pub(crate) struct Block {
    on: &'static Gpu,
    pub at: Address,
    size: usize,
}

impl Block {
    pub fn new(on: &'static Gpu, nbytes: usize) -> Result<Block> {
        let size = size_of_block(nbytes);
        Ok(Block { on, at: on.block(size)?, size })
    }

    /// A block of these bytes.
    pub fn of(on: &'static Gpu, op: &'static str, bytes: &[u8]) -> Result<Block> {
        let block = Block::new(on, bytes.len())?;
        on.enter(op)?;
        // SAFETY: the block has as many bytes.
        on.checked(op, unsafe { (on.driver.upload)(block.at, bytes.as_ptr().cast(), bytes.len(), on.stream) })?;
        on.wait(op)?;
        Ok(block)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // A forked process has nothing there.
        if self.on.is_ours() {
            self.on.kept().put(self.size, self.at);
        }
    }
}

impl Memory for Cuda {
    fn name(&self) -> &str {
        self.gpu.name
    }

    fn allocate(&self, nbytes: usize) -> Result<NonNull<u8>> {
        let at = self.gpu.block(size_of_block(nbytes))?;
        NonNull::new(std::ptr::without_provenance_mut(at as usize)).ok_or_else(|| Error::msg("cuda: no address"))
    }

    unsafe fn free(&self, block: NonNull<u8>, nbytes: usize) {
        drop(Block { on: self.gpu, at: address(block.as_ptr()), size: size_of_block(nbytes) });
    }

    unsafe fn clear(&self, to: *mut u8, nbytes: usize) -> Result<()> {
        self.gpu.enter("clear")?;
        if nbytes == 0 {
            return Ok(());
        }
        // SAFETY: `Memory::clear` demands that `to` is valid for `nbytes` bytes of a block.
        self.gpu.checked("clear", unsafe { (self.gpu.driver.clear)(address(to), 0, nbytes, self.gpu.stream) })
    }

    unsafe fn upload(&self, from: &[u8], to: *mut u8) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        self.gpu.enter("upload")?;
        let (at, stream) = (from.as_ptr().cast(), self.gpu.stream);
        // SAFETY: `Memory::upload` demands that `to` is valid for as many bytes of a block.
        self.gpu.checked("upload", unsafe { (self.gpu.driver.upload)(address(to), at, from.len(), stream) })?;
        self.gpu.wait("upload")
    }

    unsafe fn download(&self, from: *const u8, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return Ok(());
        }
        self.gpu.enter("download")?;
        let (at, stream) = (to.as_mut_ptr().cast(), self.gpu.stream);
        // SAFETY: `Memory::download` demands that `from` is valid for as many bytes of a block.
        self.gpu.checked("download", unsafe { (self.gpu.driver.download)(at, address(from), to.len(), stream) })?;
        self.gpu.wait("download")
    }

    fn queue(&self, op: &str) -> Result<*mut c_void> {
        self.gpu.enter("queue")?;
        self.gpu.note(op);
        Ok(self.gpu.stream)
    }

    fn wait(&self) -> Result<()> {
        // A forked process has issued nothing.
        if self.gpu.is_ours() { self.gpu.wait("synchronize") } else { Ok(()) }
    }
}
