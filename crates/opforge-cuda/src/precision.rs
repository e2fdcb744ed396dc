//! How precisely products of f32 are computed: in full, or as TF32, whose fractions have 10 bits, by the GPU's units for matrices. Sums are f32's either way.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use opforge::Result;
use opforge_runtime::vm;

/// Whether TF32 may be used for one kind of call.
pub(crate) struct Allowed(AtomicBool);

pub(crate) static CONVOLUTIONS: Allowed = Allowed(AtomicBool::new(false));
pub(crate) static PRODUCTS: Allowed = Allowed(AtomicBool::new(false));

impl Allowed {
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Calls before this keep what was allowed then: they are issued first.
    fn set(&self, allowed: bool) -> Result<()> {
        if crate::is_open() && self.get() != allowed {
            vm::hand_over()?;
        }
        self.0.store(allowed, Ordering::Relaxed);
        Ok(())
    }
}

/// What a library was told of a call: for full precision, and for TF32 once that is allowed.
pub(crate) struct Plans<T> {
    full: T,
    reduced: OnceLock<Option<T>>,
}

impl<T> Plans<T> {
    pub fn new(full: T) -> Self {
        Plans { full, reduced: OnceLock::new() }
    }

    /// The plan where TF32 `is_allowed` or not; that for full precision where there is no other.
    pub fn get(&self, is_allowed: bool, reduced: impl FnOnce() -> Result<Option<T>>) -> Result<&T> {
        if !is_allowed {
            return Ok(&self.full);
        }
        let found = match self.reduced.get() {
            Some(found) => found,
            None => {
                let made = reduced()?;
                self.reduced.get_or_init(|| made)
            }
        };
        Ok(found.as_ref().unwrap_or(&self.full))
    }
}

/// Allows or forbids TF32 for convolutions of f32 by cuDNN, from the next call on. At first they are computed in full precision.
///
/// # Errors
/// What calls before failed of.
pub fn set_tf32_convolutions(allowed: bool) -> Result<()> {
    CONVOLUTIONS.set(allowed)
}

/// Whether convolutions of f32 may be computed as TF32.
pub fn tf32_convolutions() -> bool {
    CONVOLUTIONS.get()
}

/// Allows or forbids TF32 for products of matrices of f32 by cuBLAS, from the next call on. At first they are computed in full precision.
///
/// # Errors
/// As [`set_tf32_convolutions`].
pub fn set_tf32_products(allowed: bool) -> Result<()> {
    PRODUCTS.set(allowed)
}

/// Whether products of matrices of f32 may be computed as TF32.
pub fn tf32_products() -> bool {
    PRODUCTS.get()
}
