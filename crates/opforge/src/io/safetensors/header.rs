//! The header of a safetensors file, read and checked.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use safetensors::tensor::TensorInfo;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::FORMAT;
use crate::io::access::Source;
use crate::{Error, Result};

/// Longer headers than this are not believed; the format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// The bytes of the header's length.
const LENGTH: usize = 8;

/// What a file says about its tensors, checked against its bytes.
pub(super) struct Header {
    /// Where the elements begin.
    start: usize,
    tensors: HashMap<String, TensorInfo>,
    /// The names in the order of their bytes.
    order: Vec<String>,
    /// What the writer says about the whole.
    metadata: HashMap<String, String>,
}

fn bad(message: impl fmt::Display) -> Error {
    Error::format(FORMAT, message)
}

impl Header {
    /// Reads and checks a header.
    pub fn read(source: Source<'_>) -> Result<Self> {
        let len = source.len();
        let length = source.part(0..len.min(LENGTH), FORMAT)?;
        let length = length.first_chunk::<LENGTH>().ok_or_else(|| bad("no 8 bytes of header length"))?;
        let length = u64::from_le_bytes(*length);
        if length > MAX_HEADER.min((len - LENGTH) as u64) {
            return Err(bad(format!("a header of {length} bytes in a file of {len}")));
        }
        let start = LENGTH + length as usize;
        let entries: Entries = serde_json::from_slice(&source.part(LENGTH..start, FORMAT)?).map_err(bad)?;
        let Entries { mut entries, metadata } = entries;
        entries.sort_by_key(|(_, info)| info.data_offsets);
        check(&entries, len - start)?;
        let order = entries.iter().map(|(name, _)| name.clone()).collect();
        Ok(Header { start, tensors: entries.into_iter().collect(), order, metadata })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(String::as_str)
    }

    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    /// A tensor's description, and where in the file its elements are.
    pub fn find(&self, name: &str) -> Result<(&TensorInfo, Range<usize>)> {
        let info = self.tensors.get(name).ok_or_else(|| Error::CannotFindTensor { path: name.into() }.bt())?;
        let (start, end) = info.data_offsets;
        Ok((info, self.start + start..self.start + end))
    }
}

/// The tensors, in the order of their bytes, follow each other without holes up to the end, and each has the bytes of its shape.
fn check(entries: &[(String, TensorInfo)], available: usize) -> Result<()> {
    let mut expected = 0;
    for (name, info) in entries {
        let (start, end) = info.data_offsets;
        if start != expected || end < start || end > available {
            let message =
                format!("tensor {name:?} at bytes {start}..{end}, expected from {expected} up to at most {available}");
            return Err(bad(message));
        }
        let bits = info.shape.iter().try_fold(info.dtype.bitsize(), |bits, &d| bits.checked_mul(d));
        if bits.is_none_or(|bits| bits % 8 != 0 || bits / 8 != end - start) {
            let message = format!("tensor {name:?} of {} bytes for {:?} in {}", end - start, info.shape, info.dtype);
            return Err(bad(message));
        }
        expected = end;
    }
    if expected == available {
        return Ok(());
    }
    Err(bad(format!("{available} bytes of elements, of which {expected} belong to tensors")))
}

/// The header's entries, none of them twice.
struct Entries {
    entries: Vec<(String, TensorInfo)>,
    /// The entry `__metadata__`.
    metadata: HashMap<String, String>,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries, A::Error> {
        let mut seen = std::collections::HashSet::new();
        let (mut entries, mut metadata) = (Vec::new(), HashMap::new());
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("{name:?} twice")));
            }
            if name == "__metadata__" {
                metadata = map.next_value()?;
            } else {
                entries.push((name, map.next_value()?));
            }
        }
        Ok(Entries { entries, metadata })
    }
}
