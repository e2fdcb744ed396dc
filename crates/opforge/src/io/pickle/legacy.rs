//! Checkpoints as they were before PyTorch 1.6: a magic number, a version, what the machine was, the object and the storages' keys, a pickle each; then the
//! storages, each after its length in 8 bytes. And pickles without any of that, which hold no tensors.

use std::collections::HashMap;

use super::FORMAT;
use super::machine::{self, Input};
use super::object::{Object, Pickle};
use super::storages::{Place, Storages};
use crate::io::access::Source;
use crate::{Error, Result};

/// 0x1950a86a20f9469cfc6c, lowest byte first.
const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
const VERSION: i64 = 1001;

pub(super) fn read(source: Source<'_>) -> Result<(Pickle, Storages)> {
    let bytes = source.part(0..source.len(), FORMAT)?;
    let (first, rest) = machine::read(&bytes)?;
    if *first.object(first.root()) != Object::Long(MAGIC.to_vec()) {
        return Ok((first, Storages::new(HashMap::new(), false)));
    }
    let (version, rest) = machine::read(rest)?;
    if *version.object(version.root()) != Object::Int(VERSION) {
        let kind = version.object(version.root()).kind();
        return Err(Error::format(FORMAT, format!("version {kind} of the format, accepted: {VERSION}")));
    }
    let (machine, rest) = machine::read(rest)?;
    let little = match machine.get(machine.root(), "little_endian") {
        Some(little) => machine.flag(little)?,
        None => true,
    };
    let (object, rest) = machine::read(rest)?;
    let (keys, rest) = machine::read(rest)?;
    let places = places(&object, &keys, rest, bytes.len() - rest.len())?;
    Ok((object, Storages::new(places, little != cfg!(target_endian = "little"))))
}

/// Where the storages are that stand in the file from `start` on, in the order of their keys.
fn places(object: &Pickle, keys: &Pickle, rest: &[u8], start: usize) -> Result<HashMap<String, Place>> {
    let mut sizes = HashMap::new();
    for known in &object.objects {
        if let Object::Storage(storage) = known {
            sizes.insert(storage.key.as_str(), storage.dtype.size_in_bytes());
        }
    }
    let (mut input, mut places) = (Input { bytes: rest }, HashMap::new());
    for &key in keys.items(keys.root())? {
        let key = keys.text(key)?;
        let size =
            sizes.get(key).ok_or_else(|| Error::format(FORMAT, format!("storage {key}, which no tensor has")))?;
        let len = u64::from_le_bytes(input.array()?);
        let bytes = usize::try_from(len).ok().and_then(|len| len.checked_mul(*size));
        let bytes = bytes.ok_or_else(|| Error::format(FORMAT, format!("storage {key} of {len} elements")))?;
        let at = start + rest.len() - input.bytes.len();
        input.take(bytes)?;
        places.insert(key.to_owned(), Place::File(at..at + bytes));
    }
    Ok(places)
}
