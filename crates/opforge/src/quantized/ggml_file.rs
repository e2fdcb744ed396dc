//! Files in the formats that came before gguf: a header of numbers, a vocabulary, tensors.
//!
//! `ggml` has no version, `ggmf` version 1, `ggjt` versions 1 to 3, whose tensors begin at multiples of 32; all are little-endian. The layout is that of
//! llama.cpp before August 2023. A file's lengths are claims, held against its size before anything is read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Read, Seek};

use super::gguf_file::input::Input;
use super::gguf_file::type_of_number;
use super::{GgmlDType, QStorage, QTensor};
use crate::{Device, Error, Result, Shape};

const FORMAT: &str = "ggml";
/// Where tensors of `ggjt` begin: at multiples of so many bytes.
const ALIGNMENT: u64 = 32;

/// The format and version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VersionedMagic {
    GgmlUnversioned,
    GgmfV1,
    GgjtV1,
    GgjtV2,
    GgjtV3,
}

/// The sizes of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct HParams {
    pub n_vocab: u32,
    pub n_embd: u32,
    pub n_mult: u32,
    pub n_head: u32,
    pub n_layer: u32,
    pub n_rot: u32,
    pub ftype: u32,
}

/// The tokens of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Vocab {
    /// The bytes of each token, and its score; 0 in files without version, which have none.
    pub token_score_pairs: Vec<(Vec<u8>, f32)>,
}

/// A file's content.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Content {
    pub magic: VersionedMagic,
    pub hparams: HParams,
    pub vocab: Vocab,
    pub tensors: HashMap<String, QTensor>,
    pub device: Device,
}

impl Content {
    /// Reads a file, from the reader's position on; its tensors are on this device then.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no file of the formats, or ends too early; [`Error::Io`].
    pub fn read<R: Seek + Read>(reader: &mut R, device: &Device) -> Result<Content> {
        let mut input = Input::new(reader, FORMAT)?;
        input.is_wide = false;
        let magic = VersionedMagic::read(&mut input)?;
        let hparams = HParams::read(&mut input)?;
        let vocab = Vocab::read(&mut input, hparams.n_vocab, magic)?;
        let mut tensors = HashMap::new();
        while input.left() > 0 {
            let (name, tensor) = read_tensor(&mut input, magic, device)?;
            tensors.insert(name, tensor);
        }
        Ok(Content { magic, hparams, vocab, tensors, device: *device })
    }

    /// Takes a tensor out.
    ///
    /// # Errors
    /// [`Error::CannotFindTensor`].
    pub fn remove(&mut self, name: &str) -> Result<QTensor> {
        self.tensors.remove(name).ok_or_else(|| Error::CannotFindTensor { path: name.to_owned() }.bt())
    }
}

impl VersionedMagic {
    fn read<R: Seek + Read>(input: &mut Input<'_, R>) -> Result<Self> {
        let magic = input.u32()?.to_be_bytes();
        if &magic == b"ggml" {
            return Ok(VersionedMagic::GgmlUnversioned);
        }
        match (&magic, input.u32()?) {
            (b"ggmf", 1) => Ok(VersionedMagic::GgmfV1),
            (b"ggjt", 1) => Ok(VersionedMagic::GgjtV1),
            (b"ggjt", 2) => Ok(VersionedMagic::GgjtV2),
            (b"ggjt", 3) => Ok(VersionedMagic::GgjtV3),
            (_, version) => {
                let given = format!("{:?}, version {version}", magic.escape_ascii().to_string());
                Err(input.bad(format!("it begins with {given} (accepted: ggml, ggmf 1, ggjt 1 to 3)")))
            }
        }
    }

    fn is_aligned(self) -> bool {
        matches!(self, VersionedMagic::GgjtV1 | VersionedMagic::GgjtV2 | VersionedMagic::GgjtV3)
    }
}

impl HParams {
    fn read<R: Seek + Read>(input: &mut Input<'_, R>) -> Result<Self> {
        Ok(HParams {
            n_vocab: input.u32()?,
            n_embd: input.u32()?,
            n_mult: input.u32()?,
            n_head: input.u32()?,
            n_layer: input.u32()?,
            n_rot: input.u32()?,
            ftype: input.u32()?,
        })
    }
}

impl Vocab {
    fn read<R: Seek + Read>(input: &mut Input<'_, R>, tokens: u32, magic: VersionedMagic) -> Result<Self> {
        let has_scores = magic != VersionedMagic::GgmlUnversioned;
        let token = |_| {
            let len = input.length()?;
            let bytes = input.bytes(len)?;
            Ok((bytes, if has_scores { f32::from_bits(input.u32()?) } else { 0.0 }))
        };
        Ok(Vocab { token_score_pairs: (0..tokens).map(token).collect::<Result<_>>()? })
    }
}

fn read_tensor<R: Seek + Read>(
    input: &mut Input<'_, R>,
    magic: VersionedMagic,
    device: &Device,
) -> Result<(String, QTensor)> {
    let (rank, name_len, dtype) = (input.u32()?, input.u32()?, type_of_number(input.u32()?)?);
    if rank as usize > opforge_core::MAX_RANK {
        return Err(input.bad(format!("a tensor of {rank} dimensions")));
    }
    let mut dims = (0..rank).map(|_| Ok(input.u32()? as usize)).collect::<Result<Vec<usize>>>()?;
    // Files have the innermost dimension first.
    dims.reverse();
    let name = String::from_utf8(input.bytes(name_len.into())?);
    let name = name.map_err(|error| input.bad(format!("a name that is not UTF-8: {error}")))?;
    if magic.is_aligned() {
        let at = input.read_so_far();
        input.bytes(at.next_multiple_of(ALIGNMENT) - at)?;
    }
    let shape = Shape::from(dims);
    let impossible = |error: Error| error.context(format!("tensor {name}"));
    shape.check(FORMAT, 4).map_err(impossible)?;
    let size = dtype.bytes_of(FORMAT, shape.elem_count()).map_err(impossible)?;
    let bytes = input.bytes(size as u64)?;
    Ok((name, qtensor_from_ggml(dtype, &bytes, shape.into_dims(), device)?))
}

/// A tensor of blocks as ggml has them.
///
/// # Errors
/// For bytes that do not fill the shape.
pub fn qtensor_from_ggml(ggml_dtype: GgmlDType, raw_data: &[u8], dims: Vec<usize>, device: &Device) -> Result<QTensor> {
    QTensor::new(QStorage::from_data(Cow::Borrowed(raw_data), device, ggml_dtype)?, dims)
}
