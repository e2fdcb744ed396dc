//! Tensors in safetensors files. The format's own crate checks every size and offset of a file against its bytes.

use std::collections::HashMap;
use std::path::Path;

use opforge::{DType, Device, Element, Error, Result, Tensor, bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// Evaluates an expression with `$t` as the Rust type of a dtype that files can hold; both formats are little-endian.
macro_rules! with_type {
    ($dtype:expr, $t:ident => $expr:expr, _ => $other:expr, { $($tag:path: $ty:ty),* }) => {
        match $dtype {
            $($tag => { type $t = $ty; $expr })*
            _ => $other,
        }
    };
}

/// A number as the file's bytes hold it.
trait Bytes: Element {
    fn push(self, out: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! little_endian {
    ($($ty:ty),*) => {
        $(impl Bytes for $ty {
            fn push(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Vec<Self> {
                let (chunks, _) = bytes.as_chunks();
                chunks.iter().map(|chunk| <$ty>::from_le_bytes(*chunk)).collect()
            }
        })*
    };
}
little_endian!(u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64);

impl Bytes for bool {
    fn push(self, out: &mut Vec<u8>) {
        out.push(self.into());
    }
    fn read(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

fn file_dtype(dtype: DType) -> Result<Dtype> {
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
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        other => return Err(Error::dtype("save", "tensor", other, "a dtype of the safetensors format")),
    })
}

fn to_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    fn all<T: Bytes>(tensor: &Tensor) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(tensor.elem_count() * T::DTYPE.size_in_bytes());
        tensor.flatten_all()?.to_vec1::<T>()?.into_iter().for_each(|x| x.push(&mut bytes));
        Ok(bytes)
    }
    with_type!(tensor.dtype(), T => all::<T>(tensor), _ => file_dtype(tensor.dtype()).map(|_| Vec::new()), {
        DType::Bool: bool, DType::U8: u8, DType::U16: u16, DType::U32: u32, DType::U64: u64, DType::I8: i8, DType::I16: i16,
        DType::I32: i32, DType::I64: i64, DType::F16: f16, DType::BF16: bf16, DType::F32: f32, DType::F64: f64
    })
}

fn from_view(view: &TensorView<'_>) -> Result<Tensor> {
    fn all<T: Bytes>(view: &TensorView<'_>) -> Result<Tensor> {
        Tensor::from_vec(T::read(view.data()), view.shape(), &Device::Cpu)
    }
    let unknown = || Err(Error::format("safetensors", format!("dtype {:?} is not supported", view.dtype())));
    with_type!(view.dtype(), T => all::<T>(view), _ => unknown(), {
        Dtype::BOOL: bool, Dtype::U8: u8, Dtype::U16: u16, Dtype::U32: u32, Dtype::U64: u64, Dtype::I8: i8, Dtype::I16: i16,
        Dtype::I32: i32, Dtype::I64: i64, Dtype::F16: f16, Dtype::BF16: bf16, Dtype::F32: f32, Dtype::F64: f64
    })
}

/// Writes tensors to a file.
pub(crate) fn save(tensors: &[(&str, &Tensor)], path: &Path) -> Result<()> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, t)| opforge::no_grad(|| to_bytes(t))).collect::<Result<_>>()?;
    let mut views = Vec::with_capacity(tensors.len());
    for ((name, tensor), bytes) in tensors.iter().zip(&bytes) {
        let view = TensorView::new(file_dtype(tensor.dtype())?, tensor.dims().to_vec(), bytes);
        views.push((*name, view.map_err(malformed)?));
    }
    let file = safetensors::serialize(views, None).map_err(malformed)?;
    std::fs::write(path, file).map_err(|e| Error::from(e).context(format!("writing {}", path.display())))
}

/// All tensors of a file.
pub(crate) fn load(path: &Path) -> Result<HashMap<String, Tensor>> {
    let context = |e: Error| e.context(format!("reading {}", path.display()));
    let data = std::fs::read(path).map_err(|e| context(e.into()))?;
    parse(&data).map_err(context)
}

/// All tensors of a file's bytes.
pub(crate) fn parse(data: &[u8]) -> Result<HashMap<String, Tensor>> {
    let file = SafeTensors::deserialize(data).map_err(malformed)?;
    file.iter().map(|(name, view)| Ok((name.to_owned(), from_view(&view)?))).collect()
}

fn malformed(error: safetensors::SafeTensorError) -> Error {
    Error::format("safetensors", error)
}
