//! Neutral elements of reductions.

use opforge_core::{DType, Element, Error, Result, Scalar, with_element};

use crate::{Buffer, Reduction};

/// `len` times the element that changes nothing.
///
/// # Errors
/// A reduction that does not take the dtype; out of memory.
pub(crate) fn identities(dtype: DType, op: Reduction, len: usize) -> Result<Buffer> {
    filled(dtype, op, Buffer::zeros(len.saturating_mul(dtype.size_in_bytes()))?)
}

/// A buffer full of the element that changes nothing.
///
/// # Errors
/// A reduction that does not take the dtype.
pub(super) fn filled(dtype: DType, op: Reduction, mut buffer: Buffer) -> Result<Buffer> {
    let element = identity(dtype, op)?;
    buffer.bytes_mut()?.chunks_exact_mut(element.len()).for_each(|place| place.copy_from_slice(&element));
    Ok(buffer)
}

fn identity(dtype: DType, op: Reduction) -> Result<Vec<u8>> {
    if !op.takes(dtype) {
        return Err(Error::UnsupportedDTypeForOp(dtype, op.name()));
    }
    let value = match op {
        Reduction::Sum | Reduction::Any => Scalar::Int(0),
        Reduction::Product | Reduction::All => Scalar::Int(1),
        Reduction::Max if dtype == DType::Bool => Scalar::Bool(false),
        // Beyond the range of integers is their limit.
        Reduction::Max => Scalar::Float(f64::NEG_INFINITY),
        Reduction::Min => Scalar::Float(f64::INFINITY),
    };
    with_element!(dtype, T => Ok(Buffer::of(&[T::from_scalar(value)])?.bytes()?.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::reduce;

    #[test]
    fn they_change_nothing() {
        for dtype in DType::ALL {
            for op in Reduction::ALL.into_iter().filter(|op| op.takes(dtype)) {
                let element = identity(dtype, Reduction::Product).or_else(|_| identity(dtype, Reduction::All)).unwrap();
                let (one, same) = (Buffer::from_bytes(&element).unwrap(), identities(dtype, op, 1).unwrap());
                let mut out = Buffer::zeros(element.len()).unwrap();
                for ranks in [[&one, &same], [&same, &one]] {
                    let ranks = ranks.map(|rank| Some(rank.bytes().unwrap()));
                    reduce(dtype, op, &ranks, out.bytes_mut().unwrap()).unwrap();
                    assert_eq!(out.bytes().unwrap(), element, "{op} of {dtype}");
                }
            }
        }
        assert_eq!(identity(DType::I8, Reduction::Max).unwrap(), [0x80]);
        assert_eq!(identity(DType::U16, Reduction::Min).unwrap(), [0xff, 0xff]);
        assert!(identity(DType::Bool, Reduction::Sum).is_err() && identity(DType::F8E4M3, Reduction::Max).is_err());
    }
}
