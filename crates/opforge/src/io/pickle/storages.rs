//! The memory of a file's tensors: where it is, and what has been loaded of it.

use std::collections::HashMap;
use std::ops::Range;

use opforge_core::Strides;

use super::FORMAT;
use super::object::{StorageName, Stored};
use crate::functional::conj;
use crate::io::access::Source;
use crate::io::bytes::Claim;
use crate::{DType, Device, Error, Layout, Result, Shape, Tensor};

/// Where a storage's bytes are.
pub(super) enum Place {
    /// In the file.
    File(Range<usize>),
    /// Unpacked from a part of the file.
    Memory(Vec<u8>),
}

/// The storages of a file by key.
pub(super) struct Storages {
    pub places: HashMap<String, Place>,
    /// Whether numbers are in the other byte order than this machine's.
    pub swapped: bool,
    /// What stands before a key in the name of an archive's entry.
    pub folder: String,
    loaded: HashMap<(String, DType), Tensor>,
}

impl Storages {
    pub fn new(places: HashMap<String, Place>, swapped: bool) -> Storages {
        Storages { places, swapped, folder: String::new(), loaded: HashMap::new() }
    }

    /// The same, with what stands before a key in the name of an archive's entry.
    pub fn in_folder(self, folder: String) -> Storages {
        Storages { folder, ..self }
    }

    /// A tensor over its storage; one that shows other numbers than those in memory has memory of its own.
    pub fn tensor(&mut self, source: Source<'_>, name: &StorageName, stored: &Stored) -> Result<Tensor> {
        let is_typed = name.dtype == stored.dtype;
        if !is_typed && (name.dtype != DType::U8 || self.swapped) {
            let message = format!("a tensor of {} in a storage of {}", stored.dtype, name.dtype);
            return Err(Error::format(FORMAT, message));
        }
        let whole = self.load(source, name, stored.dtype)?;
        let beyond =
            || Error::format(FORMAT, format!("a tensor of shape {:?} beyond storage {}", stored.shape, name.key));
        let start = name.start.checked_add(stored.offset).ok_or_else(beyond)?;
        let layout =
            Layout::new(Shape::from(stored.shape.clone()), Strides::from_vec(stored.stride.clone()), start, FORMAT);
        let layout = layout.map_err(|_| beyond())?;
        if layout.span() > whole.elem_count() {
            return Err(beyond());
        }
        let shown = Tensor::over_storage(whole.storage().clone(), stored.dtype, layout)?;
        let shown = if stored.is_conj { conj(&shown)? } else { shown };
        if stored.is_neg { shown.neg() } else { Ok(shown) }
    }

    /// All of a storage, as a vector of this dtype.
    fn load(&mut self, source: Source<'_>, name: &StorageName, dtype: DType) -> Result<Tensor> {
        let key = (name.key.clone(), dtype);
        if let Some(loaded) = self.loaded.get(&key) {
            return Ok(loaded.clone());
        }
        let place = self.places.get(&name.key);
        let place =
            place.ok_or_else(|| Error::format(FORMAT, format!("storage {}, which the file lacks", name.key)))?;
        let (source, range) = match place {
            Place::File(range) => (source, range.clone()),
            Place::Memory(bytes) => (Source::Slice(bytes), 0..bytes.len()),
        };
        let (bytes, size) = (range.len(), dtype.size_in_bytes());
        if !bytes.is_multiple_of(size) {
            return Err(Error::format(FORMAT, format!("storage {} of {bytes} bytes, of {dtype}", name.key)));
        }
        let claim = Claim { dtype, shape: Shape::from(bytes / size), swapped: self.swapped };
        let loaded = claim.tensor(source, range, &Device::Cpu, FORMAT)?;
        self.loaded.insert(key, loaded.clone());
        Ok(loaded)
    }
}
