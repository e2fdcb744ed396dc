//! Memory of a GPU, and copies from and to the host.

use wgpu::{Buffer, BufferDescriptor, BufferUsages, CommandEncoderDescriptor, MapMode};

use crate::gpu::{Gpu, Result, other};

impl Gpu {
    fn made(&self, size: u64, usage: BufferUsages) -> Result<Buffer> {
        let descriptor = BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        self.checked(|| self.device.create_buffer(&descriptor))
    }

    /// A buffer that kernels use.
    pub fn buffer(&self, nbytes: u64) -> Result<Buffer> {
        self.made(nbytes, BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST)
    }

    /// Writes words to a buffer.
    pub fn write(&self, to: &Buffer, offset: u64, words: &[u8]) -> Result<()> {
        self.checked(|| {
            self.queue.write_buffer(to, offset, words);
            self.queue.submit([]);
        })
    }

    /// Reads words of a buffer when everything that was issued has run.
    pub fn read(&self, from: &Buffer, offset: u64, words: &mut [u8]) -> Result<()> {
        let staging = self.made(words.len() as u64, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
        let (sender, receiver) = std::sync::mpsc::channel();
        self.checked(|| {
            let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(from, offset, &staging, 0, words.len() as u64);
            self.queue.submit([encoder.finish()]);
            staging.map_async(MapMode::Read, .., move |result| {
                // Who no longer waits does not ask.
                let _ = sender.send(result);
            });
        })?;
        self.wait()?;
        receiver.recv().map_err(other)?.map_err(other)?;
        words.copy_from_slice(&staging.get_mapped_range(..).map_err(other)?);
        Ok(())
    }

    /// Sets so many first bytes of a buffer to 0.
    pub fn clear(&self, buffer: &Buffer, nbytes: u64) -> Result<()> {
        self.checked(|| {
            let mut encoder = self.device.create_command_encoder(&CommandEncoderDescriptor::default());
            encoder.clear_buffer(buffer, 0, Some(nbytes));
            self.queue.submit([encoder.finish()]);
        })
    }
}
