//! What a file says it has, and tensors read from it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{Read, Seek, SeekFrom};

use super::input::Input;
use super::value::{Value, ValueType};
use super::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT, FORMAT, MAGIC, bad, type_of_number};
use crate::quantized::{GgmlDType, QStorage, QTensor};
use crate::{Device, Error, Result, Shape};

/// The version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VersionedMagic {
    GgufV1,
    GgufV2,
    GgufV3,
}

/// What a file says about one of its tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// How elements are stored.
    pub ggml_dtype: GgmlDType,
    /// The shape, the outermost dimension first; files have it the other way round.
    pub shape: Shape,
    /// Where the elements begin, from the first tensor's on.
    pub offset: u64,
}

impl TensorInfo {
    /// Reads the tensor's elements.
    ///
    /// # Errors
    /// [`Error::Format`] for what is not within the file.
    pub fn read<R: Seek + Read>(&self, reader: &mut R, tensor_data_offset: u64, device: &Device) -> Result<QTensor> {
        let start = tensor_data_offset.checked_add(self.offset).ok_or_else(|| bad("a tensor beyond all files"))?;
        let size = self.size()?;
        let end = reader.seek(SeekFrom::End(0))?;
        if start.checked_add(size).is_none_or(|last| last > end) {
            return Err(bad(format!("a tensor of {size} bytes at {start} in a file of {end}")));
        }
        let size = usize::try_from(size).map_err(|_| bad("a tensor beyond the address space"))?;
        opforge_runtime::alloc::check_available(size)?;
        reader.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; size];
        reader.read_exact(&mut bytes)?;
        QTensor::new(QStorage::from_data(Cow::Owned(bytes), device, self.ggml_dtype)?, self.shape.clone())
    }

    /// The size of the elements, if the shape is possible.
    fn size(&self) -> Result<u64> {
        let impossible = || bad(format!("a shape of {:?} in {:?}", self.shape, self.ggml_dtype));
        self.shape.check(FORMAT, 4).map_err(|_| impossible())?;
        let last = self.shape.dims().last().copied().unwrap_or(1);
        if !last.is_multiple_of(self.ggml_dtype.block_size()) {
            return Err(impossible());
        }
        self.ggml_dtype.bytes_of(FORMAT, self.shape.elem_count()).map(|size| size as u64).map_err(|_| impossible())
    }
}

/// What a file has: its values, and where its tensors are.
#[derive(Debug, Clone)]
pub struct Content {
    /// The version.
    pub magic: VersionedMagic,
    /// The values, by name.
    pub metadata: HashMap<String, Value>,
    /// The tensors, by name.
    pub tensor_infos: HashMap<String, TensorInfo>,
    /// Where the first tensor begins, in the reader's positions.
    pub tensor_data_offset: u64,
}

impl Content {
    /// Reads all but the tensors' elements, from the reader's position on.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no file of the format, names that occur twice, and tensors that are not within the file.
    pub fn read<R: Seek + Read>(reader: &mut R) -> Result<Self> {
        let start = reader.stream_position()?;
        let mut input = Input::new(reader, FORMAT)?;
        let magic = read_magic(&mut input)?;
        let least = if input.is_wide { 8 } else { 4 };
        let tensors = input.count(2 * least + 8, "tensors")?;
        let values = input.count(least + 5, "values")?;
        let metadata = named(&mut input, values, |input| {
            let kind = ValueType::of_number(input.u32()?)?;
            Value::read(kind, input, 0)
        })?;
        let tensor_infos = named(&mut input, tensors, read_info)?;
        let alignment = match metadata.get(ALIGNMENT_KEY) {
            None => DEFAULT_ALIGNMENT,
            Some(value) => value.to_u64()?,
        };
        let header = input.read_so_far();
        let offset = header.checked_next_multiple_of(alignment).ok_or_else(|| bad(format!("alignment {alignment}")))?;
        let available = (header + input.left()).saturating_sub(offset);
        for (name, info) in &tensor_infos {
            let end = info.offset.checked_add(info.size()?);
            if !info.offset.is_multiple_of(alignment) || end.is_none_or(|end| end > available) {
                return Err(bad(format!("tensor {name} is at {} of {available} bytes", info.offset)));
            }
        }
        Ok(Content { magic, metadata, tensor_infos, tensor_data_offset: start + offset })
    }

    /// Reads a tensor.
    ///
    /// # Errors
    /// [`Error::CannotFindTensor`]; else as [`TensorInfo::read`].
    pub fn tensor<R: Seek + Read>(&self, reader: &mut R, name: &str, device: &Device) -> Result<QTensor> {
        let info = self.tensor_infos.get(name).ok_or_else(|| Error::CannotFindTensor { path: name.into() }.bt())?;
        info.read(reader, self.tensor_data_offset, device)
    }
}

fn read_magic<R: Seek + Read>(input: &mut Input<'_, R>) -> Result<VersionedMagic> {
    if input.array()? != MAGIC {
        return Err(bad("no file of the format: it begins otherwise"));
    }
    let magic = match input.u32()? {
        1 => VersionedMagic::GgufV1,
        2 => VersionedMagic::GgufV2,
        3 => VersionedMagic::GgufV3,
        other => return Err(bad(format!("version {other} (accepted: 1 to 3, little-endian)"))),
    };
    input.is_wide = magic != VersionedMagic::GgufV1;
    Ok(magic)
}

/// So many things, each after its name.
fn named<R: Seek + Read, T>(
    input: &mut Input<'_, R>,
    count: usize,
    mut read: impl FnMut(&mut Input<'_, R>) -> Result<T>,
) -> Result<HashMap<String, T>> {
    let mut all = HashMap::new();
    for _ in 0..count {
        let name = input.text()?;
        let thing = read(input).map_err(|error| error.context(format!("reading {name}")))?;
        match all.entry(name) {
            Entry::Vacant(place) => place.insert(thing),
            Entry::Occupied(place) => return Err(bad(format!("{} twice", place.key()))),
        };
    }
    Ok(all)
}

fn read_info<R: Seek + Read>(input: &mut Input<'_, R>) -> Result<TensorInfo> {
    let rank = input.u32()? as usize;
    if rank > opforge_core::MAX_RANK {
        return Err(bad(format!("rank {rank}")));
    }
    let mut dims = (0..rank)
        .map(|_| usize::try_from(input.length()?).map_err(|_| bad("a dimension beyond the address space")))
        .collect::<Result<Vec<usize>>>()?;
    dims.reverse();
    let ggml_dtype = type_of_number(input.u32()?)?;
    Ok(TensorInfo { ggml_dtype, shape: dims.into(), offset: input.u64()? })
}
