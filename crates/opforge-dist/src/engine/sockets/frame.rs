//! Pieces on a connection: a header of one size, little-endian, then the bytes.

use std::io::{Error, ErrorKind, Result};

use crate::engine::messages::{Key, PIECE};

/// Bytes of a header.
pub(super) const HEADER: usize = 48;

const MAGIC: [u8; 4] = *b"opfp";
/// The lane of the last frame of a connection.
const GOODBYE: u32 = u32::MAX;

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// A piece of so many bytes, of a message of so many.
    Piece { key: Key, len: usize, total: usize },
    /// The sender has left; nothing follows.
    Goodbye,
}

impl Header {
    pub fn to_bytes(self) -> [u8; HEADER] {
        let goodbye = Key { group: 0, from: 0, lane: GOODBYE, number: 0, piece: 0 };
        let (key, len, total) = match self {
            Header::Piece { key, len, total } => (key, len, total),
            Header::Goodbye => (goodbye, 0, 0),
        };
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&key.from.to_le_bytes());
        bytes[8..16].copy_from_slice(&key.group.to_le_bytes());
        bytes[16..24].copy_from_slice(&key.number.to_le_bytes());
        bytes[24..28].copy_from_slice(&key.lane.to_le_bytes());
        bytes[28..32].copy_from_slice(&key.piece.to_le_bytes());
        bytes[32..40].copy_from_slice(&(total as u64).to_le_bytes());
        bytes[40..44].copy_from_slice(&(len as u32).to_le_bytes());
        bytes
    }

    /// # Errors
    /// The bytes are no header, or one of a piece that is too long.
    pub fn of(bytes: &[u8; HEADER]) -> Result<Self> {
        let short = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
        let (lane, len, total) = (short(24), short(40) as usize, usize::try_from(long(32)).unwrap_or_default());
        if bytes[..4] != MAGIC || len > PIECE || len > total {
            return Err(Error::new(ErrorKind::InvalidData, "it sent something that is no message"));
        }
        if lane == GOODBYE {
            return Ok(Header::Goodbye);
        }
        let key = Key { group: long(8), from: short(4), lane, number: long(16), piece: short(28) };
        Ok(Header::Piece { key, len, total })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { group: u64::MAX - 1, from: 3, lane: 7, number: 1 << 40, piece: 9 };

    #[test]
    fn a_header_says_what_was_written() {
        for header in [Header::Piece { key: KEY, len: 5, total: 1 << 41 }, Header::Goodbye] {
            assert_eq!(Header::of(&header.to_bytes()).unwrap(), header);
        }
    }

    #[test]
    fn what_is_no_header_is_an_error() {
        assert!(Header::of(&[0; HEADER]).is_err());
        for (len, total) in [(PIECE + 1, PIECE + 1), (5, 4)] {
            assert!(Header::of(&Header::Piece { key: KEY, len, total }.to_bytes()).is_err());
        }
    }
}
