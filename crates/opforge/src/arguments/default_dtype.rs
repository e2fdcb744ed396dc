//! The dtype of floating-point results that no tensor decides.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::{DType, Error, Result};

const CHOICES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// An index of [`CHOICES`].
static DEFAULT: AtomicU8 = AtomicU8::new(0);

/// The dtype that Python's floats become, and that integers become where a function has real results.
pub fn default_dtype() -> DType {
    CHOICES[usize::from(DEFAULT.load(Ordering::Relaxed))]
}

/// Changes [`default_dtype`] for the process.
///
/// # Errors
/// For dtypes that are not floating-point.
pub fn set_default_dtype(dtype: DType) -> Result<()> {
    let place = CHOICES.iter().position(|&choice| choice == dtype);
    let place = place.ok_or_else(|| Error::dtype("set_default_dtype", "d", dtype, "a floating-point dtype"))?;
    DEFAULT.store(place as u8, Ordering::Relaxed);
    Ok(())
}
