//! What ranks tell each other about their calls: messages of one size, so that those who differ still understand each other.

use opforge_core::{Error, Result};

use crate::Buffer;

/// Bytes of a record.
pub(super) const RECORD: usize = 1024;
/// The most bytes of a call's data that travel in its record.
pub(super) const PAYLOAD: usize = 512;
/// Where the text begins, and, aligned for every dtype, the payload.
const TEXT: usize = 40;
const PAYLOAD_AT: usize = RECORD - PAYLOAD;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A call.
    Call = 1,
    /// The rank leaves; there are no further records.
    Left = 2,
    /// The rank has failed; there are no further records.
    Failed = 3,
}

/// What a rank says about a call, to one other rank.
#[derive(Debug)]
pub(super) struct Record {
    buffer: Buffer,
}

/// The fields of a record.
pub(super) struct Fields<'a> {
    pub kind: Kind,
    /// Of all that ranks must agree on.
    pub hash: u64,
    /// How many elements the sender sends to the receiver, and expects from it, where that is for each pair of ranks.
    pub pair: [u64; 2],
    /// For people. Cut where it is too long.
    pub text: &'a str,
    pub payload: &'a [u8],
}

impl Record {
    /// # Errors
    /// Out of memory; a payload of more than [`PAYLOAD`] bytes.
    pub fn new(fields: &Fields<'_>) -> Result<Self> {
        let mut buffer = Buffer::zeros(RECORD)?;
        let bytes = buffer.bytes_mut()?;
        let text = cut(fields.text, PAYLOAD_AT - TEXT);
        bytes[0] = fields.kind as u8;
        bytes[2..4].copy_from_slice(&(text.len() as u16).to_le_bytes());
        bytes[4..6].copy_from_slice(&u16::try_from(fields.payload.len())?.to_le_bytes());
        bytes[8..16].copy_from_slice(&fields.hash.to_le_bytes());
        bytes[16..24].copy_from_slice(&fields.pair[0].to_le_bytes());
        bytes[24..32].copy_from_slice(&fields.pair[1].to_le_bytes());
        bytes[TEXT..][..text.len()].copy_from_slice(text.as_bytes());
        let place = bytes[PAYLOAD_AT..].get_mut(..fields.payload.len());
        place.ok_or_else(|| malformed("too much data"))?.copy_from_slice(fields.payload);
        Ok(Record { buffer })
    }

    /// A record that has arrived.
    ///
    /// # Errors
    /// It is none.
    pub fn of(buffer: Buffer) -> Result<Self> {
        let record = Record { buffer };
        match record.fields() {
            Ok(_) => Ok(record),
            Err(error) => Err(error),
        }
    }

    pub fn into_buffer(self) -> Buffer {
        self.buffer
    }

    /// # Errors
    /// The bytes are no record.
    pub fn fields(&self) -> Result<Fields<'_>> {
        let bytes: &[u8; RECORD] = self.buffer.bytes()?.try_into().map_err(|_| malformed("another length"))?;
        let short = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let long = |at: usize| bytes[at..at + 8].iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
        let kind = match bytes[0] {
            1 => Kind::Call,
            2 => Kind::Left,
            3 => Kind::Failed,
            _ => return Err(malformed("an unknown kind")),
        };
        let text = bytes[TEXT..PAYLOAD_AT].get(..short(2)).ok_or_else(|| malformed("a length of text"))?;
        let text = std::str::from_utf8(text).map_err(|_| malformed("a text"))?;
        let payload = bytes[PAYLOAD_AT..].get(..short(4)).ok_or_else(|| malformed("a length of data"))?;
        Ok(Fields { kind, hash: long(8), pair: [long(16), long(24)], text, payload })
    }
}

#[cold]
fn malformed(what: &str) -> Error {
    Error::format(
        "record of a call",
        format!("{what}: ranks run different versions, or something else uses their messages"),
    )
}

/// The beginning of a text, of at most so many bytes.
fn cut(text: &str, len: usize) -> &str {
    let end = (0..=len.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_was_written() {
        let text = "ü".repeat(400);
        let fields =
            Fields { kind: Kind::Call, hash: u64::MAX - 1, pair: [3, 1 << 40], text: &text, payload: &[7; PAYLOAD] };
        let record = Record::of(Record::new(&fields).unwrap().into_buffer()).unwrap();
        let read = record.fields().unwrap();
        assert_eq!(
            (read.kind, read.hash, read.pair, read.payload),
            (Kind::Call, u64::MAX - 1, [3, 1 << 40], &[7; PAYLOAD][..])
        );
        assert_eq!(read.text, "ü".repeat(236));
        assert_eq!(read.payload.as_ptr().addr() % 16, 0);
    }

    #[test]
    fn what_is_no_record_is_an_error() {
        assert!(Record::of(Buffer::zeros(RECORD).unwrap()).is_err());
        assert!(Record::of(Buffer::zeros(3).unwrap()).is_err());
        let mut long = Buffer::zeros(RECORD).unwrap();
        long.bytes_mut().unwrap()[..4].copy_from_slice(&[1, 0, 255, 255]);
        assert!(Record::of(long).is_err());
    }
}
