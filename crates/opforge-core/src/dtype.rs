//! The types of elements, and what follows from them.

use crate::Error;

/// The type of a tensor's elements.
///
/// Complex numbers, `C64` and `C128`, are moved by kernels and computed as pairs of real ones. Floats of eight bits, `F8E4M3` and `F8E5M2`, are stored,
/// moved, converted and tested for equality: nothing computes in them, and no other dtype is promoted with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F8E4M3,
    F8E5M2,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

/// The families that type promotion orders: a dtype of a higher kind wins over any of a lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Bool,
    Int,
    Float,
    Complex,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [DType; 17] = [
        DType::Bool,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];

    /// Bytes an element takes.
    pub const fn size_in_bytes(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 | DType::F8E4M3 | DType::F8E5M2 => 1,
            DType::U16 | DType::I16 | DType::F16 | DType::BF16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 | DType::C64 => 8,
            DType::C128 => 16,
        }
    }

    /// The short name, as the Rust API prints it: `"f32"`.
    pub const fn as_str(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// The long name, as numpy and the custom-operator ABI spell it: `"float32"`.
    pub const fn long_name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::F8E4M3 => "float8_e4m3fn",
            DType::F8E5M2 => "float8_e5m2",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::C64 => "complex64",
            DType::C128 => "complex128",
        }
    }

    /// The family this dtype belongs to.
    pub const fn kind(self) -> Kind {
        match self {
            DType::Bool => Kind::Bool,
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Int,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Int,
            DType::F8E4M3 | DType::F8E5M2 | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => Kind::Float,
            DType::C64 | DType::C128 => Kind::Complex,
        }
    }

    /// f16, bf16, f32 or f64: floats that kernels compute in.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float) && !self.is_storage_only()
    }

    /// f8e4m3 or f8e5m2: floats that are stored, moved and converted, but not computed in.
    pub const fn is_storage_only(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2)
    }

    /// Whether tensors of the dtype may need a gradient: floats, those that are only stored too, and complex numbers.
    pub const fn is_differentiable(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Complex)
    }

    /// The dtype that elements are computed in: f16 and bf16 are widened to f32 when they are read, and rounded when they are written.
    pub const fn compute(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            dtype => dtype,
        }
    }

    /// Any signed or unsigned integer; not bool.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Int)
    }

    /// complex64 or complex128.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// True for dtypes that hold negative values.
    pub const fn is_signed(self) -> bool {
        !matches!(self, DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no dtype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DTypeParseError(pub String);

impl std::fmt::Display for DTypeParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no dtype is named {:?} (accepted: {ACCEPTED})", self.0)
    }
}

impl std::error::Error for DTypeParseError {}

const ACCEPTED: &str = "bool, u8..u64, i8..i64, f8e4m3, f8e5m2, f16, bf16, f32, f64, c64, c128";

impl From<DTypeParseError> for Error {
    fn from(error: DTypeParseError) -> Self {
        Error::dtype("dtype", "name", error.0, ACCEPTED)
    }
}

impl std::str::FromStr for DType {
    type Err = DTypeParseError;

    /// Accepts the short and the long name.
    fn from_str(s: &str) -> Result<Self, DTypeParseError> {
        let named = DType::ALL.into_iter().find(|d| d.as_str() == s || d.long_name() == s);
        named.ok_or_else(|| DTypeParseError(s.to_owned()))
    }
}

/// Evaluates an expression with `$t` as the Rust type of an integer dtype; `$other` for the rest.
///
/// ```
/// # use opforge_core::{DType, with_int};
/// let size = |dtype: DType| with_int!(dtype, T => size_of::<T>(), _ => 0);
/// assert_eq!((size(DType::I16), size(DType::F32)), (2, 0));
/// ```
#[macro_export]
macro_rules! with_int {
    ($dtype:expr, $t:ident => $value:expr, _ => $other:expr) => {{
        macro_rules! arm {
            ($ty:ty) => {{
                type $t = $ty;
                $value
            }};
        }
        match $dtype {
            $crate::DType::U8 => arm!(u8),
            $crate::DType::U16 => arm!(u16),
            $crate::DType::U32 => arm!(u32),
            $crate::DType::U64 => arm!(u64),
            $crate::DType::I8 => arm!(i8),
            $crate::DType::I16 => arm!(i16),
            $crate::DType::I32 => arm!(i32),
            $crate::DType::I64 => arm!(i64),
            _ => $other,
        }
    }};
}

/// Evaluates an expression with `$t` as the Rust type of a dtype's elements.
///
/// ```
/// # use opforge_core::{DType, with_element};
/// let size = |dtype: DType| with_element!(dtype, T => size_of::<T>());
/// assert!(DType::ALL.into_iter().all(|dtype| size(dtype) == dtype.size_in_bytes()));
/// ```
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $t:ident => $value:expr) => {{
        macro_rules! arm {
            ($ty:ty) => {{
                type $t = $ty;
                $value
            }};
        }
        match $dtype {
            $crate::DType::Bool => arm!(bool),
            $crate::DType::U8 => arm!(u8),
            $crate::DType::U16 => arm!(u16),
            $crate::DType::U32 => arm!(u32),
            $crate::DType::U64 => arm!(u64),
            $crate::DType::I8 => arm!(i8),
            $crate::DType::I16 => arm!(i16),
            $crate::DType::I32 => arm!(i32),
            $crate::DType::I64 => arm!(i64),
            $crate::DType::F8E4M3 => arm!($crate::F8E4M3),
            $crate::DType::F8E5M2 => arm!($crate::F8E5M2),
            $crate::DType::F16 => arm!($crate::f16),
            $crate::DType::BF16 => arm!($crate::bf16),
            $crate::DType::F32 => arm!(f32),
            $crate::DType::F64 => arm!(f64),
            $crate::DType::C64 => arm!($crate::Complex<f32>),
            $crate::DType::C128 => arm!($crate::Complex<f64>),
        }
    }};
}
