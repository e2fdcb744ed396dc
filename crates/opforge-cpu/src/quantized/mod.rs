//! Numbers of a few bits in blocks that share scales, as ggml and its files (gguf) have them; kernels that make blocks, read them, and multiply with them.
//!
//! Layouts and formulas are those of ggml's documentation of its types (`docs/gguf.md` and the type list of the ggml project). All of them are
//! one thing when they are read, `block::Block`: small integers, which are scaled in groups of 16.
//!
//! A type says how it is packed and read (`plain.rs`, `super_blocks.rs`), and how vectors read its integers (`product/`): there are two vector loops,
//! for blocks of 32 and of 256 elements. Products are of integers, with rows that are rounded to 8 bits on the way (`factor.rs`).

mod block;
mod convert;
mod factor;
mod fit;
mod groups;
mod linear;
mod plain;
mod product;
mod super_blocks;

use std::sync::Arc;

use opforge_core::term::{Attributes, Term, unexpected};
use opforge_core::{DType, Error, Meta, Result};
use opforge_runtime::HostKernel;

/// How the elements of a quantized tensor are stored; the names are ggml's.
///
/// The types with `K` have 256 elements in a block, whose groups of 16 or 32 have scales of their own; the others 32. What is not finite makes its
/// whole block NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum GgmlDType {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q8_1,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Q8K,
}

/// Evaluates an expression with `$format` standing for the [`block::Packing`] of a type that has blocks; gives `$none` for floats.
macro_rules! by_format {
    ($dtype:expr, $format:ident => $value:expr, else $none:expr) => {
        by_format!(@match $dtype, $format, $value, $none,
            plain: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1; super_blocks: Q2K, Q3K, Q4K, Q5K, Q6K, Q8K)
    };
    (@match $dtype:expr, $format:ident, $value:expr, $none:expr, plain: $($small:ident),*; super_blocks: $($large:ident),*) => {
        match $dtype {
            $(GgmlDType::$small => { type $format = plain::$small; $value })*
            $(GgmlDType::$large => { type $format = super_blocks::$large; $value })*
            GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => $none,
        }
    };
}

impl GgmlDType {
    /// Every type.
    pub const ALL: [GgmlDType; 15] = {
        use GgmlDType::*;
        [F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2K, Q3K, Q4K, Q5K, Q6K, Q8K]
    };

    /// The bytes of a block.
    pub fn type_size(&self) -> usize {
        by_format!(*self, F => <F as block::Packing>::BYTES, else self.float().map_or(0, |dtype| dtype.size_in_bytes()))
    }

    /// The elements of a block: 1 for floats.
    pub fn block_size(&self) -> usize {
        by_format!(*self, F => <F as block::Packing>::LEN, else 1)
    }

    /// The dtype of elements that are floats as they are.
    pub fn float(self) -> Option<DType> {
        match self {
            GgmlDType::F32 => Some(DType::F32),
            GgmlDType::F16 => Some(DType::F16),
            GgmlDType::BF16 => Some(DType::BF16),
            _ => None,
        }
    }

    /// The bytes of so many elements.
    ///
    /// # Errors
    /// For a number that does not fill blocks, and sizes beyond the address space.
    pub fn bytes_of(self, op: &'static str, elements: usize) -> Result<usize> {
        let (len, size) = (self.block_size(), self.type_size());
        let whole = || format!("a multiple of {len} elements, the block of {self:?}");
        if !elements.is_multiple_of(len) {
            return Err(Error::value(op, "elements", elements, whole()));
        }
        (elements / len).checked_mul(size).ok_or_else(|| Error::value(op, "elements", elements, whole()))
    }
}

impl Attributes for GgmlDType {
    fn type_name() -> String {
        "GgmlDType".to_owned()
    }
    fn write(&self) -> Term {
        Term::name(format!("{self:?}"))
    }
    fn read(term: &Term) -> Result<Self> {
        let named = |dtype: &GgmlDType| term.head() == Some(&*format!("{dtype:?}"));
        Self::ALL.into_iter().find(named).ok_or_else(|| unexpected("quantized type", term, "one of ggml's"))
    }
}

/// The kernel that packs f32 `[.., k]` into bytes `[.., blocks of k]`.
///
/// # Errors
/// For floats, which have no blocks; other dtypes and layouts that are not contiguous; rows that do not fill blocks.
pub fn pack(op: &'static str, dtype: GgmlDType, x: &Meta, bytes: &Meta) -> Result<Arc<dyn HostKernel>> {
    expect(op, "x", x, DType::F32, x.elem_count())?;
    expect(op, "bytes", bytes, DType::U8, dtype.bytes_of(op, x.elem_count())?)?;
    by_format!(dtype, F => Ok(convert::pack::<F>(x.elem_count())), else Err(no_blocks(op, dtype)))
}

/// The kernel that unpacks bytes into f32.
///
/// # Errors
/// As [`pack`].
pub fn unpack(op: &'static str, dtype: GgmlDType, bytes: &Meta, x: &Meta) -> Result<Arc<dyn HostKernel>> {
    expect(op, "x", x, DType::F32, x.elem_count())?;
    expect(op, "bytes", bytes, DType::U8, dtype.bytes_of(op, x.elem_count())?)?;
    by_format!(dtype, F => Ok(convert::unpack::<F>(x.elem_count())), else Err(no_blocks(op, dtype)))
}

/// The kernel for `y [m, n] = x [m, k] times the transpose of w [n, k]`: x and y are f32, w is bytes of `dtype`.
///
/// At every run, x is rounded to 8 bits, in blocks as long as those of w; what is not finite makes its block NaN. Products of integers are exact within a
/// block, and blocks are added in f32. Results do not depend on the number of threads.
///
/// # Errors
/// As [`pack`].
pub fn linear(
    op: &'static str,
    dtype: GgmlDType,
    [m, n, k]: [usize; 3],
    [x, w]: [&Meta; 2],
    y: &Meta,
) -> Result<Arc<dyn HostKernel>> {
    let large = || Error::value(op, "elements", format!("{m} x {n} x {k}"), "sizes that fit into memory");
    let count = |a: usize, b: usize| a.checked_mul(b).ok_or_else(large);
    dtype.bytes_of(op, k)?;
    expect(op, "x", x, DType::F32, count(m, k)?)?;
    expect(op, "weight", w, DType::U8, dtype.bytes_of(op, count(n, k)?)?)?;
    expect(op, "y", y, DType::F32, count(m, n)?)?;
    by_format!(dtype, F => linear::prepare::<F>([m, n, k]).ok_or_else(large), else Err(no_blocks(op, dtype)))
}

fn no_blocks(op: &'static str, dtype: GgmlDType) -> Error {
    Error::value(op, "dtype", format!("{dtype:?}"), "a quantized type: floats have no blocks")
}

/// Fails unless a tensor is contiguous, of this dtype and of so many elements.
fn expect(op: &'static str, name: &'static str, meta: &Meta, dtype: DType, elements: usize) -> Result<()> {
    if meta.dtype != dtype {
        return Err(Error::dtype(op, name, meta.dtype, dtype));
    }
    if !meta.layout.is_contiguous() || meta.elem_count() != elements {
        return Err(Error::shape(op, name, format!("{:?}", meta.layout), format!("{elements} contiguous elements")));
    }
    Ok(())
}
