//! Type promotion: the dtype of the result of operands of several dtypes.

use crate::{DType, Kind};

/// The smallest dtype that both promote to, as PyTorch and the array API define it.
///
/// Mixed signed and unsigned integers give the next larger signed type; `u64` with a signed type has none and gives f32, as in PyTorch's
/// handling of unsigned types. f16 with bf16 gives f32. None for different dtypes one of which is [only stored](DType::is_storage_only).
pub fn promote(a: DType, b: DType) -> Option<DType> {
    if a == b {
        return Some(a);
    }
    if a.is_storage_only() || b.is_storage_only() {
        return None;
    }
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    Some(match (low.kind(), high.kind()) {
        (Kind::Bool, _) => high,
        (Kind::Int, Kind::Int) => promote_ints(low, high),
        (Kind::Int, _) => high,
        (Kind::Float, Kind::Float) => promote_floats(low, high),
        (_, _) => match (low, high) {
            (DType::F64, _) | (DType::C128, _) | (_, DType::C128) => DType::C128,
            _ => DType::C64,
        },
    })
}

fn promote_ints(a: DType, b: DType) -> DType {
    if a.is_signed() == b.is_signed() {
        return if a.size_in_bytes() >= b.size_in_bytes() { a } else { b };
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    match signed.size_in_bytes().max(unsigned.size_in_bytes() * 2) {
        1 => DType::I8,
        2 => DType::I16,
        4 => DType::I32,
        8 => DType::I64,
        _ => DType::F32,
    }
}

fn promote_floats(a: DType, b: DType) -> DType {
    match (a, b) {
        (DType::F64, _) | (_, DType::F64) => DType::F64,
        _ => DType::F32,
    }
}

/// The result dtype of tensors and scalars together: a tensor with dimensions decides over a 0-d tensor or a scalar of the same or a lower
/// kind, and a 0-d tensor over a scalar likewise. A scalar that decides has the `default_float` dtype, i64 or bool.
///
/// `dims` and `zero_dims` are the promoted dtypes of each group, `scalar` the kind of the scalars. None where a dtype that is
/// [only stored](DType::is_storage_only) would become another, or another it.
pub fn result_type(
    dims: Option<DType>,
    zero_dims: Option<DType>,
    scalar: Option<Kind>,
    default_float: DType,
) -> Option<DType> {
    let scalar = scalar.map(|kind| scalar_type(kind, default_float));
    let mut low = [zero_dims, scalar].into_iter().flatten();
    let first = dims.or_else(|| low.next()).unwrap_or(default_float);
    low.try_fold(first, combine)
}

/// The dtype of a scalar that decides alone.
pub fn scalar_type(kind: Kind, default_float: DType) -> DType {
    match kind {
        Kind::Bool => DType::Bool,
        Kind::Int => DType::I64,
        Kind::Float => default_float,
        Kind::Complex if default_float == DType::F64 => DType::C128,
        Kind::Complex => DType::C64,
    }
}

fn combine(high: DType, low: DType) -> Option<DType> {
    match high {
        _ if high.kind() >= low.kind() => Some(high),
        _ if high.is_storage_only() || low.is_storage_only() => None,
        // A float meets a complex scalar: the tensor's precision stays.
        DType::F64 if low.is_complex() => Some(DType::C128),
        _ if high.is_float() && low.is_complex() => Some(DType::C64),
        _ => Some(low),
    }
}
