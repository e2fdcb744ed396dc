//! What the registry knows of an operator.

use super::{Function, Sample};
use crate::DType;
use crate::operator::Reader;

/// An operator's entry in the registry: what documents it, binds it and tests it.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The operator's name, unique in the registry.
    pub name: &'static str,
    /// The function that users call.
    pub function: &'static Function,
    /// The dtypes that its kernels take; others are refused with a dtype error.
    pub dtypes: DTypes,
    /// Whether it has a gradient.
    pub differentiable: bool,
    /// Calls with reference results, which drive tests and benchmarks. None without the feature `samples`.
    pub samples: fn() -> Vec<Sample>,
    /// What reads its operators and those of its gradient from text.
    pub readers: &'static [&'static [Reader]],
}

/// What a [`Definition`] holds of a function that gives samples: another, which gives none, without the feature `samples`. Programs that only
/// compute need not carry their code.
pub const fn included(samples: fn() -> Vec<Sample>) -> fn() -> Vec<Sample> {
    if cfg!(feature = "samples") { samples } else { Vec::new }
}

/// A set of dtypes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DTypes(u32);

impl DTypes {
    /// f16, bf16, f32, f64.
    pub const FLOATS: DTypes = DTypes::of(&[DType::F16, DType::BF16, DType::F32, DType::F64]);
    /// Signed and unsigned integers.
    pub const INTS: DTypes =
        DTypes::of(&[DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32, DType::I64]);
    /// Floats and signed integers.
    pub const SIGNED: DTypes = DTypes::FLOATS.and(DTypes::of(&[DType::I8, DType::I16, DType::I32, DType::I64]));
    /// Floats and integers.
    pub const NUMERIC: DTypes = DTypes::FLOATS.and(DTypes::INTS);
    /// Floats, integers and bool.
    pub const REAL: DTypes = DTypes::NUMERIC.and(DTypes::of(&[DType::Bool]));
    /// Floats, integers and complex numbers.
    pub const NUMBERS: DTypes = DTypes::NUMERIC.and(DTypes::of(&[DType::C64, DType::C128]));
    /// Every dtype that is computed in.
    pub const COMPUTED: DTypes = DTypes::REAL.and(DTypes::of(&[DType::C64, DType::C128]));
    /// What matrices are factored in: f32, f64, c64, c128.
    pub const FACTORED: DTypes = DTypes::of(&[DType::F32, DType::F64, DType::C64, DType::C128]);
    /// Every dtype, those that are [only stored](DType::is_storage_only) too: the operator only moves elements.
    pub const ALL: DTypes = DTypes::of(&DType::ALL);

    /// The set of these dtypes.
    pub const fn of(dtypes: &[DType]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < dtypes.len() {
            bits |= 1 << dtypes[i] as u32;
            i += 1;
        }
        DTypes(bits)
    }

    /// The union of two sets.
    pub const fn and(self, other: DTypes) -> DTypes {
        DTypes(self.0 | other.0)
    }

    /// The dtypes that are in both sets.
    pub const fn common(self, other: DTypes) -> DTypes {
        DTypes(self.0 & other.0)
    }

    /// Whether a dtype is in the set.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 & (1 << dtype as u32) != 0
    }

    /// The dtypes in the set.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |&d| self.contains(d))
    }
}

impl std::fmt::Debug for DTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
