//! A file that is read from its beginning, and never beyond what it has.

use std::io::{Read, Seek, SeekFrom};

use crate::{Error, Result};

/// A reader that knows how much is left.
pub(in crate::quantized) struct Input<'a, R> {
    reader: &'a mut R,
    /// The format's name, for errors.
    format: &'static str,
    /// Where the file began, and ends, in the reader's positions.
    start: u64,
    end: u64,
    position: u64,
    /// Whether lengths and counts have 64 bits; they had 32 in version 1.
    pub is_wide: bool,
}

impl<'a, R: Read + Seek> Input<'a, R> {
    /// From the reader's position on; errors name the format.
    pub fn new(reader: &'a mut R, format: &'static str) -> Result<Self> {
        let start = reader.stream_position()?;
        let end = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(start))?;
        Ok(Input { reader, format, start, end: end.max(start), position: start, is_wide: true })
    }

    /// The error of a file that contradicts the format.
    pub fn bad(&self, message: impl std::fmt::Display) -> Error {
        Error::format(self.format, message)
    }

    /// The bytes that are left.
    pub fn left(&self) -> u64 {
        self.end - self.position
    }

    /// The bytes that were read.
    pub fn read_so_far(&self) -> u64 {
        self.position - self.start
    }

    /// So many bytes.
    pub fn bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        self.expect(len, "bytes")?;
        let mut bytes = vec![0; len as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a number.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.expect(N as u64, "bytes")?;
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.reader.read_exact(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn expect(&self, len: u64, what: &str) -> Result<()> {
        if len > self.left() {
            return Err(self.bad(format!("{len} {what} are announced where {} bytes are left", self.left())));
        }
        Ok(())
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length.
    pub fn length(&mut self) -> Result<u64> {
        if self.is_wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// How many things of at least `least` bytes each follow.
    pub fn count(&mut self, least: u64, what: &str) -> Result<usize> {
        let count = self.length()?;
        self.expect(count.saturating_mul(least), what)?;
        usize::try_from(count).map_err(|_| self.bad(format!("{count} {what}")))
    }

    /// A text, with its length before it. Zeros at its end, which some writers leave, are cut off.
    pub fn text(&mut self) -> Result<String> {
        let len = self.length()?;
        let mut bytes = self.bytes(len)?;
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        String::from_utf8(bytes).map_err(|error| self.bad(format!("a text that is not UTF-8: {error}")))
    }
}
