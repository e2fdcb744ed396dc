//! Single numbers of any dtype.

use crate::{DType, F8E4M3, F8E5M2, Kind};
use half::{bf16, f16};
use num_complex::Complex;

/// One number, as an argument of an operator. Integers keep all 64 bits.
///
/// Equality and hashing are by bit pattern, so that a scalar can be part of a cache key: NaN equals itself, and 0.0 differs from -0.0.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    /// Values above `i64::MAX`.
    UInt(u64),
    Float(f64),
    Complex(f64, f64),
}

/// Constructors by dtype, with the names of candle's variants.
macro_rules! named_by_dtype {
    ($($name:ident: $ty:ty),*) => {
        #[allow(non_snake_case)]
        impl Scalar {
            $(#[doc = concat!("The number as a scalar: candle's name of its variant for `", stringify!($ty), "`. It is no pattern.")]
            pub fn $name(v: $ty) -> Scalar {
                v.into()
            })*
        }
    };
}
named_by_dtype!(U8: u8, U32: u32, I16: i16, I32: i32, I64: i64, BF16: bf16, F16: f16, F32: f32, F64: f64, F8E4M3: F8E4M3);

impl Scalar {
    /// 0 of a dtype.
    pub fn zero(dtype: DType) -> Scalar {
        Scalar::Int(0).cast(dtype)
    }

    /// 1 of a dtype.
    pub fn one(dtype: DType) -> Scalar {
        Scalar::Int(1).cast(dtype)
    }

    /// The value as f64: integers round, a complex number loses its imaginary part.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(b) => f64::from(u8::from(b)),
            Scalar::Int(i) => i as f64,
            Scalar::UInt(u) => u as f64,
            Scalar::Float(f) | Scalar::Complex(f, _) => f,
        }
    }

    /// The value as f64, of a number that is not complex: for what would go wrong without the imaginary part.
    pub fn as_real(self) -> Option<f64> {
        (self.kind() < Kind::Complex).then(|| self.to_f64())
    }

    /// The value as i64; floats truncate and saturate, unsigned values wrap.
    pub fn to_i64(self) -> i64 {
        match self {
            Scalar::Bool(b) => i64::from(b),
            Scalar::Int(i) => i,
            Scalar::UInt(u) => u as i64,
            Scalar::Float(f) | Scalar::Complex(f, _) => f as i64,
        }
    }

    /// Whether the value differs from zero (NaN does).
    pub fn to_bool(self) -> bool {
        match self {
            Scalar::Bool(b) => b,
            Scalar::Int(i) => i != 0,
            Scalar::UInt(u) => u != 0,
            Scalar::Float(f) => f != 0.0,
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
        }
    }

    /// The real and imaginary parts.
    pub fn to_complex(self) -> (f64, f64) {
        match self {
            Scalar::Complex(re, im) => (re, im),
            real => (real.to_f64(), 0.0),
        }
    }

    /// The family of the value, for promotion.
    pub fn kind(self) -> Kind {
        match self {
            Scalar::Bool(_) => Kind::Bool,
            Scalar::Int(_) | Scalar::UInt(_) => Kind::Int,
            Scalar::Float(_) => Kind::Float,
            Scalar::Complex(..) => Kind::Complex,
        }
    }

    /// True when the dtype can hold the value: integers within range, floats in any float dtype, whole floats in integers within range.
    pub fn fits(self, dtype: DType) -> bool {
        let whole = match self {
            Scalar::Complex(_, im) => {
                return dtype.is_complex() || (im == 0.0 && Scalar::Float(self.to_f64()).fits(dtype));
            }
            Scalar::Float(f) if dtype.kind() < Kind::Float => {
                if f.fract() != 0.0 || f.abs() >= 2f64.powi(64) {
                    return false;
                }
                f as i128
            }
            Scalar::Float(_) => return true,
            Scalar::Bool(b) => i128::from(b),
            Scalar::Int(i) => i128::from(i),
            Scalar::UInt(u) => i128::from(u),
        };
        match dtype.kind() {
            Kind::Bool => (0..=1).contains(&whole),
            Kind::Int => {
                let bits = dtype.size_in_bytes() as u32 * 8;
                let (low, high) =
                    if dtype.is_signed() { (-(1i128 << (bits - 1)), 1i128 << (bits - 1)) } else { (0, 1 << bits) };
                (low..high).contains(&whole)
            }
            Kind::Float | Kind::Complex => true,
        }
    }

    /// The value as assignment converts it, which loses what the dtype does not hold: floats are cut to whole numbers, anything but 0 is true, and
    /// negative integers wrap around in unsigned dtypes. `None` for finite numbers beyond the dtype's range, which for floats in unsigned dtypes begins
    /// at 0, for NaN as an integer, and for imaginary parts.
    ///
    /// ```
    /// # use opforge_core::{DType, Scalar};
    /// assert_eq!(Scalar::Float(-1.7).converted(DType::I64), Some(Scalar::Int(-1)));
    /// assert_eq!(Scalar::Int(-1).converted(DType::U8), Some(Scalar::Int(255)));
    /// assert_eq!(Scalar::Int(300).converted(DType::U8), None);
    /// assert_eq!(Scalar::Float(-1.0).converted(DType::U8), None);
    /// assert_eq!(Scalar::Float(1e40).converted(DType::F32), None);
    /// ```
    pub fn converted(self, dtype: DType) -> Option<Scalar> {
        let cut = match (dtype.kind(), self) {
            (Kind::Bool, _) => return Some(Scalar::Bool(self.to_bool())),
            (Kind::Int, Scalar::Float(f)) if f < 0.0 && !dtype.is_signed() => return None,
            (Kind::Int, Scalar::Float(f)) => Scalar::Float(f.trunc()),
            (Kind::Float | Kind::Complex, _) if self.overflows(dtype) => return None,
            _ => self,
        };
        let value = cut.to_f64();
        let wrapped = if dtype.kind() == Kind::Int && !dtype.is_signed() && value < 0.0 {
            let range = 2f64.powi(8 * dtype.size_in_bytes() as i32);
            if value <= -range {
                return None;
            }
            Scalar::UInt(cut.to_i64() as u64 & (range - 1.0) as u64)
        } else {
            cut
        };
        wrapped.fits(dtype).then(|| wrapped.in_kind(dtype.kind()))
    }

    /// Whether a finite part is beyond the largest number of a floating-point or complex dtype.
    fn overflows(self, dtype: DType) -> bool {
        let largest = match dtype {
            DType::F8E4M3 => F8E4M3::MAX.to_f64(),
            DType::F8E5M2 => F8E5M2::MAX.to_f64(),
            DType::F16 => f16::MAX.to_f64(),
            DType::BF16 => bf16::MAX.to_f64(),
            DType::F32 | DType::C64 => f32::MAX.into(),
            _ => f64::MAX,
        };
        let parts = if let Scalar::Complex(re, im) = self { [re, im] } else { [self.to_f64(), 0.0] };
        parts.iter().any(|part| part.is_finite() && part.abs() > largest)
    }

    /// The value as Rust's `as` converts it: floats are cut to whole numbers and end at the range's limits, NaN is 0, integers wrap around.
    ///
    /// ```
    /// # use opforge_core::{DType, Scalar};
    /// assert_eq!(Scalar::Float(-1.7).cast(DType::I64), Scalar::Int(-1));
    /// assert_eq!(Scalar::Float(300.0).cast(DType::U8), Scalar::Int(255));
    /// assert_eq!(Scalar::Int(-1).cast(DType::U8), Scalar::Int(255));
    /// ```
    pub fn cast(self, dtype: DType) -> Scalar {
        let kind = dtype.kind();
        if kind != Kind::Int {
            return self.in_kind(kind);
        }
        let unused = 64 - 8 * dtype.size_in_bytes() as u32;
        match (self, dtype.is_signed()) {
            (Scalar::Float(f) | Scalar::Complex(f, _), true) => {
                Scalar::Int((f as i64).clamp(i64::MIN >> unused, i64::MAX >> unused))
            }
            (Scalar::Float(f) | Scalar::Complex(f, _), false) => Scalar::from((f as u64).min(u64::MAX >> unused)),
            (whole, true) => Scalar::Int(whole.to_i64() << unused >> unused),
            (whole, false) => Scalar::from((whole.to_i64() as u64) << unused >> unused),
        }
    }

    /// The value in a kind that holds it.
    pub fn in_kind(self, kind: Kind) -> Scalar {
        match (self, kind) {
            (s, Kind::Bool) => Scalar::Bool(s.to_bool()),
            (Scalar::UInt(u), Kind::Int) if i64::try_from(u).is_err() => self,
            (s, Kind::Int) => Scalar::Int(s.to_i64()),
            (s, Kind::Float) => Scalar::Float(s.to_f64()),
            (s, Kind::Complex) => s,
        }
    }

    fn bits(self) -> (u8, u64, u64) {
        match self {
            Scalar::Bool(b) => (0, u64::from(b), 0),
            Scalar::Int(i) => (1, i as u64, 0),
            Scalar::UInt(u) => (2, u, 0),
            Scalar::Float(f) => (3, f.to_bits(), 0),
            Scalar::Complex(re, im) => (4, re.to_bits(), im.to_bits()),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}
impl Eq for Scalar {}
impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::UInt(u) => write!(f, "{u}"),
            Scalar::Float(v) => write!(f, "{v:?}"),
            Scalar::Complex(re, im) => write!(f, "{re:?}{im:+?}j"),
        }
    }
}

macro_rules! from_number {
    ($($ty:ty => $variant:ident),*) => {
        $(impl From<$ty> for Scalar { fn from(v: $ty) -> Self { Scalar::$variant(v.into()) } })*
    };
}
from_number!(bool => Bool, u8 => Int, u16 => Int, u32 => Int, i8 => Int, i16 => Int, i32 => Int, i64 => Int);
from_number!(F8E4M3 => Float, F8E5M2 => Float, f16 => Float, bf16 => Float, f32 => Float, f64 => Float);

impl From<u64> for Scalar {
    fn from(v: u64) -> Self {
        i64::try_from(v).map_or(Scalar::UInt(v), Scalar::Int)
    }
}
impl From<usize> for Scalar {
    fn from(v: usize) -> Self {
        Scalar::from(v as u64)
    }
}
impl From<Complex<f32>> for Scalar {
    fn from(v: Complex<f32>) -> Self {
        Scalar::Complex(v.re.into(), v.im.into())
    }
}
impl From<Complex<f64>> for Scalar {
    fn from(v: Complex<f64>) -> Self {
        Scalar::Complex(v.re, v.im)
    }
}
