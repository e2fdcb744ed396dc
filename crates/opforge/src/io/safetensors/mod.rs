//! `.safetensors` files: named tensors after a header in JSON. Format: <https://github.com/huggingface/safetensors>.
//!
//! | | bytes | tensors |
//! |---|---|---|
//! | [`load`] | the file, copied if it is small, otherwise mapped | all |
//! | [`load_with`], [`load_with_metadata`] | the file, copied or mapped | all |
//! | [`MmapedSafetensors`] | files, mapped | one at a time |
//! | [`load_buffer`] | a slice | all |
//! | [`SliceSafetensors`], [`BufferedSafetensors`] | a slice, a vector | one at a time |
//!
//! Tensors of mapped files are read-only views of the file where its bytes are aligned; others are copies. A mapped file must keep its content: reads of
//! one that was truncated end this process (`SIGBUS`), see [`FileAccess::Map`].

mod header;
mod save;

use std::collections::HashMap;
use std::path::Path;

use opforge_runtime::MappedFile;
use safetensors::tensor::{Dtype, TensorView};

use super::access::{Opened, Source};
use super::bytes::Claim;
use crate::{DType, Device, Error, FileAccess, Result, Tensor};
use header::Header;
pub use save::{save, save_with_metadata, to_bytes};

const FORMAT: &str = "safetensors";

fn from_file_dtype(dtype: Dtype) -> Result<DType> {
    let own = DType::ALL.into_iter().find(|&own| to_file_dtype(own).is_ok_and(|stored| stored == dtype));
    let accepted = "bool, u8..u64, i8..i64, f8e4m3, f8e5m2, f16, bf16, f32, f64, c64";
    own.ok_or_else(|| Error::dtype("safetensors", "dtype", dtype, accepted))
}

fn to_file_dtype(dtype: DType) -> Result<Dtype> {
    Ok(match dtype {
        DType::Bool => Dtype::BOOL,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::F8E4M3 => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::C64 => Dtype::C64,
        DType::C128 => return Err(Error::UnsupportedDTypeForOp(dtype, "save_safetensors")),
    })
}

/// One file's header, checked against its bytes, and how to get at them.
struct Reader<'a> {
    header: &'a Header,
    source: Source<'a>,
}

impl<'a> Reader<'a> {
    fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
        let (info, range) = self.header.find(name)?;
        let dtype = from_file_dtype(info.dtype).map_err(|error| error.context(format!("tensor {name}")))?;
        let claim = Claim { dtype, shape: info.shape.clone().into(), swapped: cfg!(target_endian = "big") };
        claim.nbytes(FORMAT)?;
        claim.tensor(self.source, range, device, FORMAT)
    }

    fn view(&self, name: &str) -> Result<TensorView<'a>> {
        let (info, range) = self.header.find(name)?;
        let bytes = match self.source {
            Source::Mapped(file) => file.bytes(range),
            Source::Slice(bytes) => &bytes[range],
            Source::File(_) => return Err(Error::format(FORMAT, "views need a file's bytes in memory")),
        };
        TensorView::new(info.dtype, info.shape.clone(), bytes).map_err(|error| Error::format(FORMAT, error))
    }

    fn views(&self) -> Vec<(String, TensorView<'a>)> {
        // A header's ranges and shapes have been checked: every view can be had.
        self.header.names().filter_map(|name| Some((name.to_owned(), self.view(name).ok()?))).collect()
    }

    fn load_all(&self, device: &Device) -> Result<Vec<(String, Tensor)>> {
        self.header.names().map(|name| Ok((name.to_owned(), self.load(name, device)?))).collect()
    }
}

/// All tensors of a file, by name: copies, or, if the file is larger than 64 MiB, views of the mapped file where its bytes are aligned. Such a file must
/// keep its content: reads of one that was truncated end this process (`SIGBUS`), see [`FileAccess::Map`]. [`load_with`] has the choice.
///
/// # Errors
/// [`Error::Io`]; [`Error::Format`] for a header longer than the file, ranges that overlap, leave holes or do not match dtype and shape,
/// names that occur twice, and unknown dtypes; [`Error::DType`] for known ones that tensors cannot have.
///
/// ```
/// # use std::collections::HashMap;
/// # use opforge::{Device, Tensor, safetensors};
/// # fn main() -> opforge::Result<()> {
/// let path = std::env::temp_dir().join(format!("doc-{}.safetensors", std::process::id()));
/// let tensors = HashMap::from([("w", Tensor::new(&[1f32, 2.0], &Device::Cpu)?)]);
/// safetensors::save(&tensors, &path)?;
/// assert_eq!(safetensors::load(&path, &Device::Cpu)?["w"].to_vec1::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
pub fn load<P: AsRef<Path>>(filename: P, device: &Device) -> Result<HashMap<String, Tensor>> {
    load_with(filename, device, FileAccess::Auto)
}

/// All tensors of a file, by name, copied or mapped.
///
/// # Errors
/// As [`load`].
pub fn load_with<P: AsRef<Path>>(filename: P, device: &Device, access: FileAccess) -> Result<HashMap<String, Tensor>> {
    Ok(load_with_metadata(filename, device, access)?.tensors.into_iter().collect())
}

/// All that is in a file.
#[derive(Debug, Clone)]
pub struct Contents {
    /// By name, in the order of their bytes.
    pub tensors: Vec<(String, Tensor)>,
    /// What the file says about the whole, by name.
    pub metadata: HashMap<String, String>,
}

/// As [`load_with`], with what the file says about the whole.
///
/// # Errors
/// As [`load`].
pub fn load_with_metadata<P: AsRef<Path>>(filename: P, device: &Device, access: FileAccess) -> Result<Contents> {
    let file = Opened::new(filename.as_ref(), access)?;
    let header = Header::read(file.source())?;
    let tensors = Reader { header: &header, source: file.source() }.load_all(device)?;
    Ok(Contents { tensors, metadata: header.metadata().clone() })
}

/// Copies of all tensors in a file's bytes, by name.
///
/// # Errors
/// [`Error::Format`]; see [`load`].
pub fn load_buffer(data: &[u8], device: &Device) -> Result<HashMap<String, Tensor>> {
    let source = Source::Slice(data);
    Ok(Reader { header: &Header::read(source)?, source }.load_all(device)?.into_iter().collect())
}

/// What can become a tensor on a device.
pub trait Load {
    /// The tensor.
    ///
    /// # Errors
    /// For dtypes that tensors cannot have.
    fn load(&self, device: &Device) -> Result<Tensor>;
}

impl Load for TensorView<'_> {
    fn load(&self, device: &Device) -> Result<Tensor> {
        let (dtype, bytes) = (from_file_dtype(self.dtype())?, self.data());
        let claim = Claim { dtype, shape: self.shape().into(), swapped: cfg!(target_endian = "big") };
        claim.tensor(Source::Slice(bytes), 0..bytes.len(), device, FORMAT)
    }
}

/// The methods that read one tensor, by the type's `reader`.
macro_rules! reader {
    ($($file:ty),*) => {
        $(impl $file {
            /// A tensor by name.
            ///
            /// # Errors
            /// [`Error::CannotFindTensor`]; [`Error::DType`] for a dtype that tensors cannot have.
            pub fn load(&self, name: &str, device: &Device) -> Result<Tensor> {
                self.reader(name)?.load(name, device)
            }

            /// A tensor's dtype, shape and bytes.
            ///
            /// # Errors
            /// [`Error::CannotFindTensor`].
            pub fn get(&self, name: &str) -> Result<TensorView<'_>> {
                self.reader(name)?.view(name)
            }
        })*
    };
}
reader!(MmapedSafetensors, SliceSafetensors<'_>, BufferedSafetensors);

/// Mapped files whose tensors are read one at a time.
pub struct MmapedSafetensors {
    files: Vec<(MappedFile, Header)>,
    /// The file that each name is in.
    routes: HashMap<String, usize>,
}

impl MmapedSafetensors {
    /// Maps a file, however small. It must keep its content as long as this or a tensor of it lives: who overwrites it changes tensors, and who truncates
    /// it ends this process when they are read (`SIGBUS`). [`BufferedSafetensors`] and [`load_with`] copy.
    ///
    /// # Errors
    /// As [`load`].
    pub fn new<P: AsRef<Path>>(path: P) -> Result<Self> {
        Self::multi(&[path])
    }

    /// Maps several files, as [`MmapedSafetensors::new`] does. Of a name in several of them the last file's tensor is taken.
    ///
    /// # Errors
    /// As [`load`].
    pub fn multi<P: AsRef<Path>>(paths: &[P]) -> Result<Self> {
        let mut files = Vec::with_capacity(paths.len());
        let mut routes = HashMap::new();
        for (i, path) in paths.iter().enumerate() {
            let file = MappedFile::open(&path).map_err(|error| error.opening(&path))?;
            let header = Header::read(Source::Mapped(&file)).map_err(|e| e.context(path.as_ref().display()))?;
            routes.extend(header.names().map(|name| (name.to_owned(), i)));
            files.push((file, header));
        }
        Ok(MmapedSafetensors { files, routes })
    }

    fn reader(&self, name: &str) -> Result<Reader<'_>> {
        let file = self.routes.get(name).ok_or_else(|| Error::CannotFindTensor { path: name.into() }.bt())?;
        let (file, header) = &self.files[*file];
        Ok(Reader { header, source: Source::Mapped(file) })
    }

    /// What a file says about the whole, by name.
    ///
    /// # Errors
    /// [`Error::Index`] for a file that is not there.
    pub fn metadata(&self, file: usize) -> Result<&HashMap<String, String>> {
        let accepted = format!("one of {} files", self.files.len());
        let file = self.files.get(file).ok_or_else(|| Error::index("metadata", "file", file, accepted))?;
        Ok(file.1.metadata())
    }

    /// The names of the tensors, file by file in the order of their bytes.
    pub fn names(&self) -> Vec<&str> {
        self.files.iter().flat_map(|(_, header)| header.names()).collect()
    }

    /// All tensors, file by file.
    pub fn tensors(&self) -> Vec<(String, TensorView<'_>)> {
        let views = |(file, header)| Reader { header, source: Source::Mapped(file) }.views();
        self.files.iter().map(|(file, header)| (file, header)).flat_map(views).collect()
    }
}

/// A slice with a file's bytes, whose tensors are read one at a time.
pub struct SliceSafetensors<'a> {
    data: &'a [u8],
    header: Header,
}

impl<'a> SliceSafetensors<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Error::Format`]; see [`load`].
    pub fn new(buffer: &'a [u8]) -> Result<Self> {
        Ok(SliceSafetensors { data: buffer, header: Header::read(Source::Slice(buffer))? })
    }

    fn reader(&self, _name: &str) -> Result<Reader<'_>> {
        Ok(Reader { header: &self.header, source: Source::Slice(self.data) })
    }

    /// All tensors.
    pub fn tensors(&self) -> Vec<(String, TensorView<'_>)> {
        Reader { header: &self.header, source: Source::Slice(self.data) }.views()
    }

    /// The names of the tensors, in the order of their bytes.
    pub fn names(&self) -> Vec<&str> {
        self.header.names().collect()
    }

    /// What the file says about the whole, by name.
    pub fn metadata(&self) -> &HashMap<String, String> {
        self.header.metadata()
    }
}

/// A vector with a file's bytes, whose tensors are read one at a time.
pub struct BufferedSafetensors {
    data: Vec<u8>,
    header: Header,
}

impl BufferedSafetensors {
    /// Reads the header.
    ///
    /// # Errors
    /// [`Error::Format`]; see [`load`].
    pub fn new(buffer: Vec<u8>) -> Result<Self> {
        let header = Header::read(Source::Slice(&buffer))?;
        Ok(BufferedSafetensors { data: buffer, header })
    }

    fn reader(&self, _name: &str) -> Result<Reader<'_>> {
        Ok(Reader { header: &self.header, source: Source::Slice(&self.data) })
    }

    /// All tensors.
    pub fn tensors(&self) -> Vec<(String, TensorView<'_>)> {
        Reader { header: &self.header, source: Source::Slice(&self.data) }.views()
    }
}
